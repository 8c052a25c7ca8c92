# SPDX-License-Identifier: Apache-2.0
"""Wraps a model of transformers as a torch.nn.Module for torch's exporter.

The arguments and results of the module are positional tensors.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import torch
import transformers

BATCH, LENGTH, PAST = 2, 5, 3  # dims of the example inputs: all different, none is 1


class UnsupportedModel(TypeError):
    """The model of transformers is not supported."""


@dataclasses.dataclass
class Interface:
    """Inputs and outputs of the exported model, in order.

    `layers` is the number of layers of the cache, or 0. `counts_positions`: if positions are not
    given, the model uses consecutive positions, independent of tokens and mask.
    """

    inputs: list[str]
    outputs: list[str]
    layers: int
    example: tuple[torch.Tensor, ...]
    dynamic: tuple[dict[int, object], ...]
    counts_positions: bool = True

    @property
    def given(self) -> list[str]:
        """The inputs of the exported model other than the tensors of the key-value cache."""
        return self.inputs[: len(self.inputs) - 2 * self.layers]


class Flat(torch.nn.Module):
    """A model with positional tensors as arguments and results."""

    def __init__(self, model: transformers.PreTrainedModel, interface: Interface) -> None:
        super().__init__()
        self.model, self.interface = model, interface

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Runs the model on tensors in the order of the interface."""
        given = self.interface.given
        arguments = dict(zip(given, tensors))
        if self.interface.layers:
            cache = transformers.DynamicCache()
            past = tensors[len(given) :]
            for layer in range(self.interface.layers):
                cache.update(past[2 * layer], past[2 * layer + 1], layer)
            result = self.model(**arguments, past_key_values=cache, use_cache=True, return_dict=True)
            kept = [tensor for layer in result.past_key_values.layers for tensor in (layer.keys, layer.values)]
            return result.logits, *kept
        result = self.model(**arguments, return_dict=True)
        return tuple(result[name] for name in self.interface.outputs)


def _expect_text(model: transformers.PreTrainedModel) -> None:
    name = type(model).__name__
    if model.config.is_encoder_decoder:
        raise UnsupportedModel(
            f"{name} has an encoder and a decoder, which hewn.transformers does not support; "
            "use torch.compile(model, backend='hewn')"
        )
    if model.main_input_name != "input_ids":
        raise UnsupportedModel(
            f"{name} reads {model.main_input_name}, but hewn.transformers only supports models of tokens; "
            "use hewn.compile(model, example_inputs=...)"
        )
    kept = [what for what in ("output_hidden_states", "output_attentions") if getattr(model.config, what, False)]
    if kept:
        raise UnsupportedModel(f"the config of {name} sets {' and '.join(kept)}, which compiled models do not support")


def _counts_positions(model: transformers.PreTrainedModel) -> bool:
    """Runs the model on a row that begins with padding.

    Returns True if its default positions are 0, 1, 2, ...
    """
    tokens = torch.arange(1, 1 + LENGTH).expand(BATCH, LENGTH).remainder(model.config.vocab_size).contiguous()
    mask = torch.ones((BATCH, LENGTH), dtype=torch.int64)
    mask[0, 0] = 0
    with torch.no_grad():
        own = model(input_ids=tokens, attention_mask=mask, return_dict=True).logits
        counted = model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=torch.arange(LENGTH).expand(BATCH, LENGTH),
            return_dict=True,
        ).logits
    return bool(torch.allclose(own, counted, equal_nan=True))


def generates(model: transformers.PreTrainedModel) -> bool:
    """Returns True for a decoder with a cache of keys and values."""
    return model.can_generate() and "past_key_values" in inspect.signature(model.forward).parameters


def _cache_of(model: transformers.PreTrainedModel) -> list[torch.Tensor]:
    """Runs the model on some tokens and returns their keys and values, whose dims depend on the model."""
    tokens = torch.zeros((BATCH, PAST), dtype=torch.int64)
    with torch.no_grad():
        cache = model(input_ids=tokens, use_cache=True, return_dict=True).past_key_values
    layers: Any = getattr(cache, "layers", None)
    plain = layers and all(type(layer).__name__ == "DynamicLayer" for layer in layers)
    if not plain:
        kinds = sorted({type(layer).__name__ for layer in layers or [cache]})
        raise UnsupportedModel(
            f"{type(model).__name__} has a cache of {', '.join(kinds)}, but hewn.transformers only supports caches of all keys and values"
        )
    return [tensor for layer in layers for tensor in (layer.keys, layer.values)]


def interface_of(model: transformers.PreTrainedModel) -> Interface:
    """Returns the interface: tokens, their mask, and the other supported arguments of the model's forward.

    Raises UnsupportedModel for other models.
    """
    _expect_text(model)
    parameters = inspect.signature(model.forward).parameters
    auto = torch.export.Dim.DYNAMIC
    past = _cache_of(model) if generates(model) else []
    total = LENGTH + (PAST if past else 0)
    example = {"input_ids": torch.ones((BATCH, LENGTH), dtype=torch.int64)}
    dynamic = {"input_ids": {0: auto, 1: auto}}
    if "attention_mask" in parameters:
        example["attention_mask"] = torch.ones((BATCH, total), dtype=torch.int64)
        dynamic["attention_mask"] = {0: auto, 1: auto}
    if "token_type_ids" in parameters and not past and getattr(model.config, "type_vocab_size", 0) > 1:
        example["token_type_ids"] = torch.zeros((BATCH, LENGTH), dtype=torch.int64)
        dynamic["token_type_ids"] = {0: auto, 1: auto}
    counts_positions = True
    if "position_ids" in parameters and past:
        counts_positions = _counts_positions(model)
        example["position_ids"] = torch.arange(PAST, PAST + LENGTH).expand(BATCH, LENGTH).contiguous()
        dynamic["position_ids"] = {0: auto, 1: auto}
    if past:
        outputs = ["logits"]
    else:
        with torch.no_grad():
            result = model(**example, return_dict=True)
        outputs = [name for name, value in result.items() if isinstance(value, torch.Tensor)]
    for index, tensor in enumerate(past):
        name = f"past.{index // 2}.{('key', 'value')[index % 2]}"
        example[name], dynamic[name] = tensor, {0: auto, 2: auto}
        outputs.append(name.replace("past", "present"))
    return Interface(
        list(example), outputs, len(past) // 2, tuple(example.values()), tuple(dynamic.values()), counts_positions
    )
