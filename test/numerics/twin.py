#!/usr/bin/env python3
"""A byte-level GPT on a real text learns as its PyTorch twin does: python3 twin.py [--build=BUILD] [--steps=500]

Trains a GPT-2 of 3.3 million parameters on the licences that Debian ships, on 1x1x1 and 2x2x2 and as plain PyTorch, from the same weights and on the same batches, and
compares the means of the last 100 losses: they lie within 0.5 %. Prints the losses of the evaluation too. Needs PyTorch and numpy; no test of the build.
"""
import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 256, "n_positions": 128, "n_embd": 256, "n_layer": 4, "n_head": 4,
          "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
BATCH, SEQUENCE, RATE, LOWEST_RATE, WARMUP, DECAY, CLIP = 16, CONFIG["n_positions"], 1e-3, 1e-4, 50, 0.1, 1.0
LAST, LIMIT = 100, 5e-3


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def prepare(bin, place):
    """Tokens of the text, and the model."""
    texts = sorted(path for path in Path("/usr/share/common-licenses").iterdir() if path.is_file())
    run(bin / "p3d-data", *texts, "-o", place / "train.bin", f"--eval={place}/eval.bin")
    (place / "config.json").write_text(json.dumps(CONFIG))
    run(bin / "p3d-model", place / "config.json", f"--batch={BATCH}", f"--seq={SEQUENCE}", "-o", place / "model.mlir")


def train(bin, place, mesh, steps, *flags):
    """Losses of each step, and of the evaluation at the end."""
    run(bin / "p3dc", place / "model.mlir", f"--mesh={mesh}", "-o", place / mesh)
    run(bin / "p3d-run", place / mesh, f"--steps={steps}", f"--data={place}/train.bin", "--data-order=file", f"--lr={RATE}", f"--weight-decay={DECAY}",
        f"--clip={CLIP}", f"--log={place}/{mesh}.jsonl", *flags)
    log = [json.loads(line) for line in (place / f"{mesh}.jsonl").read_text().splitlines()]
    return [entry["loss"] for entry in log], log[-1].get("eval_loss")


class Twin:
    """GPT-2 as functions of its weights under their names in Hugging Face's files."""

    def __init__(self, torch, weights):
        self.torch, self.weights = torch, {name: weight.requires_grad_() for name, weight in weights.items()}

    def loss(self, x):
        """Each token but the first of a window is predicted from those before it."""
        functional = self.torch.nn.functional
        w = self.weights
        h = w["transformer.wte.weight"][x] + w["transformer.wpe.weight"][: x.shape[1]]

        def norm(h, name):
            return functional.layer_norm(h, h.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

        def linear(h, name):
            return h @ w[f"{name}.weight"] + w[f"{name}.bias"]

        for layer in range(CONFIG["n_layer"]):
            name = f"transformer.h.{layer}"
            q, k, v = (part.unflatten(-1, (CONFIG["n_head"], -1)).transpose(1, 2) for part in linear(norm(h, f"{name}.ln_1"), f"{name}.attn.c_attn").chunk(3, -1))
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            h = h + linear(a, f"{name}.attn.c_proj")
            h = h + linear(functional.gelu(linear(norm(h, f"{name}.ln_2"), f"{name}.mlp.c_fc"), approximate="tanh"), f"{name}.mlp.c_proj")
        logits = norm(h, "transformer.ln_f") @ w["transformer.wte.weight"].T
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1), x[:, 1:].flatten())


def learning_rate(step, steps):
    """As runtime/Train/RunOptions.h says of cosine."""
    if step <= WARMUP:
        return RATE * step / WARMUP
    part = (step - WARMUP) / max(1, steps - WARMUP)
    return LOWEST_RATE + (RATE - LOWEST_RATE) * 0.5 * (1 + math.cos(math.pi * part))


def batches(torch, path):
    """The windows of a file of p3d-data, a header of 256 words and tokens of 16 bits, in their order, over and over."""
    import numpy
    tokens = torch.from_numpy(numpy.fromfile(path, dtype="<u2", offset=4 * 256).astype("int64"))
    windows = (len(tokens) - 1) // SEQUENCE

    def batch(number):
        starts = [(number * BATCH + row) % windows * SEQUENCE for row in range(BATCH)]
        return torch.stack([tokens[start : start + SEQUENCE] for start in starts])

    return batch, windows // BATCH


def read_weights(torch, path):
    """Of a safetensors file in f32."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    return {name.removeprefix("params."): torch.frombuffer(body, dtype=torch.float32, count=math.prod(entry["shape"]), offset=entry["data_offsets"][0]).reshape(entry["shape"]).clone()
            for name, entry in header.items() if name != "__metadata__"}


def train_twin(place, steps):
    import torch
    twin = Twin(torch, read_weights(torch, place / "start.safetensors"))
    weights = list(twin.weights.values())
    optimizer = torch.optim.AdamW([{"params": [w for w in weights if w.ndim >= 2], "weight_decay": DECAY}, {"params": [w for w in weights if w.ndim < 2], "weight_decay": 0.0}],
                                  betas=(0.9, 0.95), eps=1e-8)
    batch, _ = batches(torch, place / "train.bin")
    losses = []
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps)
        optimizer.zero_grad()
        loss = twin.loss(batch(step - 1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, CLIP)
        optimizer.step()
        losses.append(loss.item())
    batch, count = batches(torch, place / "eval.bin")
    with torch.no_grad():
        return losses, sum(twin.loss(batch(number)).item() for number in range(count)) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--steps", type=int, default=500)
    arguments = parser.parse_args()
    bin, place = arguments.build / "bin", arguments.build / "numerics" / "twin"
    place.mkdir(parents=True, exist_ok=True)
    prepare(bin, place)
    start = place / "start.safetensors"
    run(bin / "p3dc", place / "model.mlir", "--mesh=1x1x1", "-o", place / "1x1x1")
    run(bin / "p3d-run", place / "1x1x1", "--steps=1", f"--data={place}/train.bin", "--lr=0", "--seed=1", f"--export={start}")
    schedule = ["--lr-schedule=cosine", f"--min-lr={LOWEST_RATE}", f"--warmup={WARMUP}", f"--params={start}", f"--eval-data={place}/eval.bin"]
    curves = {mesh: train(bin, place, mesh, arguments.steps, *schedule) for mesh in ("1x1x1", "2x2x2")}
    curves["PyTorch"] = train_twin(place, arguments.steps)
    means = {name: sum(losses[-LAST:]) / len(losses[-LAST:]) for name, (losses, _) in curves.items()}
    fine = True
    for name, (losses, evaluation) in curves.items():
        apart = means[name] / means["PyTorch"] - 1
        fine &= abs(apart) < LIMIT
        print(f"{'ok  ' if abs(apart) < LIMIT else 'FAIL'} {name:8} first loss {losses[0]:.6f}, mean of the last {LAST} {means[name]:.5f} ({apart:+.3%} of PyTorch's), evaluation {evaluation:.5f}")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
