# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms beside numpy's in double precision: whole, cut in two once and more often, and one behind the other."""

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


# Short, prime, with a small and with several factors; 128 is the least that is cut, 16384 is cut twice.
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
    """The second transform takes the parts that the first made; the parts may then be taken by themselves."""
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


def test_lengths_known_only_when_run():
    x = signal(2, 150, 1)
    y = run([helper.make_node("DFT", ["x"], ["y"], axis=1)], x, ["n", "length", 1])
    np.testing.assert_allclose(y, np.stack([(f := np.fft.fft(x[..., 0])).real, f.imag], -1), rtol=0, atol=1e-4)
