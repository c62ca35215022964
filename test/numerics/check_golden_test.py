#!/usr/bin/env python3
"""Shows that check-golden passes a run that equals its golden and names what is off in one that does not: check_golden_test.py BUILD"""
import array
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
sys.path.insert(0, str(INPUTS))
import make_inputs

MODEL = "gpt2_tiny"
golden = make_inputs.read(INPUTS / f"{MODEL}.golden.safetensors")
start = make_inputs.read(INPUTS / f"{MODEL}.safetensors")


def scalars(name):
    code = {"F32": "f", "F64": "d"}[golden[name][0]]
    return list(array.array(code, golden[name][2]))


def perfect_run():
    """What a run without any rounding would write: steps, gradients, parameters, as lists."""
    steps = [{"loss": loss, "grad_norm": norm} for loss, norm in zip(scalars("train.loss"), scalars("train.grad_norm"))]
    grads = {name.removeprefix("grads64."): scalars(name) for name in golden if name.startswith("grads64.")}
    final = {}
    for name in grads:
        moved, (step,) = array.array("h", golden[f"change.{name}"][2]), scalars(f"change_step.{name}")
        before = array.array("f", start[f"params.{name}"][2])
        final[name] = [value + step * steps for value, steps in zip(before, moved)]
    return steps, grads, final


def save(path, prefix, tensors):
    make_inputs.write(path, {prefix + name: ("F32", start[f"params.{name}"][1], array.array("f", values).tobytes())
                             for name, values in tensors.items()})


def check(build, change):
    """Exit code and output of check-golden on a perfect run after `change(steps, grads, final)`."""
    steps, grads, final = perfect_run()
    change(steps, grads, final)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "log").write_text("".join(json.dumps(step) + "\n" for step in steps))
        save(place / "grads", "grads.", grads)
        save(place / "final", "params.", final)
        done = subprocess.run([build / "bin" / "check-golden", f"--golden={INPUTS}/{MODEL}.golden.safetensors",
                               f"--params={INPUTS}/{MODEL}.safetensors", f"--log={place}/log", f"--grads={place}/grads",
                               f"--export={place}/final"], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def scaled(steps, grads, final):
    grads["h2.mlp.wi"] = [value * (1 + 2e-5) for value in grads["h2.mlp.wi"]]


def noisy_zero(steps, grads, final):
    """A key bias has no gradient: noise far below the norm of all gradients is no fault."""
    grads["h2.attn.bqkv"][40] += 1e-9


def nan_loss(steps, grads, final):
    steps[7]["loss"] = "nan"


def first_loss(steps, grads, final):
    steps[0]["loss"] *= 1 + 2e-6


def few_far(steps, grads, final):
    """One in 300 parameters is off by more than 1e-6: allowed; one in 100 is not."""
    for values in final.values():
        for i in range(0, len(values), 300):
            values[i] += 5e-6


def many_far(steps, grads, final):
    for values in final.values():
        for i in range(0, len(values), 100):
            values[i] += 5e-6


def one_lost(steps, grads, final):
    final["wpe"][3] += 3e-3


def no_tensor(steps, grads, final):
    del grads["h2.mlp.wi"]


CASES = [
    (lambda *run: None, 0, "OK"),
    (noisy_zero, 0, "OK"),
    (few_far, 0, "OK"),
    (scaled, 1, "gradient of h2.mlp.wi"),
    (nan_loss, 1, "training of step 8 nan"),
    (first_loss, 1, "FAIL: loss 2"),
    (many_far, 1, "99.5% of parameters"),
    (one_lost, 1, "100% of parameters"),
    (no_tensor, 1, "has no tensor grads.h2.mlp.wi"),
]

if __name__ == "__main__":
    for change, expected, words in CASES:
        code, text = check(Path(sys.argv[1]), change)
        if code != expected or words not in text:
            sys.exit(f"{change.__name__}: exit code {code}, expected {expected} and '{words}':\n{text}")
