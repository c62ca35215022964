#!/usr/bin/env python3
"""The worked example of passes/Shard/README.md is what a run gives: check_readme.py README [--update]

The first block of code that defines @layer is cut over tp=4, dp=2; the table behind it has a line for each operation: its whole shape, how it lies, and what a rank holds.
"""
import re
import subprocess
import sys
from pathlib import Path

CUT = '-p3d-propagate-shardings=tp=4 dp=2 microbatches=1'
OPERATION = re.compile(r"^\s+%\S+(?:, %\S+)* = (\w+)\.(\w+)\s*(.*)$")
HEADER = ("operation", "whole", "lies as", "on each rank")


def run(text, *passes):
    """(name, rest of the line) of each operation of @layer."""
    done = subprocess.run(["p3dc-opt", "-", CUT, *passes], input=text, text=True, stdout=subprocess.PIPE, check=True)
    layer = re.search(r"graph\.block @layer.*?\n  }", done.stdout, re.DOTALL)[0]
    return [found.groups()[1:] for line in layer.splitlines() if (found := OPERATION.match(line))]


def shape_of(rest):
    """Of the first result."""
    return re.search(r"tensor<([0-9x]+)xf32>", rest.split(" : ")[-1].split("->")[-1])[1]


def describe(name, rest):
    spec = re.match(r'"([^"]+)"', rest)
    over = re.search(r"over +(\w+)", rest)
    return f"{name} {spec[1]}" if spec else f"{name} over {over[1]}" if over else name


def table(text):
    rows = [HEADER]
    shard, local = run(text), run(text, "-p3d-partition", "-p3d-verify-partition")
    for (_, whole), (name, part) in zip(shard, local, strict=True):
        lies = re.search(r"dist\.shardings = \[#dist\.sharding<(.*?)>[,\]]", whole)[1]
        rows.append((describe(name, part), shape_of(whole), lies, shape_of(part)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows) + "\n"


readme = Path(sys.argv[1])
page = readme.read_text()
example = re.search(r"```mlir\n((?:(?!```).)*graph\.block @layer.*?)```", page, re.DOTALL)
shown = re.search(r"```text\n(operation.*?)```", page, re.DOTALL)
made = table(example[1])
if "--update" in sys.argv:
    readme.write_text(page[: shown.start(1)] + made + page[shown.end(1) :])
elif shown[1] != made:
    sys.exit(f"the table in {readme} is not what a run gives; check_readme.py README --update writes it. A run gives:\n{made}")
