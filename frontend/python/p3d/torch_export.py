"""Exports the loss of a PyTorch module for p3dc, through torchax:

    from p3d import torch_export
    torch_export.save(loss, model, batch, "model")

writes model.mlir, the StableHLO text of `loss(model, batch)`, and model.safetensors, the parameters and the batch under their
names (those of `model.named_parameters()`). `loss` returns a scalar, or a scalar and metrics; `batch` is a dictionary of tensors.
Buffers become constants of the text. Call `model.eval()` first if there is dropout.
"""
import jax
import torch
import torchax
from torchax import interop

from p3d import jax_export


class _Loss(torch.nn.Module):
    """`loss` as a module, so that the parameters of `model` can be replaced for one call."""

    def __init__(self, loss, model):
        super().__init__()
        self.loss, self.model = loss, model

    def forward(self, batch):
        return self.loss(self.model, batch)


def _arrays(tensors):
    """As JAX arrays of p3dc's integers: 32 bits, which hold any token."""
    def convert(tensor):
        tensor = tensor.detach()
        return jax.numpy.asarray((tensor.to(torch.int32) if tensor.dtype == torch.int64 else tensor).numpy())

    return {name: convert(tensor) for name, tensor in tensors.items()}


def save(loss, model, batch, path):
    """Writes PATH.mlir and PATH.safetensors."""
    module = _Loss(loss, model)
    prefix = "model."
    params = {name.removeprefix(prefix): tensor for name, tensor in module.named_parameters()}
    buffers = {name: tensor.detach() for name, tensor in module.named_buffers()}

    def functional(params, batch):
        with torchax.default_env():
            constants = {name: tensor.to("jax") for name, tensor in buffers.items()}
            given = {prefix + name: tensor for name, tensor in params.items()}
            # A parameter used twice (a tied embedding) has one name and is replaced in both places.
            return torch.func.functional_call(module, {**constants, **given}, (batch,), tie_weights=True)

    jax_export.save(interop.jax_view(functional), _arrays(params), _arrays(batch), path)
