# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms compared with numpy in double precision: direct transforms, transforms
factored once or several times, transforms by the runtime function, and successive transforms."""

import hewn
import numpy as np
import pytest
from onnx import TensorProto, helper


def run(nodes, x, shape=None):
    graph = helper.make_graph(
        nodes,
        "fourier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape or x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return hewn.compile(model).run({"x": x})["y"]


def signal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def as_complex(x):
    return x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)


def check(got, expected):
    parts = np.stack([expected.real, expected.imag], -1)[..., : got.shape[-1]]
    assert got.shape == parts.shape
    np.testing.assert_allclose(got, parts, rtol=0, atol=1e-6 * np.abs(parts).max())


# Lengths of the transforms: short, prime, with one small factor, and with several factors. 128 is
# the smallest length that is factored, and 16384 is factored twice.
@pytest.mark.parametrize("length", [1, 7, 64, 127, 128, 254, 400, 768, 1004, 16384])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
def test_lengths(length, parts, inverse):
    x = signal(3, length, parts)
    y = run([helper.make_node("DFT", ["x"], ["y"], axis=1, inverse=inverse)], x)
    check(y, (np.fft.ifft if inverse else np.fft.fft)(as_complex(x), axis=1))


@pytest.mark.parametrize("length", [6, 129, 400, 1000])
def test_half(length):
    x = signal(3, length, 1)
    check(run([helper.make_node("DFT", ["x"], ["y"], axis=1, onesided=1)], x), np.fft.rfft(as_complex(x).real, axis=1))


@pytest.mark.parametrize("length", [200, 300])
def test_padded_and_cropped(length):
    x = signal(2, 5, 256, 2)
    nodes = [
        helper.make_node("Constant", [], ["n"], value_int=length),
        helper.make_node("DFT", ["x", "n"], ["y"], axis=2),
    ]
    check(run(nodes, x), np.fft.fft(as_complex(x), length, axis=2))


def test_two_dims():
    """A second transform reads the real and imaginary parts of the first. Another op may read one
    part only."""
    x = signal(2, 48, 160, 1)
    nodes = [helper.make_node("DFT", ["x"], ["a"], axis=1), helper.make_node("DFT", ["a"], ["b"], axis=2)]
    expected = np.fft.fft2(as_complex(x), axes=(1, 2))
    check(run([*nodes, helper.make_node("Identity", ["b"], ["y"])], x), expected)
    for part, of in enumerate((expected.real, expected.imag)):
        some = [
            helper.make_node("Constant", [], ["i"], value_ints=[part]),
            helper.make_node("Gather", ["b", "i"], ["y"], axis=3),
        ]
        check(run([*nodes, *some], x), of)


def model_of(nodes, shapes, element=TensorProto.FLOAT, opset=20):
    """Compiles nodes with input x of a shape per name and an int64 scalar n, and output y."""
    inputs = [helper.make_tensor_value_info(name, element, shape) for name, shape in shapes.items()]
    used = {name for node in nodes for name in node.input}
    inputs += [helper.make_tensor_value_info("n", TensorProto.INT64, [])] * ("n" in used)
    axes = [helper.make_tensor(f"axis{axis}", TensorProto.INT64, [], [axis]) for axis in range(-4, 4)]
    outputs = [helper.make_tensor_value_info("y", element, None)]
    graph = helper.make_graph(nodes, "fourier", inputs, outputs, axes)
    return hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9))


def transformed(x, axis, n, inverse, onesided):
    """Returns the result of DFT in double precision, with real and imaginary parts."""
    x = as_complex(x.astype(np.float64))
    if onesided and inverse:
        return np.fft.irfft(x, n, axis=axis)[..., None]
    y = (np.fft.ifft if inverse else np.fft.fft)(x, n, axis=axis)
    y = np.take(y, range(n // 2 + 1), axis) if onesided else y
    return np.stack([y.real, y.imag], -1)


def near(got, expected, bound):
    assert got.shape == expected.shape
    assert np.abs(got - expected).max(initial=0) <= bound * np.abs(expected).max(initial=0)


# Signals of a group, single signals, lengths with small and large prime factors, lengths of 1.
OPEN = [
    (1, 1),
    (2, 6),
    (3, 31),
    (9, 37),
    (1, 74),
    (20, 100),
    (5, 127),
    (2, 254),
    (1, 1009),
    (3, 1024),
    (1, 2002),
    (1, 6561),
]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("element", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_dynamic_lengths(parts, inverse, onesided, element):
    """The runtime function: every form along each of two axes, with lengths that pad and crop."""
    kind, bound = (np.float32, 1.5e-7) if element == TensorProto.FLOAT else (np.float64, 4e-15)
    for axis in (0, 1):
        node = helper.make_node("DFT", ["x", "n", f"axis{axis - 3}"], ["y"], inverse=inverse, onesided=onesided)
        module = model_of([node], {"x": ["a", "b", parts]}, element)
        for shape in OPEN:
            x = signal(*(shape if axis else shape[::-1]), parts).astype(kind)
            for n in {shape[1], max(1, shape[1] - 3), shape[1] + 5}:
                got = module.run({"x": x, "n": np.array(n)})["y"]
                near(got, transformed(x, axis, n, inverse, onesided), bound)


def test_lengths_of_the_operand():
    """Without a length, the transform has as many elements as the operand; an inverse to a real
    signal, twice as many but two."""
    for onesided in (0, 1):
        node = helper.make_node("DFT", ["x", "", "axis1"], ["y"], inverse=1, onesided=onesided)
        module = model_of([node], {"x": ["a", "b", 2]})
        for length in (2, 5, 65):
            x = signal(3, length, 2)
            n = 2 * (length - 1) if onesided else length
            near(module.run({"x": x})["y"], transformed(x, 1, n, 1, onesided), 2e-7)


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("length", [263, 1009, 4001, 2 * 521])
def test_large_prime_factors(length, inverse):
    """Static lengths whose matrices would have many elements."""
    x = signal(2, length, 2)
    module = model_of([helper.make_node("DFT", ["x", "", "axis1"], ["y"], inverse=inverse)], {"x": x.shape})
    near(module.run({"x": x})["y"], transformed(x, 1, length, inverse, 0), 1.5e-7)


@pytest.mark.parametrize("element", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_half_precision(element):
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=element),
        helper.make_node("DFT", ["h", "", "axis1"], ["f"]),
        helper.make_node("Cast", ["f"], ["y"], to=TensorProto.FLOAT),
    ]
    x = np.round(signal(2, 50, 1) * 4)
    got = model_of(nodes, {"x": [2, "length", 1]}).run({"x": x})["y"]
    near(got, transformed(x, 1, 50, 0, 0), 2e-3 if element == TensorProto.FLOAT16 else 2e-2)


def test_long_signal():
    """A long transform of dynamic length takes memory proportional to its length."""
    module = model_of([helper.make_node("DFT", ["x", "", "axis1"], ["y"], onesided=1)], {"x": [1, "length", 1]})
    x = signal(1, 131072, 1)
    near(module.run({"x": x})["y"], transformed(x, 1, x.size, 0, 1), 1.5e-7)


def test_rows_are_independent():
    """A quiet signal keeps its accuracy next to a loud one, and NaN stays in its row."""
    module = model_of([helper.make_node("DFT", ["x", "", "axis1"], ["y"])], {"x": ["a", "b", 1]})
    x = signal(9, 96, 1)
    x[2] *= 1e30
    x[4, 5] = np.nan
    got = module.run({"x": x})["y"]
    for row in {*range(9)} - {4}:
        near(got[row], transformed(x[row : row + 1], 1, 96, 0, 0)[0], 1.5e-7)
    assert np.isnan(got[4]).all()


def test_threads_and_repeated_runs():
    node = helper.make_node("DFT", ["x", "", "axis1"], ["y"])
    graph = helper.make_graph(
        [node],
        "fourier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["a", "b", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("axis1", TensorProto.INT64, [], [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    one, three = (hewn.compile(model, threads=threads) for threads in (1, 3))
    for shape in ((40, 90, 2), (1, 16384, 2), (40, 90, 2), (2, 10007, 2), (1, 0, 2), (0, 7, 2)):
        x = signal(*shape)
        got = three.run({"x": x})["y"]
        np.testing.assert_array_equal(got, one.run({"x": x})["y"])
        if x.size:
            near(got, transformed(x, 1, shape[1], 0, 0), 1.5e-7)


@pytest.mark.parametrize("length", [48, 37, 521])
def test_dynamic_frames(length):
    """STFT whose frames have a dynamic length, or a static one with a large prime factor."""
    x, window = signal(2, 2000, 1), np.abs(signal(length)) + 0.1
    for shape in ({"w": ["length"]}, {"w": [length]}):
        node = helper.make_node("STFT", ["x", "n", "w"], ["y"])
        got = model_of([node], {"x": [2, "samples", 1], **shape}).run({"x": x, "w": window, "n": np.array(100)})["y"]
        frames = np.lib.stride_tricks.sliding_window_view(x[..., 0], length, axis=1)[:, ::100]
        expected = np.fft.rfft(frames * window.astype(np.float64), axis=2)
        near(got, np.stack([expected.real, expected.imag], -1), 1e-6)


def test_negative_length_is_refused():
    module = model_of([helper.make_node("DFT", ["x", "n", "axis1"], ["y"])], {"x": [1, "length", 1]})
    with pytest.raises(hewn.RunError):
        module.run({"x": signal(1, 4, 1), "n": np.array(-3)})
