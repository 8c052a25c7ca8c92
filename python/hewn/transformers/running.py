# SPDX-License-Identifier: Apache-2.0
"""An object of a model's class without torch weights, whose forward runs a library."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import torch
import transformers

import hewn

from ..frontends.onnx_of_torch import evaluating
from .exporting import Flat, Interface, UnsupportedModel, interface_of

# Arguments of a model's forward that are no inputs of the compiled model: the forward implements
# them, or the length of the cache implies them.
IGNORED = {"cache_position", "logits_to_keep", "use_cache", "return_dict"}
UNSET = (None, False)


class Compiled:
    """First base class of every compiled model, so that it overrides the model's own class."""

    hewn_module: hewn.Module
    hewn_interface: Interface
    # Attributes of the model's own class.
    config: Any
    _hewn_output: Callable[..., Any]

    @property
    def device(self) -> torch.device:
        """The device of the model, always the CPU."""
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """The type of the model's logits."""
        return self.config.dtype or torch.float32

    def to(self, *args: object, **options: object) -> Compiled:
        """Returns the compiled model itself, which cannot be moved or converted.

        Raises ValueError if a device other than the CPU or another type is requested.
        """
        device, dtype, *_ = torch._C._nn._parse_to(*args, **options)
        if device is not None and device.type != "cpu":
            raise ValueError(f"a compiled model is on the CPU and cannot be moved to {device}")
        if dtype is not None and dtype != self.dtype:
            raise ValueError(f"a compiled model cannot be converted from {self.dtype}; load it with dtype={dtype}")
        return self

    def train(self, mode: bool = True) -> Compiled:
        """Raises ValueError in training mode, and otherwise returns the model."""
        if mode:
            raise ValueError("a compiled model cannot be trained")
        model: Compiled = super().train(False)  # type: ignore[misc] # torch.nn.Module is the next base class
        return model

    def save_pretrained(self, *args: object, **options: object) -> NoReturn:
        """Raises NotImplementedError, because a compiled model has no torch weights."""
        raise NotImplementedError(
            "a compiled model has no torch weights to save; use hewn.transformers.compiled(model, output='libmodel.so') to keep the library"
        )

    def _hewn_forward(self, given: dict[str, Any]) -> Any:
        """Implements the model's forward."""
        interface, name = self.hewn_interface, type(self).__name__
        input_ids = given.pop("input_ids", None)
        cache, use_cache = given.pop("past_key_values", None), given.pop("use_cache", None)
        keep, return_dict = given.pop("logits_to_keep", 0), given.pop("return_dict", True)
        feeds = {"input_ids": input_ids}
        feeds |= {key: given.pop(key) for key in interface.given if given.get(key) is not None}
        types = given.get("token_type_ids")
        if types is not None and not interface.layers and not types.any():
            given.pop("token_type_ids")  # all zero, which an encoder with one type implies
        unknown = sorted(k for k, v in given.items() if k not in IGNORED and not any(v is unset for unset in UNSET))
        if unknown or input_ids is None:
            raise UnsupportedModel(
                f"{name} is compiled for {', '.join(interface.given)}"
                + f", not for {', '.join(unknown)}" * bool(unknown)
            )
        past = self._hewn_past(cache, len(input_ids))
        length = past[0].shape[2] if past else 0
        self._hewn_complete(feeds, length)
        names = [tensor.name for tensor in self.hewn_module.inputs]
        values = {**feeds, **dict(zip(interface.inputs[len(interface.given) :], past))}
        results = self.hewn_module.run({n: values[key] for n, key in zip(names, interface.inputs)})
        found = dict(zip(interface.outputs, results.values()))
        if interface.layers:
            found = {"logits": found["logits"]} | self._hewn_kept(found, cache, use_cache)
            if isinstance(keep, int) and keep > 0:
                found["logits"] = found["logits"][:, -keep:]
            elif isinstance(keep, torch.Tensor):
                found["logits"] = found["logits"][:, keep]
        result = self._hewn_output(**found)
        return result if return_dict in (None, True) else result.to_tuple()

    def _hewn_complete(self, feeds: dict[str, Any], length: int) -> None:
        """Adds default values to `feeds` for inputs, such as the attention mask, that the caller did not pass."""
        tokens = feeds["input_ids"]
        batch, new = tokens.shape
        for key in self.hewn_interface.given:
            if key == "attention_mask":
                mask = feeds.get(key)
                if mask is None:
                    mask = torch.ones((batch, length + new), dtype=torch.int64)
                if mask.dim() != 2:
                    raise UnsupportedModel(f"{type(self).__name__} requires a mask with 2 dims, got {mask.dim()}")
                feeds[key] = mask.to(torch.int64)
            elif key == "token_type_ids" and key not in feeds:
                feeds[key] = torch.zeros_like(tokens)
            elif key == "position_ids":
                positions = feeds.get(key)
                if positions is None and not self.hewn_interface.counts_positions:
                    raise UnsupportedModel(f"{type(self).__name__} requires position_ids, as passed by generate")
                if positions is None:
                    positions = torch.arange(length, length + new)[None]
                feeds[key] = positions.expand(batch, new)
        for key, value in feeds.items():
            feeds[key] = value.contiguous()

    def _hewn_past(self, cache: transformers.DynamicCache | None, batch: int) -> list[torch.Tensor]:
        """Returns the tensors of the cache, or empty tensors if there are none yet."""
        tensors = []
        if self.hewn_interface.layers and cache is not None and type(cache) is not transformers.DynamicCache:
            raise UnsupportedModel(f"{type(self).__name__} requires a DynamicCache, got {type(cache).__name__}")
        for layer, example in enumerate(self.hewn_interface.example[len(self.hewn_interface.given) :: 2]):
            if cache is not None and cache.get_seq_length(layer):
                tensors += [cache.layers[layer].keys.contiguous(), cache.layers[layer].values.contiguous()]
            else:
                value = self.hewn_interface.example[len(self.hewn_interface.given) + 2 * layer + 1]
                tensors += [
                    tensor.new_empty((batch, tensor.shape[1], 0, tensor.shape[3])) for tensor in (example, value)
                ]
        return tensors

    def _hewn_kept(
        self, found: dict[str, Any], cache: transformers.DynamicCache | None, use_cache: bool | None
    ) -> dict[str, Any]:
        """Returns the cache with the computed keys and values, which include those of preceding tokens."""
        if use_cache is False or (use_cache is None and cache is None and not self.config.use_cache):
            return {}
        made = transformers.DynamicCache() if cache is None else cache
        for layer in range(self.hewn_interface.layers):
            keys, values = (found[f"present.{layer}.{what}"] for what in ("key", "value"))
            if cache is None or len(made.layers) <= layer or not made.get_seq_length(layer):
                made.update(keys, values, layer)
            else:
                made.layers[layer].keys, made.layers[layer].values = keys, values
        return {"past_key_values": made}


