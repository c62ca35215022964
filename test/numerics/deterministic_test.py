#!/usr/bin/env python3
"""What --deterministic does, on the emulated driver, whose atomic additions come in another order with every seed: deterministic_test.py BUILD

Without the flag parts of matrix products meet by atomic additions, and two seeds give two results; with it they give one.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
MODEL = "gpt2_tiny"
SEEDS = (1, 2)


def call(*command, **variables):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"deterministic_test.py: {command[0]} exits {done.returncode}: {done.stdout}")


def gradients(build, place, seed, *flags):
    weights = INPUTS / f"{MODEL}.safetensors"
    file = place / "grads"
    call(build / "bin" / "p3d-run", place / "out", "--steps=1", f"--params={weights}", f"--data={weights}", f"--dump-grads={file}", *flags,
         LD_LIBRARY_PATH=str(build / "lib" / "emulator"), P3D_EMULATOR_SEED=str(seed))
    return file.read_bytes()


def main():
    build = Path(sys.argv[1]).resolve()
    place = build / "numerics" / "deterministic"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    call(build / "bin" / "p3dc", INPUTS / f"{MODEL}.mlir", "--target=cuda", "-o", place / "out")
    first, second = (gradients(build, place, seed) for seed in SEEDS)
    if first == second:
        sys.exit("deterministic_test.py: without --deterministic both seeds give the same bits: nothing is added atomically")
    first, second = (gradients(build, place, seed, "--deterministic") for seed in SEEDS)
    if first != second:
        sys.exit("deterministic_test.py: with --deterministic the bits depend on the seed")
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
