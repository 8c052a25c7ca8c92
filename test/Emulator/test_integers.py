# SPDX-License-Identifier: Apache-2.0
"""int8 GEMMs by warp-level MMA and warpgroup MMA, with their epilogues. Their results are bitwise
equal to the host's."""

import re

import numpy as np
import pytest
from mutation import BARRIER, SCHEDULES, WAIT, error_of, is_caught, looking, on_host, without
from onnx import TensorProto, helper
from test_ptx import model

FLOAT, UNSIGNED, SIGNED = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8


def integers(kind, *shape):
    low, high = (0, 256) if kind is np.uint8 else (-128, 128)
    return np.random.default_rng(1).integers(low, high, shape).astype(kind)


def feeds_for(built):
    (x,) = built.graph.input
    kind, shape = x.type.tensor_type.elem_type, [dim.dim_value for dim in x.type.tensor_type.shape.dim]
    if kind == FLOAT:
        return {x.name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    return {x.name: integers(np.uint8 if kind == UNSIGNED else np.int8, *shape)}


def parameters(left, right, zero, right_zero, columns=None):
    """Returns scales and zero points of both operands and of the result. With `columns`, the right
    operand has one scale and zero point per column."""
    scale = np.full(columns, 0.01, np.float32) if columns else np.float32(0.01)
    zeros = np.full(columns, right_zero, right) if columns else right(right_zero)
    return {"xs": np.float32(0.02), "xz": left(zero), "ws": scale, "wz": zeros, "ys": np.float32(3), "yz": left(zero)}


def matmul(rows, depth, columns, left=np.uint8, right=np.int8, zero=7, right_zero=0, by_column=False):
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    kind = UNSIGNED if left is np.uint8 else SIGNED
    constants = parameters(left, right, zero, right_zero, columns if by_column else None) | {
        "w": integers(right, depth, columns)
    }
    nodes = [helper.make_node("QLinearMatMul", names, ["y"])]
    return model(nodes, [("x", kind, [*rows, depth])], [("y", kind)], **constants)


def convolution(shape, filters, **attributes):
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    constants = parameters(np.uint8, np.int8, 7, 0, columns=filters[0]) | {"w": integers(np.int8, *filters)}
    nodes = [helper.make_node("QLinearConv", names, ["y"], **attributes)]
    return model(nodes, [("x", UNSIGNED, shape)], [("y", UNSIGNED)], **constants)


def layer():
    """Returns a quantized layer: quantize, matmul, dequantize, bias and activation."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
        helper.make_node("MatMul", ["xd", "wd"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    constants = parameters(np.uint8, np.int8, 128, 0) | {"w": integers(np.int8, 64, 96)}
    del constants["ys"], constants["yz"]
    bias = np.arange(96, dtype=np.float32)
    return model(nodes, [("x", FLOAT, [100, 64])], [("y", FLOAT)], b=bias, **constants)


MODELS = {
    "matmul": matmul([128], 64, 128),
    "signed": matmul([128], 96, 64, left=np.int8, zero=-3),
    "unsigned-weights": matmul([100], 64, 40, right=np.uint8, right_zero=128),
    "zero-points": matmul([3, 20], 64, 48, right_zero=5),
    "columns": matmul([65], 192, 70, by_column=True),
    "odd-sizes": matmul([41], 61, 47),
    "parts": matmul([64], 4096, 64),
    "large": matmul([3072], 128, 512),
    "convolution": convolution([2, 64, 14, 14], (64, 64, 3, 3), pads=[1, 1, 1, 1]),
    "first-convolution": convolution([1, 3, 33, 33], (32, 3, 7, 7), strides=[2, 2], pads=[3, 3, 3, 3]),
    "layer": layer(),
}
MACHINES = {name: ["sm_80", "sm_90a"] if name in ("matmul", "convolution") else ["sm_80"] for name in MODELS}


@pytest.mark.parametrize("name, machine", [(name, machine) for name in MODELS for machine in MACHINES[name]])
def test_as_on_the_host(name, machine):
    feeds, want = on_host(MODELS[name], feeds_for(MODELS[name]))
    used = []
    look = looking(lambda text: used.append(re.findall(r"@hewn\.simt\.product\.(\w+\.\w+)\(", text)[:1]))
    for schedule in SCHEDULES:
        assert not error_of(MODELS[name], feeds, want, schedule, look, target=machine)
        assert used.pop() == ["u8.s8"]


MISTAKES = {
    "no barrier": without(BARRIER),
    "copies are not waited for": without(WAIT),
    "left taken for signed": lambda text: text.replace("product.u8.s8", "product.s8.s8"),
    "right taken for unsigned": lambda text: text.replace("product.u8.s8", "product.u8.u8"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("name", ["columns", "convolution"])
def test_mistakes_are_caught(name, mistake):
    assert is_caught(MODELS[name], MISTAKES[mistake], feeds_for(MODELS[name]))


# Models whose GEMM uses warpgroup MMA, each with the number of TMA loads in the kernel's code.
GROUPS = {
    "fetched": (matmul([2000], 272, 1000), 2),
    "signed": (matmul([2000], 272, 1000, left=np.int8, zero=-3), 2),
    # The kernel of a convolution copies the windows to shared memory instead of loading them by
    # TMA.
    "windows": (convolution([8, 64, 28, 28], (128, 64, 3, 3), pads=[1, 1, 1, 1]), 0),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name):
    built, boxes = GROUPS[name]
    feeds, want = on_host(built, feeds_for(built))
    used = []
    look = looking(
        lambda text: used.append(
            [
                len(re.findall(rf"call[^@]*@hewn\.simt\.{call}", text))
                for call in (r"group\.product\.u8s8\.k\.k", "fetch")
            ]
        )
    )
    for schedule in SCHEDULES:
        assert not error_of(built, feeds, want, schedule, look, target="sm_90a")
        products, found = used.pop()
        assert products and found == boxes


GROUP_MISTAKES = {
    "left taken for signed": lambda text: text.replace("product.u8s8", "product.s8s8"),
    "right taken for unsigned": lambda text: text.replace("product.u8s8", "product.u8u8"),
    "not published": lambda text: re.sub(r"^.*call void @hewn\.simt\.group\.publish\(.*\n", "", text, flags=re.M),
    "products not waited for": lambda text: re.sub(r"(@hewn\.simt\.group\.wait\.i32\.\d+\(i32 )0", r"\g<1>1", text),
}


@pytest.mark.parametrize("mistake", GROUP_MISTAKES)
def test_mistakes_of_groups_are_caught(mistake):
    built = GROUPS["windows"][0]
    assert is_caught(built, GROUP_MISTAKES[mistake], feeds_for(built), target="sm_90a")
