#!/usr/bin/env python3
"""Checks the flags of p3dc: check_flags.py DIRECTORY

--help is printed from the table that parses; here each flag that it lists is shown to do something: what is compiled with the
flag differs from what is without. A flag that is in one of the two only is an error.
"""
import re
import subprocess
import sys
from pathlib import Path

INPUTS = Path(__file__).resolve().parents[1] / "Inputs"
MODEL = str(INPUTS / "mlp_regression.mlir")
OUT = Path(sys.argv[1])

# The flag's value, the other flags, and what is looked at: the IR after a level, or a file of the compile.
EFFECTS = {
    "mesh": ("2x1x1", [], "partition"),
    "microbatches": ("2", ["--mesh=1x2x1"], "schedule"),
    "chunks": ("3", ["--mesh=1x1x1", "--schedule=interleaved"], "stage"),
    "schedule": ("gpipe", ["--mesh=1x2x1", "--microbatches=4"], "schedule"),
    "live": ("1", ["--mesh=1x2x1", "--schedule=auto", "--microbatches=4"], "schedule"),
    "grad-reduce": ("bf16", [], "replicate"),
    "recompute": ("full", [], "autodiff"),
    "device-memory": ("43KiB", ["--recompute=auto"], "autodiff"),
    "zero": ("1", ["--mesh=1x1x2"], "replicate"),
    "stages": ("1,3", ["--mesh=1x2x1"], "stage"),
    "optimizer": ("sgd", [], "autodiff"),
    "params": ("batch", [], "import"),
    "inputs": ("layer_0", [], "import"),
    "freeze": ("layer_0", [], "import"),
    "rank-order": ("tp-pp-dp", ["--mesh=1x2x2"], "manifest.json"),
    "cluster": ("cpu:2x1", ["--mesh=2x1x1"], "manifest.json"),
    "target": ("cuda", [], "memory"),
    "cpu": ("x86-64", [], "bin/stage0"),
}
# Flags that say what is written or printed, shown by the tests of that name.
ELSEWHERE = {"explain": "explain", "report": "report", "gpu-arch": "cuda", "o": "bad-output", "emit": "levels", "from": "levels", "dump": "levels", "timing": "levels", "sequence-parallel": "collectives", "plan": "plan", "timeline": "timeline", "cost-table": "timeline"}


def compile(flags, looked_at):
    whole = "." in looked_at or "/" in looked_at
    target = OUT / ("whole" if whole else "level.mlir")
    flags = flags + ["-o", str(target)] + ([] if whole else [f"--emit={looked_at}"])
    subprocess.run(["p3dc", MODEL, *flags], check=True, stdout=subprocess.DEVNULL)
    return (target / looked_at if whole else target).read_bytes()


help = subprocess.run(["p3dc", "--help"], check=True, capture_output=True, text=True).stdout
listed = set(re.findall(r"^  --?([a-z-]+)[ =\[]", help[help.index("p3dc options:") :], re.M))
shown = set(EFFECTS) | set(ELSEWHERE)
faults = [f"--{name}: no line of check_flags.py shows what it does" for name in sorted(listed - shown)]
faults += [f"--{name}: is not in --help" for name in sorted(shown - listed)]
for name, (value, others, looked_at) in EFFECTS.items():
    if name in listed and compile(others, looked_at) == compile([*others, f"--{name}={value}"], looked_at):
        faults.append(f"--{name}={value}: {looked_at} is the same without it")
sys.exit("\n".join(faults) or 0)
