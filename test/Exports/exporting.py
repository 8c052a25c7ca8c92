# SPDX-License-Identifier: Apache-2.0
"""Builds the torch module of an architecture with random weights from a seed, exports the module
with either of torch's exporters, and computes its results."""

from __future__ import annotations

import pathlib

import numpy as np
import torch

# Largest relative change of a weight by `moved_results`: one float32 rounding error.
STEP = 2.0**-23


def tensors(value):
    """Returns all tensors in `value`, the output of a model, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for item in value for tensor in tensors(item)]


class Flat(torch.nn.Module):
    """Wraps a model so that its inputs and outputs are flat lists of tensors."""

    def __init__(self, model, call):
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *inputs):
        return tuple(tensors(self.call(self.model, *inputs)))


def drawn(module: torch.nn.Module) -> None:
    """Replaces parameters that initializers set to a constant by random values. With the constants,
    a branch that is scaled by 0 or 1e-5, or a norm with scale 1, would hide errors."""
    statistics = [(n, b) for n, b in module.named_buffers() if n.endswith(("running_mean", "running_var"))]
    with torch.no_grad():
        for _, tensor in [*module.named_parameters(), *statistics]:
            if not tensor.is_floating_point() or tensor.numel() < 2:
                continue
            first = tensor.flatten()[0].item()
            if not torch.all(tensor == first):
                continue
            if abs(first) < 0.01:
                tensor.normal_(0, 0.1 if tensor.dim() < 2 else 0.02)
            else:
                tensor.uniform_(0.75, 1.25).mul_(first)


def module_of(architecture) -> Flat:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = Flat(architecture.build(), architecture.call).eval()
    drawn(module)
    return module.requires_grad_(False)


def results(module, feeds) -> list[np.ndarray]:
    with torch.no_grad():
        return [y.numpy(force=True).copy() for y in module(*given(feeds))]


def moved_results(module, feeds, seed: int) -> list[np.ndarray]:
    """Returns torch's results with each weight changed by at most one rounding error. Restores the
    weights afterwards."""
    generator = torch.Generator().manual_seed(seed)
    before = {name: p.clone() for name, p in module.named_parameters() if p.is_floating_point()}
    try:
        for name, p in module.named_parameters():
            if name in before:
                p.mul_(1 + STEP * (2 * torch.rand(p.shape, generator=generator) - 1))
        return results(module, feeds)
    finally:
        for name, p in module.named_parameters():
            if name in before:
                p.copy_(before[name])


def given(feeds) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(x.copy()) for x in feeds.values())


def export(module, architecture, exporter: str, path: pathlib.Path) -> None:
    feeds = architecture.feeds(architecture.sizes[0])
    names = list(feeds)
    open_dims = {name: spec.open_dims() for name, spec in architecture.inputs.items() if spec.open_dims()}
    how = {"input_names": names, "dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        if open_dims:
            how["dynamic_shapes"] = {"inputs": tuple(open_dims.get(name) for name in names)}
    else:
        how |= {"dynamic_axes": open_dims, "opset_version": 17}
    torch.onnx.export(module, given(feeds), path, **how)
