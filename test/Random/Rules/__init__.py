# SPDX-License-Identifier: Apache-2.0
"""How a node of each op is drawn: operands that fit, attributes in their range. A rule is `f(graph, op)`, or raises Reject."""

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


# Rooms of idioms: what whole networks have, of many nodes each.
IDIOMS = ("normalized", "sequences", "attention", "blocks", "pictures")
# The rooms: modules of this package, in the order in which their rules come.
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
    """All rules; the modules register theirs."""
    for room in ROOMS:
        importlib.import_module(f"Rules.{room}")
    return RULES
