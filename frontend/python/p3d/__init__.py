"""Exporters of loss functions for p3dc: p3d.jax_export and p3d.torch_export."""
