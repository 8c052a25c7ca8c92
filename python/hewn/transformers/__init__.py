# SPDX-License-Identifier: Apache-2.0
"""Compiles models of Hugging Face transformers.

A compiled model is an object of the model's class whose forward runs a library, so that
transformers' `pipeline` and `generate` accept it.

    from hewn.transformers import AutoModelForSequenceClassification
    model = AutoModelForSequenceClassification.from_pretrained("a folder or a name of the hub")
    pipeline("text-classification", model=model, tokenizer=tokenizer)

Imports torch and transformers: hewn itself does not import this package.
"""

from __future__ import annotations

from typing import Any

from ..frontends import is_there

NEEDS = ("torch", "onnxscript", "transformers")
missing = [package for package in NEEDS if not is_there(package)]
if missing:
    raise ModuleNotFoundError(
        f"hewn.transformers requires {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed: "
        "pip install 'hewn-compiler[transformers]'",
        name=missing[0],
    )

import transformers  # noqa: E402

from .exporting import UnsupportedModel  # noqa: E402
from .running import Compiled, compiled  # noqa: E402

# The supported Auto classes of transformers, by the head of the model.
HEADS = (
    "AutoModel",
    "AutoModelForCausalLM",
    "AutoModelForMaskedLM",
    "AutoModelForMultipleChoice",
    "AutoModelForQuestionAnswering",
    "AutoModelForSequenceClassification",
    "AutoModelForTokenClassification",
)

__all__ = [*HEADS, "UnsupportedModel", "compiled"]


class _Auto:
    """An Auto class of transformers that compiles its models.

    Options of `compiled` are passed by `hewn={...}`.
    """

    auto: str

    def __init__(self) -> None:
        raise OSError(f"{type(self).__name__} must be created by from_pretrained(name) or from_config(config)")

    @classmethod
    def from_pretrained(
        cls, name: object, *args: object, hewn: dict[str, Any] | None = None, **options: object
    ) -> Compiled:
        """Loads and compiles a model from a folder or a name of the hub, with the options of transformers."""
        model = getattr(transformers, cls.auto).from_pretrained(name, *args, **options)
        found: Compiled = compiled(model, **(hewn or {}))
        return found

    @classmethod
    def from_config(
        cls, config: transformers.PretrainedConfig, hewn: dict[str, Any] | None = None, **options: object
    ) -> Compiled:
        """Creates a model with random weights and compiles it."""
        found: Compiled = compiled(getattr(transformers, cls.auto).from_config(config, **options), **(hewn or {}))
        return found


globals().update({name: type(name, (_Auto,), {"auto": name, "__doc__": _Auto.__doc__}) for name in HEADS})
