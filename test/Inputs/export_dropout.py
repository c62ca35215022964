#!/usr/bin/env python3
"""Makes gpt_tiny_dropout, a GPT that drops embeddings, attention weights and the ends of its branches: python3 export_dropout.py [DIRECTORY]

Needs JAX. Its numbers are those of jax.grad in f64 with the random bits of f32, and of AdamW as the README has it; the key is the same in every step.
"""
import json
import math
import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

sys.dont_write_bytecode = True
import make_inputs

NAME, LAYERS, WIDTH, HEADS, VOCABULARY, SEQUENCE, BATCH, RATE, SEED = "gpt_tiny_dropout", 4, 16, 4, 32, 8, 8, 0.125, 23
STEPS, LEARNING_RATE, BETAS, EPSILON, DECAY, CLIP = 10, 1e-3, (0.9, 0.95), 1e-8, 0.1, 1.0


def drop(x, key):
    keep = jax.random.bernoulli(key, jnp.float32(1 - RATE), x.shape)
    return jnp.where(keep, x / (1 - RATE), jnp.zeros((), x.dtype))


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def attention(p, x, key):
    q, k, v = (jnp.einsum("bsd,de->bse", x, p["qkv"][i]).reshape(*x.shape[:2], HEADS, -1) for i in range(3))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((SEQUENCE, SEQUENCE), bool)), scores, jnp.asarray(-1e30, scores.dtype))
    weights = drop(jax.nn.softmax(scores, -1), key)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ p["wo"]


def loss(params, batch, key):
    x = drop(params["wte"][batch["x"]] + params["wpe"], key)
    for i in range(LAYERS):
        p, keys = params[f"h{i}"], jax.random.split(jax.random.fold_in(key, i), 3)
        x = x + drop(attention(p, norm(x, p["ln1"]), keys[0]), keys[1])
        x = x + drop(jax.nn.gelu(norm(x, p["ln2"]) @ p["up"]) @ p["down"], keys[2])
    logs = jax.nn.log_softmax(norm(x, params["lnf"]) @ params["wte"].T, -1)
    return -jnp.mean(jnp.take_along_axis(logs, batch["y"][..., None], -1))


def start():
    rng = np.random.default_rng(SEED)
    normal = lambda std, *shape: rng.normal(0, std, shape).astype(np.float32)
    params = {"wte": normal(0.1, VOCABULARY, WIDTH), "wpe": normal(0.1, SEQUENCE, WIDTH), "lnf": np.ones(WIDTH, np.float32)}
    for i in range(LAYERS):
        params[f"h{i}"] = {"ln1": np.ones(WIDTH, np.float32), "ln2": np.ones(WIDTH, np.float32), "qkv": normal(0.25, 3, WIDTH, WIDTH), "wo": normal(0.1, WIDTH, WIDTH),
                           "up": normal(0.25, WIDTH, 2 * WIDTH), "down": normal(0.1, 2 * WIDTH, WIDTH)}
    batch = {name: rng.integers(0, VOCABULARY, (BATCH, SEQUENCE)).astype(np.int32) for name in ("x", "y")}
    return params, batch


def flat(tree, prefix=""):
    return {name: leaf for key, value in tree.items() for name, leaf in (flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}).items()}


def train(params, batch, key):
    """Losses and norms of the steps, the first gradient, and the weights at the end; all in f64."""
    step = jax.jit(jax.value_and_grad(loss))
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    moments = [jax.tree.map(np.zeros_like, weights) for _ in BETAS]
    losses, norms, first = [], [], None
    for t in range(1, STEPS + 1):
        value, grads = step(weights, batch, key)
        grads = jax.tree.map(np.asarray, grads)
        first = first or grads
        length = math.sqrt(sum(float((leaf**2).sum()) for leaf in jax.tree.leaves(grads)))
        losses.append(float(value)), norms.append(length)
        grads = jax.tree.map(lambda leaf: leaf * min(1.0, CLIP / length), grads)
        moments = [jax.tree.map(lambda m, g: beta * m + (1 - beta) * g**power, moment, grads) for moment, beta, power in zip(moments, BETAS, (1, 2))]
        update = lambda w, m, v: w - LEARNING_RATE * (m / (1 - BETAS[0] ** t) / (np.sqrt(v / (1 - BETAS[1] ** t)) + EPSILON) + (DECAY * w if w.ndim > 1 else 0))
        weights = jax.tree.map(update, weights, *moments)
    return losses, norms, first, weights


def tensor(dtype, values):
    kinds = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "U32": np.uint32}
    values = np.asarray(values, kinds[dtype])
    return dtype, list(values.shape), values.tobytes()


def main():
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    (params, batch), key = start(), jax.random.PRNGKey(SEED)
    with jax.enable_x64(False):
        text = jax.jit(loss).lower(params, batch, key).as_text(debug_info=True)
        value32 = float(jax.jit(loss)(params, batch, key))
    (place / f"{NAME}.mlir").write_text(text.replace(f"{Path(__file__).resolve().parent}/", ""))
    losses, norms, grads, weights = train(params, batch, key)
    data = {f"params.{name}": tensor("F32", leaf) for name, leaf in sorted(flat(params).items())}
    data |= {f"batch.{name}": tensor("I32", leaf) for name, leaf in batch.items()} | {"key": tensor("U32", key)}
    make_inputs.write(place / f"{NAME}.safetensors", data)
    golden = {"loss.f64": tensor("F64", losses[0]), "loss.f32": tensor("F32", value32), "grad_norm64": tensor("F64", norms[0]),
              "train.loss": tensor("F32", losses), "train.grad_norm": tensor("F32", norms)}
    golden |= {f"grads64.{name}": tensor("F32", leaf) for name, leaf in sorted(flat(grads).items())}
    for name, leaf in sorted(flat(weights).items()):
        golden[f"change.{name}"], golden[f"change_step.{name}"] = make_inputs.change(tensor("F32", leaf), data[f"params.{name}"])
    make_inputs.write(place / f"{NAME}.golden.safetensors", golden)
    described = {"name": NAME, "family": "gpt2", "hyper": {"layers": LAYERS, "d": WIDTH, "heads": HEADS, "vocab": VOCABULARY, "batch": BATCH, "seq": SEQUENCE}, "seed": SEED,
                 "parameters": sum(leaf.size for leaf in flat(params).values()), "batch": {name: f"{BATCH}x{SEQUENCE}xint32" for name in ("x", "y")}, "unused_arguments": [],
                 "features": ["dropout of embeddings, attention weights and branches, by threefry from a key"], "goldens": "jax.grad"}
    (place / f"{NAME}.json").write_text(json.dumps(described, indent=1) + "\n")


if __name__ == "__main__":
    main()
