# SPDX-License-Identifier: Apache-2.0
"""Execution providers: there is one, the processor that this process runs on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

CPU = "CPUExecutionProvider"


def get_available_providers() -> list[str]:
    """What runs models here."""
    return [CPU]


def get_all_providers() -> list[str]:
    """The same: there are no others."""
    return [CPU]


def get_device() -> str:
    """What models run on."""
    return "CPU"


def check(providers: object, options: object, stacklevel: int) -> None:
    """Looks at the two arguments of a session. A provider that is not there is a warning, as with onnxruntime, and the processor takes its place; what is
    no list of providers is ValueError."""
    if providers is None:
        return
    if isinstance(providers, str) or not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    if options is not None:
        if not isinstance(options, Sequence):
            raise ValueError("'provider_options' should be a sequence.")
        if len(options) != len(providers):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(provider, str) for provider in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(each, Mapping) for each in options):
            raise ValueError("'provider_options' values must be dicts.")
    names = []
    for provider in providers:
        is_pair = isinstance(provider, tuple) and len(provider) == 2 and isinstance(provider[1], Mapping)
        name = provider[0] if is_pair else provider
        if not isinstance(name, str):
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        names.append(name)
    for name in names:
        if name != CPU:
            told = f"Specified provider '{name}' is not in available provider names.Available providers: '{CPU}'"
            warnings.warn(told, UserWarning, stacklevel=stacklevel + 1)
