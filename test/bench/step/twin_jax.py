"""GPT-2's training step in JAX: twin_jax.py MODEL.json TPxDP THREADS; see step.py for the protocol.

With more than one device, which are parts of the host, XLA partitions the step: Megatron's cut over tp, the batch over dp.
"""
import json
import os
import sys
import time

m, (tp, dp) = json.loads(sys.argv[1]), map(int, sys.argv[2].split("x"))
os.environ["JAX_PLATFORMS"] = "cpu"
if tp * dp > 1:
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={tp * dp}"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

width, heads, layers, vocabulary = m["width"], m["heads"], m["layers"], m["vocabulary"]
head = width // heads
SHAPES = {  # of a layer: shape and cut
    "ln_1": ((2, width), P()), "ln_2": ((2, width), P()),
    "qkv": ((width, 3, heads, head), P(None, None, "tp")), "qkv_bias": ((3, heads, head), P(None, "tp")),
    "out": ((heads, head, width), P("tp")), "out_bias": ((width,), P()),
    "up": ((width, 4 * width), P(None, "tp")), "up_bias": ((4 * width,), P("tp")),
    "down": ((4 * width, width), P("tp")), "down_bias": ((width,), P()),
}


def initialise(rng):
    def make(name, shape):
        if name.startswith("ln"):
            return np.stack([np.ones(width, np.float32), np.zeros(width, np.float32)])
        return np.zeros(shape, np.float32) if "bias" in name else rng.normal(0, 0.02, shape).astype(np.float32)
    return {"wte": make("wte", (vocabulary, width)), "wpe": make("wpe", (m["positions"], width)), "ln_f": make("ln_f", ()),
            "layers": [{name: make(name, shape) for name, (shape, _) in SHAPES.items()} for _ in range(layers)]}


def norm(x, p):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p[0] + p[1]


def loss_of(params, tokens):
    s = tokens.shape[1]
    x = params["wte"][tokens] + params["wpe"][:s]
    hidden = jnp.tril(jnp.ones((s, s), bool))
    for p in params["layers"]:
        q, k, v = jnp.moveaxis(jnp.einsum("bsd,dche->bsche", norm(x, p["ln_1"]), p["qkv"]) + p["qkv_bias"], 2, 0)
        scores = jnp.where(hidden, jnp.einsum("bshe,bthe->bhst", q, k) * head**-0.5, -jnp.inf)
        y = jnp.einsum("bhst,bthe->bshe", jax.nn.softmax(scores), v)
        x = x + jnp.einsum("bshe,hed->bsd", y, p["out"]) + p["out_bias"]
        x = x + jax.nn.gelu(norm(x, p["ln_2"]) @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]
    logits = jax.nn.log_softmax(norm(x, params["ln_f"]) @ params["wte"].T)
    return -jnp.take_along_axis(logits[:, :-1], tokens[:, 1:, None], -1).mean()


def step(state, tokens):
    params, first, second, count = state
    loss, grads = jax.value_and_grad(loss_of)(params, tokens)
    length = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    scale, count = jnp.minimum(1, 1 / length), count + 1
    first = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * scale * g, first, grads)
    second = jax.tree.map(lambda a, g: 0.95 * a + 0.05 * (scale * g) ** 2, second, grads)

    def update(p, a, b):
        decay = 1 - 1e-3 * 0.1 if p.ndim > 1 else 1.0
        return decay * p - 1e-3 * a / (1 - 0.9**count) / (jnp.sqrt(b / (1 - 0.95**count)) + 1e-8)
    return (jax.tree.map(update, params, first, second), first, second, count), loss


def main():
    mesh = Mesh(np.array(jax.devices()).reshape(dp, tp), ("dp", "tp"))
    cut = {"wte": P("tp") if vocabulary % tp == 0 else P(), "wpe": P(), "ln_f": P(),
           "layers": [{name: spec for name, (_, spec) in SHAPES.items()} for _ in range(layers)]}
    place = jax.tree.map(lambda spec: NamedSharding(mesh, spec), cut, is_leaf=lambda x: isinstance(x, P))
    rng = np.random.default_rng(1)
    params = jax.tree.map(jax.device_put, initialise(rng), place)
    zeros = lambda: jax.tree.map(lambda p: jnp.zeros_like(p), params)
    state = (params, zeros(), zeros(), jnp.float32(0))
    rows = NamedSharding(mesh, P("dp"))
    batches = [jax.device_put(rng.integers(0, vocabulary, (m["batch"], m["sequence"]), np.int32), rows) for _ in range(8)]
    train = jax.jit(step, donate_argnums=0)
    for i in range(2):
        state, loss = train(state, batches[i])
    loss.block_until_ready()
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for i in range(int(line)):
            start = time.perf_counter()
            state, loss = train(state, batches[i % len(batches)])
            jax.block_until_ready(state)
            times.append(time.perf_counter() - start)
        print(*times, flush=True)


main()
