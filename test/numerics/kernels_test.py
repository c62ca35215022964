#!/usr/bin/env python3
"""Element-wise chains are fused: kernels_test.py BUILD

Runs one step of decoders in four stages on the emulated driver and counts, in the trace of the stages between the first and the last, the kernels of a
layer: at most 12 in the forward pass and 20 in the backward pass. Matrix products of cuBLASLt and collectives are not kernels of ours; what a layer's share of a
stage's transfers takes is counted.
"""
import sys
import tempfile
from pathlib import Path

from traffic_test import run_traced

FORWARD, BACKWARD = 12, 20
COMPUTE, FROM_LATER_STAGES = 0, 4


def counts(commands, rank):
    """Kernels of the forward and of the backward pass."""
    own = sorted((command for command in commands if command["rank"] == rank), key=lambda command: command["start"])
    turn = next(command["end"] for command in own if command["stream"] == FROM_LATER_STAGES and command["command"].startswith("receive"))
    kernels = [command for command in own if command["stream"] == COMPUTE and command["kind"] == "kernel"]
    end = next(command["start"] for command in kernels if command["command"].startswith("p3d_squared_norm"))
    return sum(command["start"] < turn for command in kernels), sum(turn <= command["start"] < end for command in kernels)


def main():
    faults = 0
    for model in ("gpt2_tiny", "hf_gpt2_tiny", "llama_tiny", "llama_tiny_bf16", "hf_llama_tiny"):
        with tempfile.TemporaryDirectory() as directory:
            manifest, commands = run_traced(model, Path(directory), "--microbatches=1", mesh="1x4x1", steps=1)
        for rank in manifest["ranks"][1:-1]:
            first, last = rank["layers"]
            forward, backward = (count / (last - first + 1) for count in counts(commands, rank["rank"]))
            fine = 0 < forward <= FORWARD and 0 < backward <= BACKWARD
            faults += not fine
            print(f"{'ok  ' if fine else 'FAIL'} {model} stage {rank['pp']}: {forward:g} kernels a layer forward, {backward:g} backward")
    sys.exit(f"{faults} stages have more than {FORWARD} and {BACKWARD}" if faults else 0)


if __name__ == "__main__":
    main()
