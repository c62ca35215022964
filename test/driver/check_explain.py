#!/usr/bin/env python3
"""Checks --explain=json: check_explain.py DIRECTORY TPxPPxDP

Compiles every test model on the mesh. What the messages send is what the manifest counts, in bytes and times; each says why it is there, where it comes
from and what removes it, and that is true: with the remedy it is gone.
"""
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

INPUTS = Path(__file__).resolve().parents[1] / "Inputs"
OUT, MESH = Path(sys.argv[1]), sys.argv[2]
faults = []


def explain(model, *flags):
    """The explanation, or None if the model does not fit the mesh."""
    run = subprocess.run(["p3dc", str(model), "--explain=json", *flags], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else None


def sums(entries, keys):
    total = Counter()
    for entry in entries:
        total[tuple(entry[key] for key in keys)] += complex(entry["count"], entry["bytes"])
    return total


def check(condition, model, text):
    if not condition:
        faults.append(f"{model.stem} on {MESH}: {text}")


def check_sums(model, found, manifest):
    """Against the manifest, and the totals against the messages."""
    kinds = ("kind", "axis", "phase", "stage", "dtype")
    collectives = [message for message in found["messages"] if message["kind"] != "send"]
    sends = [message for message in found["messages"] if message["kind"] == "send"]
    check(sums(collectives, kinds) == sums(manifest["collectives"], kinds), model, "collectives differ from the manifest's")
    check(sums(sends, ("stage", "to")) == sums(manifest["transfers"], ("from", "to")), model, "sends differ from the manifest's transfers")
    total = ("axis", "phase", "stage")
    check(sums(found["messages"], total) == sums(found["totals"], total), model, "totals are not the sums of the messages")


def check_texts(model, entries, fields):
    for entry in entries:
        for field in fields:
            check(entry[field], model, f"no {field} in {entry}")
        check("fallback" not in entry["reason"], model, f"a fallback: {entry}")


def check_messages(model, found):
    check_texts(model, found["messages"], ["reason", "remedy", "location", "kind", "axis", "phase", "dtype", "count", "bytes", "seconds"])
    check_texts(model, found["padding"], ["reason", "remedy", "dimension", "parameters"])
    for message in found["messages"]:
        check(re.search(r":\d+$", message["location"]), model, f"no line in {message}")
    for padding in found["padding"]:
        check(padding["rows"] * padding["parts"] == padding["padded"] > padding["units"], model, f"{padding} is not padded")


def check_remedies(model, found, flags):
    """A size of 1 removes what it is said to, and so does a sequence that is cut, or not."""
    axes_of = {}
    for message in found["messages"]:
        axes_of.setdefault(message["remedy"].split("; ")[0], set()).add(message["axis"])
    for remedy, axes in axes_of.items():
        mesh = dict(zip(("tp", "pp", "dp"), map(int, MESH.split("x")))) | {size.split("=")[0]: int(size.split("=")[1]) for size in remedy.split(" and ")}
        without = explain(model, "--mesh=" + ",".join(f"{axis}={size}" for axis, size in mesh.items()), *flags)
        for message in without["messages"] if without else []:
            check(message["axis"] not in axes, model, f"{remedy} does not remove {message}")

    def place(message):
        return tuple(str(message[key]) for key in ("kind", "phase", "stage", "block", "location", "parameters", "reason"))

    for switch in ("on", "off"):
        other = explain(model, f"--mesh={MESH}", f"--sequence-parallel={switch}", *flags)
        left = {place(message) for message in other["messages"]} if other else set()
        for message in found["messages"]:
            if f"--sequence-parallel={switch}" in message["remedy"]:
                check(place(message) not in left, model, f"--sequence-parallel={switch} leaves {message}")


compiled = 0
for golden in sorted(INPUTS.glob("*.golden.safetensors")):
    model = INPUTS / golden.name.replace(".golden.safetensors", ".mlir")
    for flags in [[], ["--microbatches=1"]]:  # what is not additive over microbatches needs one
        found = explain(model, f"--mesh={MESH}", "-o", str(OUT / "out"), *flags)
        if found:
            break
    if not found:
        continue
    compiled += 1
    check_sums(model, found, json.loads((OUT / "out/manifest.json").read_text()))
    check_messages(model, found)
    check_remedies(model, found, flags)
check(compiled >= 8, INPUTS, f"only {compiled} models compile")
print(f"{compiled} models")
sys.exit("\n".join(faults[:20]) or 0)
