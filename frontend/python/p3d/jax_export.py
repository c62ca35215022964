"""Exports a loss function written in JAX (plain, Flax, Equinox ...) for p3dc:

    from p3d import jax_export
    jax_export.save(loss, params, batch, "model")

writes model.mlir, the StableHLO text of `loss(params, batch)`, and model.safetensors, the arrays of both under their names.
`loss` returns a scalar, or a scalar and metrics. `params` and `batch` are trees of arrays; of `jax.ShapeDtypeStruct`, if the
weights are not at hand: then only the text is written.
"""
import jax

from p3d import safetensors_file


def _key(entry):
    """What one step of a path in a tree is called: a dictionary's key, an index, an attribute."""
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    raise TypeError(f"cannot name {entry!r}, a step of a path in a tree")


def _names(tree):
    """The dotted name of each leaf, in order."""
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]
    names = [".".join(map(_key, path)) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two arrays are called {name}; rename one")
    return names


def _flat(tree):
    """The leaves of `tree` by name, and the function that makes the tree from them again."""
    names, (leaves, structure) = _names(tree), jax.tree_util.tree_flatten(tree)
    return dict(zip(names, leaves)), lambda flat: structure.unflatten(flat[name] for name in names)


def _data(leaf):
    """A key of a random generator is stored as the words in it."""
    if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return leaf


def text(loss, params, batch):
    """The StableHLO text of `loss(params, batch)`; each argument is located at params['NAME'] or batch['NAME']."""
    flat_params, nested_params = _flat(params)
    flat_batch, nested_batch = _flat(batch)

    def named(params, batch):
        return loss(nested_params(params), nested_batch(batch))

    # keep_unused: an argument that the loss does not read is still one. debug_info: the names are in the locations.
    return jax.jit(named, keep_unused=True).lower(flat_params, flat_batch).as_text(debug_info=True)


def save(loss, params, batch, path):
    """Writes PATH.mlir and, where `params` and `batch` hold data, PATH.safetensors."""
    module = text(loss, params, batch)  # first: a loss that JAX refuses leaves no file
    with open(f"{path}.mlir", "w") as file:
        file.write(module)
    tensors = {f"{root}.{name}": _data(leaf) for root, tree in (("params", params), ("batch", batch)) for name, leaf in _flat(tree)[0].items()}
    if not any(isinstance(tensor, jax.ShapeDtypeStruct) for tensor in tensors.values()):
        safetensors_file.write(f"{path}.safetensors", tensors)
