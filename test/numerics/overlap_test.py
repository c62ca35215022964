#!/usr/bin/env python3
"""Communication of a CUDA program runs beside computation: overlap_test.py BUILD

Runs two steps of llama_tiny on 2x2x2 on the emulated driver and looks in its trace for communication during which the same rank computes: gradient
reductions beside the rest of the backward pass, transfers of both directions, and tensor-parallel collectives beside matrix products. Messages of
gradients are as many as a larger model has: here a layer's own gradients fill one.
"""
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from traffic_test import BUILD, INPUTS, run_traced

RANKS = 8
# Streams of runtime.h, and what has to run beside them.
AXES = {1: ("tp", {"matmul"}), 2: ("dp", {"matmul", "kernel"}), 3: ("forward", {"matmul", "kernel"}), 4: ("backward", {"matmul", "kernel"})}
LAYER_BYTES = 60_000


def smaller_messages(place):
    """The model at the level `replicate`, with messages of a layer's size."""
    staged = subprocess.run([BUILD / "bin" / "p3dc", INPUTS / "llama_tiny.mlir", "--mesh=2x2x2", "--microbatches=4", "--target=cuda", "--emit=stage"],
                            check=True, stdout=subprocess.PIPE).stdout
    replicated = subprocess.run([BUILD / "bin" / "p3dc-opt", f"-p3d-insert-gradient-sync=bucket-bytes={LAYER_BYTES}", "-mlir-print-debuginfo"], input=staged, check=True,
                                stdout=subprocess.PIPE).stdout
    file = place / "llama_tiny.replicate.mlir"
    file.write_bytes(replicated)
    return file


def overlaps(commands, rank):
    """How many communications of each axis there are, and how many have computation beside them."""
    own = [command for command in commands if command["rank"] == rank]
    total, beside = Counter(), Counter()
    for command in own:
        if command["kind"] not in ("collective", "transfer") or command["stream"] not in AXES:
            continue
        axis, kinds = AXES[command["stream"]]
        total[axis] += 1
        beside[axis] += any(other["stream"] == 0 and other["kind"] in kinds and other["start"] < command["end"] and other["end"] > command["start"] for other in own)
    return total, beside


def main():
    with tempfile.TemporaryDirectory() as directory:
        model = smaller_messages(Path(directory))
        _, commands = run_traced("llama_tiny", Path(directory), "--microbatches=4", "--from=replicate", module=model)
    total, beside = Counter(), Counter()
    for rank in range(RANKS):
        for sums, part in zip((total, beside), overlaps(commands, rank)):
            sums.update(part)
    for axis, count in total.items():
        print(f"{'ok  ' if beside[axis] else 'FAIL'} {axis}: {beside[axis]} of {count} run beside computation")
    sys.exit(0 if all(beside[axis] for axis, _ in AXES.values()) else "communication of an axis never runs beside computation")


if __name__ == "__main__":
    main()
