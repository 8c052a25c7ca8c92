# SPDX-License-Identifier: Apache-2.0
"""Builds models of one node, runs them, and compares their results."""

import os

import hewn
import numpy as np
import onnx
import pytest
import retargeted
from onnx import TensorProto, helper
from sessions import oracle

MICROSOFT = "com.microsoft"


def one_node(op, inputs, outputs=1, opset=17, domain="", constants=(), **attributes):
    """Builds a model of one node. `inputs` are arrays, or None for an omitted input. Inputs whose
    index is in `constants` become initializers."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    values = [(i, n, x) for i, (n, x) in enumerate(zip(names, inputs)) if x is not None]
    graph = helper.make_graph(
        [node],
        "one",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for i, n, x in values
            if i not in constants
        ],
        [helper.make_value_info(n, onnx.TypeProto()) for n in results],
        [onnx.numpy_helper.from_array(x, n) for i, n, x in values if i in constants],
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def feeds_of(inputs, constants=()):
    return {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constants}


def compiled(model, target="host", **options):
    """Compiles and loads the model. If this processor lacks instructions of the target, AVX-512
    code runs translated to this processor's instructions (retargeted.py); otherwise the test is
    skipped with the reason."""
    try:
        return hewn.compile(model, target=target, **options)
    except hewn.RunError as error:
        if "this machine lacks" not in str(error):
            raise
        if target.startswith(("x86-64-v4", "icelake-server", "sapphirerapids")) and "HEWN_PROCESSOR" not in os.environ:
            return retargeted.compiled(model, target, **options)
        pytest.skip(f"this machine can't run code for {target}: {error}")


def run(model, feeds, target="host"):
    """Runs a compiled model and returns its results in the order of the model's outputs."""
    return list(compiled(model, target).run(feeds).values())


def check(got, want, rtol=1e-5, atol=1e-6):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        b = np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, f"{a.dtype}{a.shape}, wanted {b.dtype}{b.shape}"
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


__all__ = ["MICROSOFT", "TensorProto", "check", "compiled", "feeds_of", "one_node", "oracle", "run"]
