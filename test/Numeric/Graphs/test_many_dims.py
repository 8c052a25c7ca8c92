# SPDX-License-Identifier: Apache-2.0
"""Models with dozens of symbolic dims: large concats, named dims, and kernels that share many
dims."""

import hewn
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

random = np.random.default_rng(16)


def compiled(nodes, inputs):
    """Builds and compiles a model with output `y` from inputs with these dims; strings are symbolic
    dims."""
    infos = [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in inputs.items()]
    graph = helper.make_graph(nodes, "graph", infos, [helper.make_value_info("y", onnx.TypeProto())])
    return hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [64, 65, 150])
def test_concat(count, axis):
    """Concatenates inputs of dynamic lengths, including 0 and 1. Column counts are not multiples of
    the vector length."""
    dims = [["rows", f"d{i}"] if axis else [f"d{i}", 3] for i in range(count)]
    nodes = [helper.make_node("Concat", [f"x{i}" for i in range(count)], ["y"], axis=axis)]
    module = compiled(nodes, {f"x{i}": (TensorProto.FLOAT, d) for i, d in enumerate(dims)})
    for _ in range(3):
        lengths = random.integers(0, 5, count)
        x = [floats(2, n) if axis else floats(n, 3) for n in lengths]
        np.testing.assert_array_equal(module.run({f"x{i}": v for i, v in enumerate(x)})["y"], np.concatenate(x, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_parts(axis):
    """One kernel splits a tensor and concatenates the parts in the opposite order. The last part is
    smaller, or empty."""
    count = 20
    names = [f"v{i}" for i in range(count)]
    nodes = [
        helper.make_node("Split", ["x"], names, axis=axis, num_outputs=count),
        helper.make_node("Concat", names[::-1], ["y"], axis=axis),
    ]
    module = compiled(nodes, {"x": (TensorProto.FLOAT, [5, "n"] if axis else ["n", 5])})
    for length in (20, 40, 59, 60, 381):
        x = floats(5, length) if axis else floats(length, 5)
        part = -(-length // count)
        parts = [np.take(x, np.arange(i * part, min(length, (i + 1) * part)), axis) for i in range(count)]
        np.testing.assert_array_equal(module.run({"x": x})["y"], np.concatenate(parts[::-1], axis))


def test_chains_of_broadcasts():
    """If more than eight different dims broadcast to one, the compiler gives the result a symbol of
    its own."""
    count = 40
    nodes = [helper.make_node("Max", [f"x{i}" for i in range(count)], ["y"])]
    module = compiled(nodes, {f"x{i}": (TensorProto.FLOAT, [f"d{i}", 3]) for i in range(count)})
    for rows in (1, 4):
        x = [floats(rows if i % 3 == 0 else 1, 3) for i in range(count)]
        want = x[0]
        for value in x[1:]:
            want = np.maximum(want, value)
        np.testing.assert_array_equal(module.run({f"x{i}": v for i, v in enumerate(x)})["y"], want)
    with pytest.raises(hewn.RunError, match="Max"):
        module.run({f"x{i}": floats(2 + i % 2, 3) for i in range(count)})


def test_deep_divisions():
    """The model computes a dim by more nested divisions than a dim expression may contain."""
    count = 20
    names = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"]
    window = {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}
    nodes = [helper.make_node("MaxPool", [names[i]], [names[i + 1]], **window) for i in range(count)]
    module = compiled(nodes, {"x": (TensorProto.FLOAT, [1, 1, "n"])})
    for length in (1, 2, 1000, 1 << 14):
        x = floats(1, 1, length)
        np.testing.assert_array_equal(module.run({"x": x})["y"], x.max(keepdims=True))


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", [[0, 1, 2], [6, 0, -4], [-1, -2, -3]])
def test_axes_that_a_run_tells(axes, keep):
    nodes = [helper.make_node("ReduceLogSum", ["x", "a"], ["y"], keepdims=keep)]
    inputs = {"x": (TensorProto.FLOAT, [f"d{i}" for i in range(7)]), "a": (TensorProto.INT64, [3])}
    module = compiled(nodes, inputs)
    x = np.abs(floats(2, 3, 1, 2, 4, 1, 3)) + 0.1
    want = np.log(x.sum(axis=tuple(axes), keepdims=bool(keep)))
    np.testing.assert_allclose(module.run({"x": x, "a": np.array(axes)})["y"], want, rtol=1e-5)


def test_products_of_two_dozen_dims():
    """A tensor has two dozen dims. With sizes beyond 1 or 2, its number of elements overflows 64
    bits, which ends the run with an error."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    nodes = [helper.make_node("Einsum", ["x", "z"], ["y"], equation=f"{letters},{letters}->{letters[::-1]}")]
    dims = [f"d{letter}" for letter in letters]
    module = compiled(nodes, {"x": (TensorProto.FLOAT, dims), "z": (TensorProto.FLOAT, dims)})
    x, z = (floats(*[2, 3, 2], *[1] * 23) for _ in range(2))
    np.testing.assert_allclose(module.run({"x": x, "z": z})["y"], (x * z).transpose(), rtol=1e-6)


def test_levels_of_resizes():
    """Nested Resize ops with dynamic sizes give onnxruntime's results."""
    count = 6
    names = ["x"] + [f"v{i}" for i in range(count - 1)] + ["y"]
    nodes = [
        helper.make_node("Resize", [names[i], "", "", f"s{i}"], [names[i + 1]], mode="linear") for i in range(count)
    ]
    inputs = {"x": (TensorProto.FLOAT, [1, 1, "n"])} | {f"s{i}": (TensorProto.INT64, [3]) for i in range(count)}
    module = compiled(nodes, inputs)
    want = x = floats(1, 1, 9)
    sizes = [int(n) for n in random.integers(3, 20, count)]
    for size in sizes:
        at = np.clip((np.arange(size) + 0.5) * want.shape[2] / size - 0.5, 0, want.shape[2] - 1)
        want = np.interp(at, np.arange(want.shape[2]), want[0, 0])[None, None]
    got = module.run({"x": x} | {f"s{i}": np.array([1, 1, size]) for i, size in enumerate(sizes)})["y"]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
