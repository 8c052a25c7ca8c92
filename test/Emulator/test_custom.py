# SPDX-License-Identifier: Apache-2.0
"""Tests custom ops in GPU models: their functions run on the host, between kernels on the
device."""

import json

import emulated
import numpy as np
import onnx
from test_custom_ops import ABOVE, AFFINE, HERE, compiled

TEXT = """<ir_version: 10, opset_import: ["" : 18, "t" : 1]> g (float[n, 4] x) => (y, places, w) {
  a = Neg(x) b = t.Affine(a) y = Abs(b) places, values = t.Above(b) w = Mul(values, values) }"""


def test_between_kernels(tmp_path):
    ops = json.dumps({"link": [compiled(tmp_path, HERE / "custom_ops.c")], "ops": [AFFINE, ABOVE]})
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    b = 1 - 2 * x
    with emulated.compiled(onnx.parser.parse_model(TEXT), custom_ops=[ops]) as module:
        for _ in range(2):
            got = module.run({"x": x})
            np.testing.assert_array_equal(got["y"], np.abs(b))
            np.testing.assert_array_equal(got["places"], np.argwhere(b > 0))
            np.testing.assert_array_equal(got["w"], b[b > 0] ** 2)
