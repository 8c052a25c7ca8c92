# SPDX-License-Identifier: Apache-2.0
"""Execution providers: the CPU is the only one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

CPU = "CPUExecutionProvider"


def get_available_providers() -> list[str]:
    """Returns the available providers."""
    return [CPU]


def get_all_providers() -> list[str]:
    """Returns all known providers, which are the available ones."""
    return [CPU]


def get_device() -> str:
    """Returns the device of models."""
    return "CPU"


def check(providers: object, options: object, stacklevel: int) -> None:
    """Checks the provider arguments of a session.

    Warns about unavailable providers, like onnxruntime; the CPU replaces them. Raises ValueError
    for invalid arguments.
    """
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
