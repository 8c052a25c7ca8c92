# SPDX-License-Identifier: Apache-2.0
"""Chains of Resize and elementwise ops: the results are correct, and each level is computed
once."""

import time

import hewn
import numpy as np
import pytest
from numeric import oracle
from onnx import TensorProto, helper, numpy_helper


def pyramid(levels, mode):
    """Builds v = relu(2 * resize(v) + s) for each level, where s is an input of the new size.
    Returns the model and its inputs."""
    rng = np.random.default_rng(3)
    nodes, feeds, info, size, last = [], {"x": rng.standard_normal((1, 2, 4, 4)).astype(np.float32)}, [], 4, "x"
    for level in range(levels):
        size *= 2
        feeds[f"s{level}"] = rng.standard_normal((1, 2, size, size)).astype(np.float32)
        resize = helper.make_node(
            "Resize", [last, "", "scales"], [f"r{level}"], mode=mode, coordinate_transformation_mode="half_pixel"
        )
        nodes += [
            resize,
            helper.make_node("Mul", [f"r{level}", "two"], [f"m{level}"]),
            helper.make_node("Add", [f"m{level}", f"s{level}"], [f"a{level}"]),
            helper.make_node("Relu", [f"a{level}"], [f"v{level}"]),
        ]
        last = f"v{level}"
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in feeds.items()]
    out = helper.make_tensor_value_info(last, TensorProto.FLOAT, (1, 2, size, size))
    constants = [
        numpy_helper.from_array(np.float32([1, 1, 2, 2]), "scales"),
        numpy_helper.from_array(np.float32(2), "two"),
    ]
    graph = helper.make_graph(nodes, "pyramid", info, [out], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), feeds


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_levels_of_resizes(mode):
    model, feeds = pyramid(4, mode)
    got = hewn.compile(model).run(feeds)["v3"]
    np.testing.assert_allclose(got, oracle(model, feeds)[0], rtol=1e-4, atol=1e-4)


def test_a_level_costs_what_it_has():
    """Each level of the chain has four times the elements of the previous level, and takes four
    times the time. If each element that a Resize interpolates recomputed its operands, it would
    take sixteen times the time."""
    times = []
    for levels in (4, 6):
        model, feeds = pyramid(levels, "linear")
        begin = time.process_time()
        module = hewn.compile(model)
        compiled = time.process_time() - begin
        module.run(feeds)
        runs = []
        for _ in range(5):
            begin = time.perf_counter()
            module.run(feeds)
            runs.append(time.perf_counter() - begin)
        times.append((compiled, min(runs)))
    (compiled4, run4), (compiled6, run6) = times
    assert run6 < 16 * 4 * run4 + 0.001
    assert compiled6 < 4 * compiled4 + 0.5
