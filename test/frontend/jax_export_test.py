#!/usr/bin/env python3
"""Exports a loss with frontend/python and checks that text and weights name the same arguments. Skipped (77) without JAX."""
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "frontend" / "python"))
sys.dont_write_bytecode = True
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("skipped: this Python has no JAX")
    sys.exit(77)
from p3d import jax_export

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Inputs"))
import make_inputs


def loss(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean((x - batch["y"]) ** 2), {"largest": jnp.max(x)}


params = {"layers": [{"w": jnp.ones((4, 4)), "b": jnp.zeros(4)} for _ in range(2)]}
batch = {"x": jnp.ones((8, 4)), "y": jnp.zeros((8, 4)), "unused": jnp.zeros(8, jnp.int32)}
expected = ["params.layers.0.b", "params.layers.0.w", "params.layers.1.b", "params.layers.1.w", "batch.unused", "batch.x", "batch.y"]

with tempfile.TemporaryDirectory() as directory:
    path = Path(directory) / "model"
    jax_export.save(loss, params, batch, path)
    main = next(line for line in path.with_suffix(".mlir").read_text().splitlines() if "@main(" in line)
    named = [f"{root}.{name}" for root, name in re.findall(r"loc\(\"(params|batch)\['([^']*)'\]\"\)", main)]
    stored = make_inputs.read(path.with_suffix(".safetensors"))
    assert named == expected, named
    assert list(stored) == expected, list(stored)
    assert stored["params.layers.0.w"][:2] == ("F32", [4, 4]) and stored["batch.unused"][:2] == ("I32", [8])

    shapes = jax.tree_util.tree_map(lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype), params)
    other = Path(directory) / "shapes"
    jax_export.save(loss, shapes, batch, other)
    assert other.with_suffix(".mlir").exists() and not other.with_suffix(".safetensors").exists()

    refused = Path(directory) / "refused"
    try:
        jax_export.save(lambda params, batch: batch["nothing"], params, batch, refused)
    except KeyError:
        pass
    assert not refused.with_suffix(".mlir").exists()


def expect(error, message, call, *arguments):
    """`call(*arguments)` refuses with `message`."""
    try:
        call(*arguments)
    except error as raised:
        assert message in str(raised), raised
    else:
        raise AssertionError(f"no error: {message}")


expect(ValueError, "two arrays are called a.b; rename one", jax_export.text, loss, {"a.b": jnp.ones(2), "a": {"b": jnp.ones(2)}}, batch)
expect(TypeError, "cannot name 7, a step of a path in a tree", jax_export._key, 7)
with tempfile.TemporaryDirectory() as directory:
    path = Path(directory) / "complex.safetensors"
    expect(TypeError, "params.w: safetensors has no type for complex64", jax_export.safetensors_file.write, path,
           {"params.w": jnp.ones(2, jnp.complex64)})
    assert not path.exists()
