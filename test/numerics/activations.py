#!/usr/bin/env python3
"""What layers keep for the backward pass, against formulas of the literature: python3 activations.py BUILD

Decoders by p3d-model, cut over tp with the sequence and Llama without it, in bf16, with each value of --recompute. By V. Korthikanti et al. (Reducing Activation Recomputation in Large Transformer
Models, 2022) a layer of GPT keeps 34 s b h / t bytes, 32 without the masks of dropout, and 2 s b h / t if it is computed again; with attention that keeps no scores. The
formulas below count the same for gated MLPs and grouped keys. The manifest's `activations_formula` has to be this to the byte, and what is planned has to be
within 1 % of it. With ZeRO (S. Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020) the whole arena has to fall as parameters,
gradients and optimizer state are cut, 2 + 4 + 12 bytes a parameter, and what is planned for these within 1 % so; the ratios are printed.
"""
import json
import subprocess
import sys
from pathlib import Path

BUILD = Path(sys.argv[1])
PLACE = BUILD / "numerics" / "activations"
HIDDEN, HEADS, GROUPS, LAYERS, SEQUENCE, TP, DP = 512, 8, 2, 24, 512, 2, 2
COMMON = {"vocab_size": 64, "tie_word_embeddings": False}
CONFIGS = {
    "llama": {**COMMON, "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": 7 * HIDDEN // 2, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
              "num_key_value_heads": GROUPS, "max_position_embeddings": SEQUENCE},
    "gpt2": {**COMMON, "model_type": "gpt2", "n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_positions": SEQUENCE},
}
# Values of the hidden size that a layer keeps: its input, what the first norm makes, q, k and v, what attention makes, the sum behind it, what the second norm
# makes, and of the MLP what goes into the activation function and what comes out. Selective makes norms, attention and the activation function again.
KEYS = 2 * GROUPS / HEADS
KEPT = {
    ("llama", "none"): 6 + KEYS + 3 * 3.5, ("llama", "selective"): 3 + KEYS + 2 * 3.5, ("llama", "full"): 1,
    ("gpt2", "none"): 8 + 2 * 4, ("gpt2", "selective"): 5 + 4, ("gpt2", "full"): 1,
}
# Of these, what tp cuts only with the sequence: the input, the sum, and what the norms make.
OF_SEQUENCE = {"none": 4, "selective": 2, "full": 1}


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}")


def parameters(stage, stages):
    """Of Llama, on a rank of a stage: products are cut, norms are not."""
    products = HIDDEN * HIDDEN * (2 + KEYS + 3 * 3.5) / TP
    ends = COMMON["vocab_size"] * HIDDEN / TP
    return LAYERS // stages * (products + 2 * HIDDEN) + (ends if stage == 0 else 0) + (ends + HIDDEN if stage == stages - 1 else 0)


def try_memory(family, recompute, stages, zero, sequence="on"):
    model = PLACE / f"{family}.mlir"
    run(BUILD / "bin/p3dc", model, f"--mesh={TP}x{stages}x{DP}", "--microbatches=2", f"--sequence-parallel={sequence}", f"--recompute={recompute}", f"--zero={zero}",
        "-o", PLACE / "out")
    manifest = json.loads((PLACE / "out/manifest.json").read_text())
    memory = {rank["pp"]: rank["memory"] for rank in manifest["ranks"]}
    fine = True
    for stage, live in enumerate(manifest["schedule"]["live"]):
        cut = TP if sequence == "on" else 1
        whole = OF_SEQUENCE[recompute]
        expected = int((whole / cut + (KEPT[family, recompute] - whole) / TP) * 2 * SEQUENCE * HIDDEN) * LAYERS // stages * live
        # What a transfer sends has a buffer beside. The last stage keeps the head's input, what its norm makes, and logits as well.
        hidden = 2 * SEQUENCE * HIDDEN // cut
        transfers = hidden * ((stage > 0) + (stage < stages - 1))
        head = 4 * SEQUENCE * COMMON["vocab_size"] // TP + hidden * (2 if recompute == "none" else 1) if stage == stages - 1 else 0
        planned = memory[stage]["activations"] - (transfers + head) * live
        formula = manifest["activations_formula"][stage] - head * live
        right = formula == expected and abs(planned - expected) <= 0.01 * expected
        text = f"{family} {recompute} sequence {sequence} zero={zero} stage {stage} of {stages}: formula {expected}, manifest {formula}, planned {planned}, {planned / expected - 1:+.2%}"
        if family == "llama":
            # Weights, gradients, and master with two moments; of each a share where ZeRO cuts it.
            state = parameters(stage, stages) * sum(size / (DP if zero >= cut else 1) for size, cut in ((2, 3), (4, 2), (12, 1)))
            held = sum(memory[stage][name] for name in ("params", "grads", "optimizer"))
            ratio = memory[stage]["total"] / (state + expected)
            right &= abs(held / state - 1) <= 0.01 and 1 <= ratio <= 1.1
            text += f"; states {state:.0f}, planned {held / state - 1:+.2%}; with activations {state + expected:.0f}, arena {memory[stage]['total']}, ratio {ratio:.3f}"
        fine &= right
        print(f"{'ok  ' if right else 'FAIL'} {text}")
    return fine


PLACE.mkdir(parents=True, exist_ok=True)
for family, config in CONFIGS.items():
    (PLACE / f"{family}.json").write_text(json.dumps(config))
    run(BUILD / "bin/p3d-model", PLACE / f"{family}.json", f"--batch={2 * DP}", f"--seq={SEQUENCE}", "--dtype=bf16", "--scan", "-o", PLACE / f"{family}.mlir")
results = [try_memory(family, recompute, stages, zero) for family, recompute in KEPT for stages, zero in ((1, 0), (2, 0), (2, 1), (2, 2), (2, 3))
           if family == "llama" or zero == 0]
results += [try_memory("llama", recompute, stages, zero, "off") for recompute in ("none", "selective") for stages, zero in ((1, 0), (2, 3))]
print(f"{len(results)} models, {results.count(False)} not as expected")
sys.exit(0 if all(results) else 1)
