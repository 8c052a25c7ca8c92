# SPDX-License-Identifier: Apache-2.0
"""Pooling over long windows, which the importer reduces in steps or one dim at a time."""

import numpy as np
import pytest
from numeric import check, compiled, oracle
from onnx import parser

HEAD = '<ir_version: 8, opset_import: ["" : 19]>\n'
MAXIMA = [
    ("4000", "kernel_shape=[51], pads=[25, 25]"),
    ("4000", "kernel_shape=[201], pads=[0, 100]"),
    ("4000", "kernel_shape=[1001], pads=[500, 500]"),
    ("4000", "kernel_shape=[64]"),
    ("4000", "kernel_shape=[300], strides=[3], dilations=[2], pads=[20, 7], ceil_mode=1"),
    ("4000", 'kernel_shape=[51], strides=[2], auto_pad="SAME_UPPER"'),
    ("4000", "kernel_shape=[201], strides=[16], pads=[100, 100]"),
    ("4000", "kernel_shape=[50], strides=[24], pads=[3, 30], ceil_mode=1"),
    ("64, 80", "kernel_shape=[31, 70], pads=[15, 0, 15, 22]"),
]
AVERAGES = [
    ("4000", "kernel_shape=[201], pads=[100, 100]"),
    ("4000", "kernel_shape=[51], strides=[3], pads=[25, 25], count_include_pad=1"),
    ("4000", "kernel_shape=[201], strides=[16], pads=[100, 100]"),
    ("4000", "kernel_shape=[1001], strides=[12], pads=[500, 77], ceil_mode=1"),
    ("4000", "kernel_shape=[64], strides=[64]"),
    ("4000", "kernel_shape=[67], strides=[4], dilations=[3], pads=[66, 20]"),
    ("3", "kernel_shape=[101], pads=[100, 100]"),
    ("100, 90", "kernel_shape=[20, 65], strides=[10, 1], pads=[5, 0, 12, 32], count_include_pad=1"),
    ("64, 80", "kernel_shape=[31, 31], pads=[15, 15, 15, 15]"),
    ("64, 80", "kernel_shape=[31, 4], strides=[2, 3], pads=[2, 1, 2, 1], ceil_mode=1, count_include_pad=1"),
    ("12, 13, 14", "kernel_shape=[7, 7, 7], pads=[3, 3, 3, 0, 1, 2]"),
]


NORMS = [("4000", "kernel_shape=[120], strides=[8], pads=[60, 60], p=1")]
FORMS = [
    (op, *form) for op, forms in (("MaxPool", MAXIMA), ("AveragePool", AVERAGES), ("LpPool", NORMS)) for form in forms
]


@pytest.mark.parametrize("size", ["static", "dynamic"])
@pytest.mark.parametrize("op, extents, attributes", FORMS)
def test_long_windows(op, extents, attributes, size):
    rank = len(extents.split(","))
    result = ", ".join("uvw"[:rank])
    dims = extents if size == "static" else ", ".join("abc"[:rank])
    text = f"g (float[1, 3, {dims}] x) => (float[1, 3, {result}] y) {{ y = {op} <{attributes}> (x) }}"
    model = parser.parse_model(HEAD + text)
    x = np.random.default_rng(0).standard_normal((1, 3, *map(int, extents.split(",")))).astype(np.float32)
    x[0, 0, ..., 2] = -np.inf if op == "MaxPool" else 0
    feeds = {"x": x}
    check(list(compiled(model).run(feeds).values()), oracle(model, feeds))