def compiled(model: transformers.PreTrainedModel, **options: object) -> Any:
    """Compiles a model of transformers.

    Returns an object of its class, with its config and generation config, whose forward runs a
    library. Does not change the given model. Options are those of hewn.compile: threads, target,
    precision, quantize, output, cache_dir, ... Raises UnsupportedModel for models whose input is
    not tokens, that have an encoder and a decoder, or that cache other data than keys and values.
    """
    if isinstance(model, Compiled) or not isinstance(model, transformers.PreTrainedModel):
        raise TypeError(f"model must be a model of transformers, got {type(model).__name__}")
    with evaluating(model):
        interface = interface_of(model)
        with torch.no_grad():
            result = (
                model(**dict(zip(interface.given, interface.example)), return_dict=True)
                if not interface.layers
                else None
            )
        module = hewn.compile(
            Flat(model, interface),
            example_inputs=interface.example,
            dynamic_shapes=(interface.dynamic,),  # a tuple for *tensors
            **{"threads": torch.get_num_threads(), **options},
        )
    kind = type(model)
    members = {"__module__": __name__, "__init__": _without_modules, "forward": _forward_of(kind)}
    made = type(kind.__name__, (Compiled, kind), members)(copy.deepcopy(model.config))
    made.generation_config = copy.deepcopy(getattr(model, "generation_config", None))
    made.hewn_module, made.hewn_interface = module, interface
    output = transformers.modeling_outputs.CausalLMOutputWithPast if interface.layers else type(result)
    made.__dict__["_hewn_output"] = output
    return made.eval()


def _without_modules(self: Any, config: transformers.PretrainedConfig) -> None:
    transformers.PreTrainedModel.__init__(self, config)


def _forward_of(kind: Any) -> Callable[..., Any]:
    """Returns a forward with the signature of the class's forward.

    `generate` derives the arguments to pass from the signature.
    """
    signature = inspect.signature(kind.forward)

    def forward(self: Any, *args: object, **options: object) -> Any:
        given = dict(signature.bind(self, *args, **options).arguments)
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                given |= given.pop(parameter.name, {})
        given.pop("self")
        return self._hewn_forward(given)

    forward.__doc__ = kind.forward.__doc__
    forward.__signature__ = signature  # type: ignore[attr-defined] # inspect.signature reads it
    return forward
