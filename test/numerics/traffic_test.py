#!/usr/bin/env python3
"""What the ranks of a CUDA program hand to NCCL is what the manifest says: traffic_test.py BUILD

Compiles models for 2x2x2, runs two steps on the emulated driver, and compares, rank by rank, the number and the bytes of collectives and
transfers in its trace with the manifest. Over an axis of two ranks the ring volume of an all-reduce is the size of its buffer. The reduction of
the gradient norm, in double, is counted apart: the runtime does it.
"""
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
BUILD = Path(sys.argv[1]).resolve()
STEPS, SIZES = 2, {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4, "int8": 1}
NAMES = {"allReduce": "all_reduce", "allGather": "all_gather", "reduceScatter": "reduce_scatter"}


def run_traced(model, place, *flags, module=None, mesh="2x2x2", steps=STEPS):
    """The manifest, and the trace's commands. `module`: the model's file at another level."""
    subprocess.run([BUILD / "bin" / "p3dc", module or INPUTS / f"{model}.mlir", f"--mesh={mesh}", "--target=cuda", *flags, "-o", place / "out"], check=True, stdout=subprocess.DEVNULL)
    trace = place / "trace.jsonl"
    trace.unlink(missing_ok=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "lib" / "emulator"), "P3D_EMULATOR_TRACE": str(trace)}
    subprocess.run([BUILD / "bin" / "p3d-run", place / "out", f"--steps={steps}", f"--data={INPUTS}/{model}.safetensors", f"--params={INPUTS}/{model}.safetensors"],
                   check=True, env=environment, stdout=subprocess.DEVNULL)
    return json.loads((place / "out" / "manifest.json").read_text()), [json.loads(line) for line in trace.read_text().splitlines()]


def expected_of(manifest, stage):
    """(count, bytes) of each kind a step for a rank of `stage`."""
    totals = defaultdict(lambda: [0, 0])
    for entry in manifest["collectives"]:
        if entry["stage"] == stage and entry["axis"] != "norm":
            # NCCL has no all-to-all: it is a send to each of the others, here to one.
            kind = "send" if entry["kind"] == "all_to_all" else entry["kind"]
            totals[kind][0] += entry["count"]
            totals[kind][1] += entry["bytes"]
    for entry in manifest["transfers"]:
        if entry["from"] == stage:
            totals["send"][0] += entry["count"]
            totals["send"][1] += entry["bytes"]
    return {kind: tuple(total) for kind, total in totals.items()}


def found_of(commands, rank):
    """The same from the trace, and the reductions of the norm."""
    totals, norms = defaultdict(lambda: [0, 0]), 0
    for command in commands:
        words = command["command"].split()
        if command["rank"] != rank or command["kind"] not in ("collective", "transfer") or words[0] == "receive":
            continue
        if words[2] == "float64":
            norms += 1
            continue
        kind = NAMES.get(words[0], words[0])
        totals[kind][0] += 1
        totals[kind][1] += command["bytes"]
    return {kind: (count / STEPS, size / STEPS) for kind, (count, size) in totals.items()}, norms / STEPS


def main():
    faults = 0
    for model, flags in (("llama_tiny", ["--microbatches=2"]), ("gpt2_tiny", ["--microbatches=4"]), ("llama_tiny_bf16", ["--microbatches=2"])):
        with tempfile.TemporaryDirectory() as directory:
            manifest, commands = run_traced(model, Path(directory), *flags)
        for rank in manifest["ranks"]:
            expected, (found, norms) = expected_of(manifest, rank["pp"]), found_of(commands, rank["rank"])
            fine = expected == found and norms == 1
            faults += not fine
            print(f"{'ok  ' if fine else 'FAIL'} {model} rank {rank['rank']}: {found} a step" + ("" if fine else f", expected {expected} and one norm, not {norms}"))
    sys.exit(f"{faults} ranks differ" if faults else 0)


if __name__ == "__main__":
    main()
