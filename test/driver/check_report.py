#!/usr/bin/env python3
"""Checks --report=json against what is published and counted by hand: check_report.py llama3_70b_scan.mlir

Llama-3-70B on 4 x 4 x 2 ranks, sequence-parallel: parameters of a rank, bytes of the state for both optimizers' layouts and two cuts
into stages, activations, and FLOPs. 18 bytes a parameter are bf16 weights, f32 gradients, f32 master and two moments; ZeRO-1 halves
the last three over dp=2.
"""
import json
import subprocess
import sys

MODEL = sys.argv[1]
GIB = 2**30
LAYER, EMBEDDING, NORM = 855_654_400, 1_050_673_152, 8192
TOKENS, LAYERS, HIDDEN, TP = 4096, 80, 8192, 4


def report(*flags):
    command = ["p3dc", MODEL, "--mesh=4x4x2", "--sequence-parallel=on", "--report=json", *flags]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


# Norms are on every rank, the rest is cut over tp.
ofLayer = (LAYER - 2 * NORM) // TP + 2 * NORM
STATES = {  # (zero, layers of the stages): GiB of each stage
    (0, "20,20,20,20"): [76.13, 71.72, 71.72, 76.13],
    (1, "20,20,20,20"): [50.75, 47.82, 47.82, 50.75],
    (1, "19,21,21,19"): [48.36, 50.21, 50.21, 48.36],
}
for (zero, split), gib in STATES.items():
    found = report(f"--zero={zero}", f"--stages={split}")
    counts = [ofLayer * int(layers) for layers in split.split(",")]
    counts[0] += EMBEDDING // TP
    counts[-1] += EMBEDDING // TP + NORM
    expect("parameters of a rank", [stage["parameters"] for stage in found["stages"]], counts)
    states = [stage["state_bytes"] for stage in found["stages"]]
    expect(f"state bytes, zero={zero}", states, [count * (12 if zero else 18) for count in counts])
    expect(f"state, zero={zero}, {split}", [round(state / GIB, 2) for state in states], gib)

found = report("--zero=1", "--stages=20,20,20,20")
expect("parameters of the model", found["params"]["total"], 70_553_706_496)
expect("FLOPs per token", f"{found['flops_per_step'] / found['tokens_per_step']:.4e}", "4.3312e+11")
# Attention counted in full has the other half of 6 s h per layer.
full = found["flops_per_step"] + found["tokens_per_step"] * LAYERS * 6 * TOKENS * HIDDEN
expect("model FLOPs", found["model_flops_per_step"], full)
expect("live microbatches", found["schedule"]["live"], [4, 3, 2, 1])
perLayer = 33.5 * TOKENS * HIDDEN / TP
# The stages between hold layers alone; the last also the norm's operand, its result, and f32 logits.
head = 2 * 2 * TOKENS * HIDDEN / TP + 4 * TOKENS * 128256 / TP
expect("activations", found["activations_formula"], [4 * 20 * perLayer, 3 * 20 * perLayer, 2 * 20 * perLayer, 20 * perLayer + head])
expect("activations of stage 0, GiB", round(found["activations_formula"][0] / GIB, 2), 20.94)
for stage, formula in zip(found["stages"], found["activations_formula"]):
    if abs(stage["activations_bytes"] / formula - 1) > 0.01:
        sys.exit(f"stage {stage['stage']} plans {stage['activations_bytes']} bytes of activations, the formula says {formula}")
# The report agrees with itself.
expect("MFU", round(found["mfu"], 9), round(found["model_flops_per_step"] / (found["step_time_us"] * 1e-6 * 32 * 4e10), 9))
expect("tokens/s", round(found["tokens_per_second"], 3), round(found["tokens_per_step"] / (found["step_time_us"] * 1e-6), 3))
