#!/usr/bin/env python3
"""Checks --report=json against published counts: check_counting.py DIRECTORY

The models are written by p3d-model from configurations that stand here. Parameters: Megatron-LM, arXiv 2104.04473, table 1. FLOPs
and model FLOPs utilisation: arXiv 2205.05198, appendix A and table 5, whose measured step times are given. Bytes of the optimizer's
stages: arXiv 1910.02054, figure 1. Llama-3-70B at three lengths: activations, FLOPs, and what fits 80 GB.
"""
import json
import subprocess
import sys
from pathlib import Path

OUT = Path(sys.argv[1])
GIB = 2**30
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128256, "hidden_size": 8192,
         "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
         "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False}


def gpt(hidden, layers, heads, sequence=2048):
    return {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 51200, "n_positions": sequence,
            "n_embd": hidden, "n_layer": layers, "n_head": heads, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}


def write(config, batch, sequence):
    path = OUT / "model.mlir"
    (OUT / "config.json").write_text(json.dumps(config))
    subprocess.run(["p3d-model", str(OUT / "config.json"), f"--batch={batch}", f"--seq={sequence}", "--dtype=bf16", "--scan",
                    "-o", str(path)], check=True)
    return path


def plan(model, *flags):
    return subprocess.run(["p3dc", str(model), "--report=json", *flags], capture_output=True, text=True)


def report(model, *flags):
    result = plan(model, *flags)
    if result.returncode:
        sys.exit(result.stderr)
    return json.loads(result.stdout)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


def expect_near(what, found, expected, within):
    if not abs(found - expected) <= within:
        sys.exit(f"{what}: found {found}, expected {expected} within {within}")


def flops_of_gpt(batch, sequence, layers, hidden, vocabulary=51200):
    """Without recompute, attention in full."""
    return round(72 * batch * sequence * layers * hidden**2 + 12 * batch * sequence**2 * layers * hidden + 6 * batch * sequence * hidden * vocabulary)


def check_parameters():
    for hidden, layers, heads, billions in ((2304, 24, 24, 1.652), (4096, 36, 32, 7.468), (8192, 48, 64, 39.096),
                                            (12288, 80, 96, 145.622), (25600, 128, 160, 1008.039)):
        found = report(write(gpt(hidden, layers, heads), 1, 2048), "--recompute=full")
        # The table's formula leaves out the last norm.
        expect(f"parameters, h={hidden}", found["params"]["total"], 12 * layers * hidden**2 + 13 * layers * hidden + (51200 + 2048) * hidden + 2 * hidden)
        expect_near(f"billions of parameters, h={hidden}", found["params"]["total"] / 1e9, billions, 0.001)


def check_utilisation():
    for hidden, layers, heads, batch, mesh, ranks, seconds, percent in ((6144, 48, 64, 4, "8x1x1", 8, 1.10, 41.5),
                                                                      (12288, 96, 96, 64, "8x8x1", 64, 13.75, 51.4)):
        found = report(write(gpt(hidden, layers, heads), batch, 2048), f"--mesh={mesh}", "--zero=0", "--recompute=full")
        expect(f"model FLOPs, h={hidden}", found["model_flops_per_step"], flops_of_gpt(batch, 2048, layers, hidden))
        expect_near(f"MFU, h={hidden}", 100 * found["model_flops_per_step"] / (seconds * ranks * 312e12), percent, 0.2)


def check_zero():
    model = write(gpt(4096, 36, 32), 64, 2048)
    for zero, bytesOfParameter in enumerate((16, 4 + 12 / 64, 2 + 14 / 64, 16 / 64)):
        found = report(model, "--mesh=1x1x64", f"--zero={zero}", "--grad-reduce=bf16", "--recompute=full")
        state = found["stages"][0]["state_bytes"] / found["params"]["total"]
        expect_near(f"bytes a parameter, zero={zero}", state / bytesOfParameter, 1, 0.01)


def check_lengths():
    a100 = ["--mesh=4x4x2", "--stages=20,20,20,20", "--cluster=a100-80g:4x8", "--sequence-parallel=on"]
    for sequence, flops, gib, full in ((2048, "4.2506e+11", 10.47, 0.62), (4096, "4.3312e+11", 20.94, 1.25), (8192, "4.4922e+11", 41.88, 2.50)):
        model = write(LLAMA, 16, sequence)
        kept = report(model, *a100, "--zero=1", "--device-memory=200GB")
        expect(f"FLOPs per token, s={sequence}", f"{kept['flops_per_step'] / kept['tokens_per_step']:.4e}", flops)
        expect(f"activations, s={sequence}", kept["activations_formula"][0], 4 * 20 * 33.5 * sequence * 8192 / 4)
        expect(f"activations, s={sequence}", round(kept["activations_formula"][0] / GIB, 2), gib)
        for stage, formula in zip(kept["stages"], kept["activations_formula"]):
            expect_near(f"planned of the formula, s={sequence}, stage {stage['stage']}", stage["activations_bytes"] / formula, 1, 0.01)
        again = report(model, *a100, "--zero=1", "--recompute=full")
        expect(f"with full recompute, s={sequence}", round(again["activations_formula"][0] / GIB, 3), round(4 * 20 * 2 * sequence * 8192 / 4 / GIB, 3))
        expect_near(f"with full recompute, s={sequence}, GiB", again["activations_formula"][0] / GIB, full, 0.0051)
        refused = plan(model, *a100, "--zero=1")
        expect(f"s={sequence} is refused without recompute", refused.returncode != 0, sequence == 8192)
        if sequence == 8192 and "it fits with --recompute=" not in refused.stderr:
            sys.exit(f"s={sequence}: expected the advice --recompute: {refused.stderr}")
    plain = plan(write(LLAMA, 16, 4096), *a100)
    if plain.returncode != 1 or "it fits with --zero=1: " not in plain.stderr:
        sys.exit(f"plain data parallelism: expected a refusal with --zero=1: {plain.stderr}")


check_parameters()
check_utilisation()
check_zero()
check_lengths()
