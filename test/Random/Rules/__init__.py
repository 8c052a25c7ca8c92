# SPDX-License-Identifier: Apache-2.0
"""Rules that draw a node of each op, with operands that fit and attributes that are valid. A rule
is a function `f(graph, op)`. It raises Reject if it can't add a node."""

import importlib

RULES = {}
MICROSOFT = "com.microsoft"
ML = "ai.onnx.ml"


def rule(*names):
    def register(function):
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return register


# Modules of idioms: patterns of several nodes that occur in real networks.
IDIOMS = ("normalized", "sequences", "attention", "blocks", "pictures")
# The modules of this package, in the order in which their rules are registered.
ROOMS = (
    "elementwise",
    "views",
    "moves",
    "indices",
    "reductions",
    "contractions",
    "windows",
    "transformers",
    "quantized",
    "control",
    "classic",
    "others",
    *IDIOMS,
)


def load():
    """Imports the modules of this package, which register their rules. Returns all rules."""
    for room in ROOMS:
        importlib.import_module(f"Rules.{room}")
    return RULES
