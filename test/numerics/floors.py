#!/usr/bin/env python3
"""What decoders move over tp, beside the least that is possible: floors.py BUILD [--models=DIR] [NAME...]

Partitions each decoder for tp = 4 and 8, with the sequence whole and cut, and counts collectives and ring bytes by kind of layer, forward and backward, for
one microbatch. The floors are Megatron-LM's: two all-reduces of the activation a layer and direction; with the sequence cut two all-gathers and two reduce-scatters, and
two all-gathers more in the backward pass, which gathers what the products took again. The embedding and the head's input cost one of them each; the loss three numbers a
token, in two messages. Never a weight, never logits. Exit code 1 if anything else moves.
"""
import argparse
import json
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
SIZES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4}
COLLECTIVE = re.compile(r"dist\.(all_reduce|all_gather|reduce_scatter|all_to_all)\b.* over +tp .*: (.*)$")
TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")
# By kind of layer and direction: collectives of activations with the sequence whole, and with it cut; numbers of each token besides.
FLOORS = {
    "first.fwd": ({"all_reduce": 1}, {"reduce_scatter": 1}, 0),
    "first.bwd": ({}, {"all_gather": 1}, 0),
    "layer.fwd": ({"all_reduce": 2}, {"all_gather": 2, "reduce_scatter": 2}, 0),
    "layer.bwd": ({"all_reduce": 2}, {"all_gather": 4, "reduce_scatter": 2}, 0),
    "last.fwd": ({}, {"all_gather": 1}, 3),
    "last.bwd": ({"all_reduce": 1}, {"all_gather": 1, "reduce_scatter": 1}, 0),
}


def elements(text):
    """Of the largest tensor in a type: its elements, and the bytes of one."""
    found = [(math.prod(int(dim) for dim in dims.split("x")[:-1]), SIZES.get(kind, 1)) for dims, kind in TENSOR.findall(text)]
    return max(found)


def ring_bytes(kind, count, size, tp):
    return (2 if kind == "all_reduce" else 1) * count * size * (tp - 1) // tp


def collectives(build, model, tp, is_cut):
    """(block, kind, elements, bytes of one) of each."""
    command = [build / "bin" / "p3dc", model, f"--mesh={tp}x1x1", "--microbatches=1", f"--sequence-parallel={'on' if is_cut else 'off'}", "--emit=partition"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    block = ""
    for line in text.splitlines():
        if begin := re.search(r"graph\.(?:block|program) @(\S+?)\(", line):
            block = re.sub(r"_\d+\.", ".", begin[1])
        if found := COLLECTIVE.search(line):
            yield block, found[1], *elements(found[2])


def check(build, model, name, tp, is_cut, tokens, width):
    """Prints a line for each kind of layer; the number of those that are not at the floor."""
    moved = {}
    for block, kind, count, size in collectives(build, model, tp, is_cut):
        moved.setdefault(block, []).append((kind, count, size))
    faults = 0
    for block in sorted(set(moved) | set(FLOORS), key=lambda block: (block not in FLOORS, list(FLOORS).index(block) if block in FLOORS else 0)):
        whole, cut, numbers = FLOORS.get(block, ({}, {}, 0))
        least = cut if is_cut else whole
        found = moved.get(block, [])
        activations = Counter(kind for kind, count, _ in found if count == tokens * width)
        messages = [count // tokens for kind, count, _ in found if kind == "all_reduce" and count % tokens == 0 and count < tokens * width]
        scalars = sum(messages)
        width_bytes = max([size for _, count, size in found if count == tokens * width], default=0)
        floor = sum(ring_bytes(kind, tokens * width, width_bytes, tp) * times for kind, times in least.items()) + numbers * ring_bytes("all_reduce", tokens, 4, tp)
        total = sum(ring_bytes(kind, count, size, tp) for kind, count, size in found)
        # The maximum comes first, the two sums together.
        fine = activations == Counter(least) and scalars == numbers and len(messages) == min(numbers, 2) and len(found) == sum(activations.values()) + len(messages) and total == floor
        faults += not fine
        if found or least or numbers:
            kinds = [f"{times} {kind}" for kind, times in sorted(activations.items())] + ([f"{scalars} numbers a token in {len(messages)} all_reduce"] if scalars else [])
            others = len(found) - sum(activations.values()) - len(messages)
            print(f"{'ok  ' if fine else 'FAIL'} {name} tp={tp} sequence {'cut' if is_cut else 'whole'} {block}: {', '.join(kinds) or 'nothing'}"
                  f"{f', {others} others' if others else ''}; {total} bytes, floor {floor}")
    return faults


def sizes(facts):
    """Tokens of a batch, and the width of the model."""
    batch, length = (int(size) for size in next(text for text in facts["batch"].values() if text.endswith("int32")).split("x")[:2])
    hyper = facts["hyper"]
    config = hyper.get("config", {})
    return batch * length, hyper.get("d") or config.get("hidden_size") or config["n_embd"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("names", nargs="*", help="models (those of test/Inputs)", default=["gpt2_124m", "gpt2_tiny", "hf_gpt2_tiny", "llama_tiny", "llama_tiny_scan", "hf_llama_tiny"])
    parser.add_argument("--models", type=Path, default=INPUTS, help="where NAME.mlir and NAME.json are")
    arguments = parser.parse_intermixed_args()
    faults = 0
    for name in arguments.names:
        tokens, width = sizes(json.loads((arguments.models / f"{name}.json").read_text()))
        for tp in (4, 8):
            for is_cut in (False, True):
                faults += check(arguments.build, arguments.models / f"{name}.mlir", name, tp, is_cut, tokens, width)
    sys.exit(f"{faults} kinds of layers are not at the floor" if faults else 0)


if __name__ == "__main__":
    main()
