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


def kernels_of(commands, rank):
    """In the order of their starts."""
    return [command for command in sorted(commands, key=lambda command: command["start"])
            if command["rank"] == rank and command["stream"] == COMPUTE and command["kind"] == "kernel"]


def backward_kernels(commands, rank):
    """With one microbatch: between the end of what comes from the later stage and the norm of the gradient."""
    begin = next(command["end"] for command in commands
                 if command["rank"] == rank and command["stream"] == FROM_LATER_STAGES and command["command"].startswith("receive"))
    starts = [command["start"] for command in kernels_of(commands, rank) if not command["command"].startswith("p3d_squared_norm")]
    end = next(command["start"] for command in kernels_of(commands, rank) if command["command"].startswith("p3d_squared_norm"))
    return sum(begin <= start < end for start in starts)


def main():
    faults = 0
    for model in ("gpt2_tiny", "hf_gpt2_tiny", "llama_tiny", "llama_tiny_bf16", "hf_llama_tiny"):
        with tempfile.TemporaryDirectory() as directory:
            manifest, one = run_traced(model, Path(directory), "--microbatches=1", mesh="1x4x1", steps=1)
            _, two = run_traced(model, Path(directory), "--microbatches=2", mesh="1x4x1", steps=1)
        for rank in manifest["ranks"][1:-1]:
            layers = rank["layers"][1] - rank["layers"][0] + 1
            # What comes once a step, the second microbatch does not do again.
            both = len(kernels_of(two, rank["rank"])) - len(kernels_of(one, rank["rank"]))
            backward = backward_kernels(one, rank["rank"]) / layers
            forward = both / layers - backward
            fine = 0 < forward <= FORWARD and 0 < backward <= BACKWARD
            faults += not fine
            print(f"{'ok  ' if fine else 'FAIL'} {model} stage {rank['pp']}: {forward:g} kernels a layer forward, {backward:g} backward")
    sys.exit(f"{faults} stages have more than {FORWARD} and {BACKWARD}" if faults else 0)


if __name__ == "__main__":
    main()
