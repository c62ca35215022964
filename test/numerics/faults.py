#!/usr/bin/env python3
"""Faults that other 3D-parallel systems had, each as a training run with the right numbers: python3 faults.py BUILD

Each row is a model and a mesh on which the fault would show: a gradient that a rank kept for itself, a norm counted twice, a layer that was never
built, a mean of means. The comparison is table.py's: loss, every gradient, the norm, ten steps and the trained weights.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

from table import INPUTS, Row, try_row

FAULTS = [
    # Gradients and layouts under tp.
    ("gradients of norms and biases are whole on every rank of tp", "gpt2_tiny", "4x1x1", 1),
    ("a fused q|k|v is cut by heads, not by columns", "gpt2_tiny", "2x1x1", 1),
    ("8 query heads over 4 key heads", "llama_tiny", "4x1x1", 1),
    ("4 key heads over 3 ranks: the last shard is padding", "llama_tiny", "3x1x1", 1),
    ("2 key heads over 4 ranks: each on two of them, its gradient summed over those two", "mixtral_tiny", "4x1x1", 1),
    ("4 key heads over 8 ranks, and replicas", "llama_tiny", "8x1x2", 2),
    ("a vocabulary of 61 over tp=2: padding is outside the softmax", "gpt2_tiny_oddvocab", "2x1x1", 1),
    ("a vocabulary of 61 over tp=4", "gpt2_tiny_oddvocab", "4x1x1", 1),
    # Pipeline.
    ("tied embeddings in two stages: the sum over both uses, and over replicas", "gpt2_tiny", "1x2x2", 2),
    ("tied embeddings on every axis", "gpt2_tiny", "2x4x2", 2),
    ("6 layers on 4 stages: every layer exists once", "llama_tiny_l6", "1x4x1", 4),
    ("8 layers on 3 stages", "llama_tiny", "1x3x1", 2),
    ("gradients of all microbatches are kept", "llama_tiny", "1x2x1", 8),
    ("the outputs of a split go to one backward", "hf_gpt2_tiny", "1x2x1", 4),
    ("a mask that all stages read, and a skip from the first stage to the last", "gpt_tiny_explicit_attention_mask", "1x4x1", 4),
    ("a padding mask that differs by microbatch", "bert_tiny_mlm", "1x2x2", 4),
    ("rope tables that all stages read", "hf_llama_tiny", "1x4x1", 2),
    ("the outputs of a split, where the gradients of weights are computed for themselves", "hf_gpt2_tiny", "1x2x1", 4, "--schedule=zb-h1"),
    ("tied embeddings on one stage, whose chain of layers turns around", "gpt2_tiny", "1x2x2", 2, "--schedule=zb-v"),
    ("a mask and a skip between the ends of a chain that turns around", "gpt_tiny_explicit_attention_mask", "1x2x1", 4, "--schedule=zb-v"),
    ("rope tables in both halves of a split backward pass", "hf_llama_tiny", "1x4x1", 4, "--schedule=zb-h2"),
    # Data parallel, norms.
    ("the norm for clipping is that of all stages", "llama_tiny", "1x4x1", 1),
    ("replicated parameters count once in the norm", "bert_tiny_mlm", "4x1x1", 1),
    ("tied copies count once in the norm", "gpt2_tiny_oddvocab", "1x4x1", 1),
    ("1 to 16 valid tokens a sequence: the mean of all tokens, not of means, over replicas", "gpt2_tiny_oddvocab", "1x1x2", 1),
    ("the same over microbatches", "gpt2_tiny_oddvocab", "1x1x1", 16),
    ("the same over replicas and microbatches", "gpt2_tiny", "1x1x4", 2),
    ("with shares over replicas each element counts once in the norm: tied copies, biases", "gpt2_tiny_oddvocab", "2x2x2", 1, "--zero=1"),
    ("the same with shares of gradients, and of norms that tp sums", "llama_tiny", "2x2x2", 2, "--zero=2 --sequence-parallel=on"),
    ("a mean over tokens, not of means, in shares", "gpt2_tiny", "1x1x4", 2, "--zero=3"),
    ("a scatter-add into an embedding that is cut, under dp", "llama_tiny", "4x1x2", 4),
    ("a stack of layers is split by layer and put together again", "llama_tiny_scan", "2x4x1", 2),
    # Randomness.
    ("what dropout drops follows from the key and the place in the whole tensor: over tp", "gpt_tiny_dropout", "4x1x1", 1),
    ("the same with the sequence cut over tp", "gpt_tiny_dropout", "4x1x1", 1, "--sequence-parallel=on"),
    ("the same over stages, replicas and microbatches", "gpt_tiny_dropout", "2x2x2", 4),
    ("the same drawn again in the backward pass, with weights that are gathered", "gpt_tiny_dropout", "1x2x4", 1, "--zero=3 --recompute=full"),
]

# Of a model that computes in 16 bits.
REDUCTIONS = [
    ("bf16", "1x1x2", "--microbatches=4"),
    ("bf16", "4x1x2", "--sequence-parallel=on"),
    ("bf16", "2x2x2", "--schedule=zb-h1 --zero=1"),
    ("bf16", "1x2x4", "--zero=2"),
    ("bf16", "2x1x4", "--zero=3"),
    ("f16", "2x2x2", "--zero=2 --sequence-parallel=on"),
]


def try_reduction(build, kind, mesh, flags):
    """Whether all that is summed for the update is summed in f32, unless it was asked for otherwise."""
    place = build / "numerics" / "reductions"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "model.mlir").write_text((INPUTS / "llama_tiny_bf16.mlir").read_text().replace("bf16", kind))
    found = {}
    for reduced in ("f32", "bf16"):
        subprocess.run([build / "bin/p3dc", place / "model.mlir", f"--mesh={mesh}", *flags.split(), f"--grad-reduce={reduced}", "-o", place / "out"], check=True, stdout=subprocess.DEVNULL)
        collectives = json.loads((place / "out/manifest.json").read_text())["collectives"]
        # Sums over replicas, and those over tp, the stages and the norm that the update needs.
        found[reduced] = {c["dtype"] for c in collectives if c["kind"] in ("all_reduce", "reduce_scatter") and (c["axis"] in ("dp", "tied") or c["phase"] == "update")}
    fine = found["f32"] == {"f32"} and "bf16" in found["bf16"]
    print(f"{'ok  ' if fine else 'FAIL'} llama in {kind}, {mesh} {flags}: reduced in {sorted(found['f32'])}, with --grad-reduce=bf16 in {sorted(found['bf16'])}", flush=True)
    return fine


def main():
    build = Path(sys.argv[1])
    results = []
    for fault, model, mesh, microbatches, *flags in FAULTS:
        print(f"-- {fault}")
        results.append(try_row(Row(model, mesh, microbatches, flags=" ".join(flags)), build))
    print("-- gradients are summed in f32 where values are of 16 bits")
    results += [try_reduction(build, *case) for case in REDUCTIONS]
    print(f"{len(results)} rows, {results.count(True)} as expected, {results.count(False)} not")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
