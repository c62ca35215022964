#!/usr/bin/env python3
"""Breaks partitioned models in what partitioning inserts and decides, and counts who notices: python3 partition_mutations.py BUILD

Each row of the table below is compiled to the level shard; p3d-partition-mutations partitions it, proves it, and breaks it: a
collective, slice or mask is dropped, doubled, moved behind its user, or works over another axis, dimension, kind or value; an op uses
the value before a movement instead of the one behind it, or the other way; dist.shard or a declared sharding says something else.
--count=N takes N mutations of all (drawn with --seed, as many of each kind as of the others), --count=0 all of them. Each one that
changes a result, or lets ranks disagree, when all ranks are interpreted, has to be rejected by p3d-verify-partition without being run.
Exit code 1, and the mutation, if one escapes.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
# Model, mesh, microbatches, sequence parallelism. Uneven vocabularies and heads, key heads fewer than ranks, experts, every axis.
ROWS = [
    ("gpt2_tiny_oddvocab", "4x1x1", 2, "auto"),
    ("mlp_regression", "2x1x2", 2, "auto"),
    ("llama_tiny", "2x1x2", 2, "on"),
    ("gpt2_tiny", "2x1x2", 2, "auto"),
    ("gpt2_tiny", "4x1x1", 1, "on"),
    ("gpt2_tiny_oddvocab", "2x1x2", 2, "on"),
    ("gpt2_tiny_oddvocab", "8x1x1", 1, "auto"),
    ("llama_tiny", "2x1x2", 2, "auto"),
    ("llama_tiny", "8x1x1", 1, "auto"),
    ("llama_tiny", "3x1x1", 1, "auto"),
    ("llama_tiny_bf16", "2x1x2", 2, "auto"),
    ("mixtral_tiny", "2x1x2", 1, "auto"),
    ("mixtral_tiny", "4x1x1", 1, "on"),
    ("bert_tiny_mlm", "2x1x2", 2, "auto"),
    ("bert_tiny_mlm", "4x1x1", 1, "on"),
    ("hf_llama_tiny", "2x1x2", 2, "on"),
    ("hf_gpt2_tiny", "4x1x1", 2, "auto"),
    ("gpt_tiny_explicit_attention_mask", "2x1x2", 2, "auto"),
]
FEW = 3  # rows for a sample


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="build directory")
    parser.add_argument("--count", type=int, default=1800, help="mutations of all rows; 0 for every one (1800)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice (1)")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="mutants at a time (2)")
    arguments = parser.parse_args()
    rows = ROWS if arguments.count == 0 or arguments.count > 50 * FEW else ROWS[:FEW]
    with tempfile.TemporaryDirectory() as place:
        subjects = []
        for model, mesh, microbatches, sequence in rows:
            file = f"{place}/{model}-{mesh}-m{microbatches}-{sequence}.mlir"
            subprocess.run([arguments.build / "bin" / "p3dc", INPUTS / f"{model}.mlir", f"--mesh={mesh}", f"--microbatches={microbatches}",
                            f"--sequence-parallel={sequence}", "--emit=shard", "-o", file], check=True)
            subjects.append(f"{file}={INPUTS}/{model}.safetensors")
        each = -(-arguments.count // len(rows))
        done = subprocess.run([arguments.build / "bin" / "p3d-partition-mutations", f"--count={each}", f"--seed={arguments.seed}",
                               f"--jobs={arguments.jobs}", *subjects])
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
