#!/usr/bin/env python3
"""Evaluates the training step of one model in double precision and compares with its golden: interpreter_test.py BUILD MODEL

The loss has to be right to 1e-9, each gradient to 1e-7 of its norm (of 1e-4 of the norm of all gradients, if that is more). The
constants in the text are rounded to f32, which alone makes 2e-8.
"""
import array
import math
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
sys.path.insert(0, str(INPUTS))
import make_inputs

LOSS, GRADIENT, SMALLEST_NORM = 1e-9, 1e-7, 1e-4


def numbers(tensors, name):
    dtype, _, data = tensors[name]
    return array.array({"F32": "f", "F64": "d"}[dtype], data)


def evaluate(build, model, place):
    """Loss and gradients of the step, by name."""
    subprocess.run([build / "bin" / "p3dc", INPUTS / f"{model}.mlir", "--emit=autodiff", "-o", place / "step.mlir"], check=True)
    subprocess.run([build / "bin" / "p3dc-interpret", place / "step.mlir", f"--inputs={INPUTS}/{model}.safetensors", "-o",
                    place / "results.safetensors"], check=True, stdout=subprocess.DEVNULL)
    return make_inputs.read(place / "results.safetensors")


def compare(results, golden):
    """Relative errors: of the loss, and (error, name) of each gradient."""
    loss, expected = numbers(results, "loss")[0], numbers(golden, "loss.f64")[0]
    all_gradients = numbers(golden, "grad_norm64")[0]
    errors = []
    for name in (name.removeprefix("grads64.") for name in golden if name.startswith("grads64.")):
        wanted, found = numbers(golden, f"grads64.{name}"), numbers(results, f"grads.{name}")
        assert len(wanted) == len(found), f"{name} has {len(found)} elements, expected {len(wanted)}"
        errors.append((math.dist(found, wanted) / max(math.hypot(*wanted), SMALLEST_NORM * all_gradients), name))
    return abs(loss / expected - 1), errors


def main():
    build, model = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as directory:
        loss, errors = compare(evaluate(build, model, Path(directory)), make_inputs.read(INPUTS / f"{model}.golden.safetensors"))
    # NaN compares with nothing: it is worst, and no limit holds it.
    worst, name = max(errors, key=lambda entry: math.inf if math.isnan(entry[0]) else entry[0])
    fine = loss <= LOSS and worst <= GRADIENT
    print(f"loss {loss:.1e}  worst of {len(errors)} gradients {worst:.1e} ({name})  {'OK' if fine else 'FAIL'}")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
