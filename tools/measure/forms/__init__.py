# SPDX-License-Identifier: Apache-2.0
"""The single-op models that single_ops.py times: families of forms, each a generator."""

from . import layers, reported
from .form import Fed, Form

FAMILIES = (*layers.FAMILIES, *reported.FAMILIES)

__all__ = ["FAMILIES", "Fed", "Form"]
