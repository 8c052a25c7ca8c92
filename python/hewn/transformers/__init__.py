# SPDX-License-Identifier: Apache-2.0
"""Models of Hugging Face's transformers, compiled: objects of the model's own class whose forward is a library, so that `pipeline` and `generate`,
which are transformers' own code, take them.

    from hewn.transformers import AutoModelForSequenceClassification
    model = AutoModelForSequenceClassification.from_pretrained("a folder or a name of the hub")
    pipeline("text-classification", model=model, tokenizer=tokenizer)

Imports torch and transformers: hewn itself does not import this package.
"""

from __future__ import annotations

from ..frontends import is_there

NEEDS = ("torch", "onnxscript", "transformers")
missing = [package for package in NEEDS if not is_there(package)]
if missing:
    raise ModuleNotFoundError(
        f"hewn.transformers wants {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed: "
        "pip install 'hewn-compiler[transformers]'",
        name=missing[0],
    )

import transformers  # noqa: E402

from .exporting import UnsupportedModel  # noqa: E402
from .running import compiled  # noqa: E402

# As transformers names them: what a model is for is its head.
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
    """One of transformers' Auto classes, whose models are compiled. Options that are hewn's (`compiled`) go by `hewn={...}`."""

    auto: str

    def __init__(self) -> None:
        raise OSError(f"{type(self).__name__} is made by from_pretrained(name) or from_config(config)")

    @classmethod
    def from_pretrained(cls, name: object, *args: object, hewn: dict | None = None, **options: object):
        """As transformers has it: a folder, or a name of the hub, and options."""
        return compiled(getattr(transformers, cls.auto).from_pretrained(name, *args, **options), **(hewn or {}))

    @classmethod
    def from_config(cls, config: transformers.PretrainedConfig, hewn: dict | None = None, **options: object):
        """With weights that are drawn."""
        return compiled(getattr(transformers, cls.auto).from_config(config, **options), **(hewn or {}))


globals().update({name: type(name, (_Auto,), {"auto": name, "__doc__": _Auto.__doc__}) for name in HEADS})
