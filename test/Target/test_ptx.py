# SPDX-License-Identifier: Apache-2.0
"""Checks PTX code: its PTX version is the oldest possible one, it has no external calls, and
NVIDIA's assembler accepts it."""

import os
import pathlib
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from ptx import assemble, needs_ptxas

HEWN = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
VERSIONS = {"sm_80": "7.0", "sm_86": "7.1", "sm_89": "7.8", "sm_90a": "8.4", "sm_100a": "8.6"}


def model(nodes, inputs, outputs, **constants):
    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        nodes,
        "one",
        [value(*i) for i in inputs],
        [value(o, kind, None) for o, kind in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def one(op, shapes, kind=TensorProto.FLOAT, to=None, constants=None, **attributes):
    names = [f"x{i}" for i in range(len(shapes))]
    node = helper.make_node(op, names + list(constants or {}), ["y"], **attributes)
    inputs = [(name, kind, shape) for name, shape in zip(names, shapes)]
    return model([node], inputs, [("y", to or kind)], **(constants or {}))


def ones(*shape):
    return np.ones(shape, np.float32)


def quantized(op, shape, weights, **attributes):
    """Builds an integer contraction with 8-bit results."""
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    scales = {"xs": np.float32(0.02), "ws": np.float32(0.01), "ys": np.float32(3)}
    zeros = {"xz": np.uint8(7), "wz": np.int8(0), "yz": np.uint8(7)}
    nodes = [helper.make_node(op, names, ["y"], **attributes)]
    return model(nodes, [("x", UINT8, shape)], [("y", UINT8)], w=ones(*weights).astype(np.int8), **scales, **zeros)


FLOAT, DOUBLE, HALF, UINT8 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.UINT8
MODELS = {
    "elementwise": one("Gelu", [[4, 1000]]),
    "symbolic": one("Relu", [["n", 8]]),
    "half": one("Tanh", [[64, 64]], HALF),
    "double": one("Exp", [[64]], DOUBLE),
    "remainder": one("Mod", [[64], [64]], fmod=1),
    # A model with two kernels that both use the lookup tables of the device math library.
    "tables": model(
        [helper.make_node(op, [f"x{i}"], [f"{op}{i}"]) for i in range(2) for op in ("Atan", "Sin")],
        [("x0", DOUBLE, [64]), ("x1", DOUBLE, [7, 100])],
        [(f"{op}{i}", DOUBLE) for i in range(2) for op in ("Atan", "Sin")],
    ),
    "transpose": one("Transpose", [[3, 5, 7]], perm=[2, 0, 1]),
    "gather": one("Gather", [[100, 64]], constants={"i": np.array([3, -1, 5])}),
    "softmax": one("Softmax", [[16, 1024]]),
    "short-rows": one("Softmax", [[1000, 10]]),
    "columns": one("ReduceMean", [[64, 500]], axes=None, constants={"a": np.array([0])}),
    "argmax": one("ArgMax", [[16, 5000]], to=TensorProto.INT64, axis=1),
    "norm": one("LayerNormalization", [[64, 768], [768], [768]]),
    "cumulate": one("CumSum", [[8, 30]], constants={"a": np.array(1)}),
    "pool": one("MaxPool", [[1, 8, 20, 20]], kernel_shape=[3, 3]),
    "turns": one(
        "ConvTranspose", [[1, 8, 9, "n"]], constants={"w": ones(8, 12, 3, 2)}, strides=[2, 3], dilations=[1, 2]
    ),
    "product": one("MatMul", [[100, 200]], constants={"w": ones(200, 300)}),
    "few-rows": one("MatMul", [[3, 200]], constants={"w": ones(200, 301)}),
    "few-columns": one("MatMul", [[300, 100]], constants={"w": ones(100, 2)}),
    "columns-along-sum": one("Gemm", [[2, 203], [70, 203]], transB=1),
    "both-along-sum": one("Gemm", [[70, 204], [36, 204]], transB=1),
    "batches": one("MatMul", [[3, 40, 24], [3, 24, 50]]),
    "half-product": one("MatMul", [[40, 64], [64, 48]], HALF),
    "half-along-sum": one("Gemm", [[70, 96], [36, 96]], HALF, transB=1),
    "half-turned": one("Gemm", [[96, 72], [96, 40]], HALF, transA=1),
    "half-of-odd-sizes": one("MatMul", [[41, 63], [63, 47]], HALF),
    "half-in-pairs": one("MatMul", [[41, 66], [66, 46]], HALF),
    "parts-of-sums": one("Gemm", [[49, 1000], [96, 1000], [96]], transB=1),
    "parts-of-half-sums": one("MatMul", [[2, 33, 2048]], HALF, constants={"w": ones(2048, 96).astype(np.float16)}),
    # For targets with TMA: kernels with two warpgroups, and with one whose block computes several
    # tiles.
    "many-half-products": one("MatMul", [[64, 128, 136], [64, 136, 256]], HALF),
    "half-weights": one("MatMul", [[2000, 136]], HALF, constants={"w": ones(136, 1000).astype(np.float16)}),
    "double-product": one("MatMul", [[40, 64], [64, 48]], DOUBLE),
    "one-row": one("MatMul", [[1, 200]], constants={"w": ones(200, 300)}),
    "no-rows": one("MatMul", [[0, 200]], constants={"w": ones(200, 300)}),
    "no-columns": one("MatMul", [[3, 200], [200, 0]]),
    "no-sum": one("MatMul", [[3, 0], [0, 200]]),
    "no-images": one("Conv", [[0, 16, 20, 20]], constants={"w": ones(32, 16, 3, 3)}, pads=[1, 1, 1, 1]),
    "convolution": one("Conv", [[1, 16, 20, 20]], constants={"w": ones(32, 16, 3, 3)}, pads=[1, 1, 1, 1]),
    "half-convolution": one("Conv", [[2, 16, 15, 20]], HALF, constants={"w": ones(32, 16, 3, 3).astype(np.float16)}),
    "strided-convolution": one(
        "Conv",
        [[2, 20, 21, 17]],
        constants={"w": ones(24, 20, 3, 5)},
        pads=[1, 2, 1, 2],
        strides=[2, 2],
        dilations=[2, 1],
    ),
    "depthwise": one("Conv", [[1, 16, 20, 20]], constants={"w": ones(16, 1, 3, 3)}, group=16),
    "integers": one("MatMulInteger", [[32, 64], [64, 32]], TensorProto.UINT8, TensorProto.INT32),
    "recurrent": one("LSTM", [[5, 2, 16]], constants={"w": ones(1, 64, 16), "r": ones(1, 64, 16)}, hidden_size=16),
}
MODELS |= {
    "wide": one("Gelu", [[64, 1024]]),
    "wide-half": one("Tanh", [[64, 1024]], HALF),
    "wide-broadcast": one("Add", [["n", 4, 1000], [4, 1]]),
    "wide-rows": one("Softmax", [[600, 256]]),
    "turn": one("Transpose", [[3, 50, 70]], perm=[0, 2, 1]),
    "turn-half": one("Transpose", [[40, 3, "n"]], HALF, perm=[2, 1, 0]),
    "wide-half-norm": one("LayerNormalization", [[8, 3, 768], [768], [768]], HALF),
}
MODELS["quantized-product"] = quantized("QLinearMatMul", [100, 64], [64, 96])
MODELS["quantized-convolution"] = quantized("QLinearConv", [2, 16, 15, 15], [48, 16, 3, 3], pads=[1, 1, 1, 1])
MODELS["turn-and-more"] = model(
    [
        helper.make_node("Transpose", ["x"], ["t"], perm=[2, 0, 1]),
        helper.make_node("Mul", ["t", "y"], ["m"]),
        helper.make_node("Exp", ["m"], ["z"]),
    ],
    [("x", FLOAT, [20, 1, 33]), ("y", FLOAT, [33, 20, 1])],
    [("z", FLOAT)],
)
# A custom op whose function runs on the host between two kernels.
MODELS["apart"] = model(
    [
        helper.make_node("Mul", ["x", "x"], ["m"]),
        helper.make_node("TopK", ["m", "k"], ["v", "i"]),
        helper.make_node("Neg", ["v"], ["n"]),
    ],
    [("x", FLOAT, [20])],
    [("n", FLOAT)],
    k=np.array([3]),
)
# Persistent kernels with several phases and shared memory, before and after a host function.
MODELS["joints-apart"] = model(
    [
        helper.make_node("MatMul", ["x", "w"], ["a0"]),
        helper.make_node("Relu", ["a0"], ["a1"]),
        helper.make_node("MatMul", ["a1", "v"], ["a2"]),
        helper.make_node("Relu", ["a2"], ["a3"]),
        helper.make_node("MatMul", ["a3", "u"], ["a4"]),
        helper.make_node("Relu", ["a4"], ["a5"]),
        helper.make_node("MatMul", ["a5", "v"], ["a6"]),
        helper.make_node("TopK", ["a6", "k"], ["t", "i"]),
        helper.make_node("MatMul", ["t", "u"], ["b0"]),
        helper.make_node("Relu", ["b0"], ["b1"]),
        helper.make_node("MatMul", ["b1", "v"], ["b2"]),
        helper.make_node("Relu", ["b2"], ["b3"]),
        helper.make_node("MatMul", ["b3", "u"], ["b4"]),
        helper.make_node("Relu", ["b4"], ["b5"]),
        helper.make_node("MatMul", ["b5", "v"], ["y"]),
    ],
    [("x", FLOAT, [16, 96])],
    [("y", FLOAT)],
    w=ones(96, 80),
    v=ones(80, 48),
    u=ones(48, 80),
    k=np.array([48]),
)
MODELS["bfloat-product"] = model(
    [
        helper.make_node("Cast", ["x"], ["b"], to=TensorProto.BFLOAT16),
        helper.make_node("Cast", ["y"], ["c"], to=TensorProto.BFLOAT16),
        helper.make_node("Transpose", ["b"], ["t"]),
        helper.make_node("MatMul", ["t", "c"], ["p"]),
        # The kernel may round the results of the MatMul to bfloat16 before this Cast, or convert
        # the float32 accumulators directly.
        helper.make_node("Cast", ["p"], ["z"], to=TensorProto.FLOAT16),
    ],
    [("x", FLOAT, [64, 48]), ("y", FLOAT, [64, 80])],
    [("z", TensorProto.FLOAT16)],
)
for attribute in MODELS["columns"].graph.node[0].attribute[:]:
    MODELS["columns"].graph.node[0].attribute.remove(attribute)


def ptx(name, machine, tmp_path):
    source, text = tmp_path / "model.onnx", tmp_path / "model.ptx"
    onnx.save(MODELS[name], source)
    command = [HEWN, "compile", source, f"--target={machine}", "--emit=ptx", "-o", text]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return text.read_text()


@pytest.mark.parametrize("machine", VERSIONS)
@pytest.mark.parametrize("name", ["elementwise", "apart"])
def test_head(name, machine, tmp_path):
    """The PTX text has one header for all kernels, with the oldest PTX version that supports the
    target."""
    text = ptx(name, machine, tmp_path)
    assert text.count(".entry") == (2 if name == "apart" else 1)
    assert re.findall(r"^\.version (.*)$", text, re.M) == [VERSIONS[machine]]
    assert re.findall(r"^\.target (\S+)", text, re.M) == [machine]
    assert len(re.findall(r"^\.address_size", text, re.M)) == 1


@pytest.mark.parametrize("name", MODELS)
def test_calls_nothing_from_outside(name, tmp_path):
    text = ptx(name, "sm_80", tmp_path)
    assert ".entry" in text
    assert ".extern .func" not in text


def concat_of(count):
    """Builds a model of one Concat, which the compiler emits as one kernel for any number of
    operands."""
    inputs = [(f"x{i}", FLOAT, [300]) for i in range(count)]
    return model([helper.make_node("Concat", [name for name, *_ in inputs], ["y"], axis=0)], inputs, [("y", FLOAT)])


@needs_ptxas
def test_many_arguments(tmp_path):
    """More than 544 arguments need a newer PTX version than the target does. Above a limit,
    compilation fails."""
    text, source = tmp_path / "model.ptx", tmp_path / "model.onnx"
    command = [HEWN, "compile", source, "--target=sm_80", "--emit=ptx", "-o", text]
    for count, version in ((500, "7.0"), (600, "8.1")):
        onnx.save(concat_of(count), source)
        subprocess.run(command, check=True)
        assert re.findall(r"^\.version (.*)", text.read_text(), re.M) == [version]
        assemble(text.read_text(), "sm_80", tmp_path)
    onnx.save(concat_of(4100), source)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"it takes \d+ arguments, more than the device supports: split the op's inputs", done.stderr)


def test_needs_no_toolkit(tmp_path):
    """Compilation needs no CUDA toolkit: the path contains none, and CUDA's variables name missing
    folders."""
    source, text = tmp_path / "model.onnx", tmp_path / "model.ptx"
    onnx.save(MODELS["softmax"], source)
    hidden = {"PATH": "/nowhere", "CUDA_HOME": "/nowhere", "CUDA_PATH": "/nowhere", "CUDA_ROOT": "/nowhere"}
    command = [HEWN, "compile", source, "--target=sm_90a", "--emit=ptx", "-o", text]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | hidden)
    assert done.returncode == 0, done.stderr
    assert text.read_text() == ptx("softmax", "sm_90a", tmp_path)


HIGH, MEDIUM = "--float32-precision=high", "--float32-precision=medium"
LARGE = one("MatMul", [[2048, 512]], constants={"w": ones(512, 2048)})
# Kernels whose figures are recorded: a model with one contraction, and compiler flags.
RECORDED = {
    "large-product": (LARGE, []),
    "large-product-high": (LARGE, [HIGH]),
    "large-product-medium": (LARGE, [MEDIUM]),
    "large-half": (one("MatMul", [[2048, 512], [512, 2048]], HALF), []),
    "large-convolution": (one("Conv", [[8, 64, 56, 56]], constants={"w": ones(128, 64, 3, 3)}, pads=[1, 1, 1, 1]), []),
    "product-of-odd-sizes": (one("MatMul", [[2047, 511], [511, 2047]]), []),
    "half-along-sum": (one("Gemm", [[1024, 512], [1024, 512]], HALF, transB=1), []),
    "half-turned": (one("Gemm", [[512, 1024], [512, 1024]], HALF, transA=1), []),
    "large-integers": (quantized("QLinearMatMul", [2048, 512], [512, 2048]), []),
    "integer-convolution": (
        quantized("QLinearConv", [8, 64, 56, 56], [128, 64, 3, 3], pads=[1, 1, 1, 1]),
        [],
    ),
    "rows-of-bert": (one("MatMul", [[128, 768]], constants={"w": ones(768, 3072)}), []),
    "parts-of-sums": (one("Conv", [[1, 512, 7, 7]], constants={"w": ones(512, 512, 3, 3)}, pads=[1, 1, 1, 1]), []),
}
TABLE = pathlib.Path(__file__).with_name("figures.txt")
FIGURES = {tuple(line.split()[:2]): line.split()[2:10] for line in TABLE.read_text().splitlines() if line[0] != "#"}


@needs_ptxas
@pytest.mark.parametrize("name, machine", FIGURES)
def test_figures(name, machine, tmp_path):
    """Compares the figures of the kernel with the contraction: instruction counts in the PTX text,
    and resources by ptxas. Nothing is spilled."""
    source, text = tmp_path / "model.onnx", tmp_path / "model.ptx"
    built, flags = RECORDED[name]
    onnx.save(built, source)
    command = [HEWN, "compile", source, f"--target={machine}", "--emit=ptx", "-o", text, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code = text.read_text()
    (part,) = [part for part in code.split(".entry")[1:] if "mma.sync" in part or "wgmma" in part]
    kernel = part.split("(")[0].strip()
    used = assemble(code, machine, tmp_path)[kernel]
    # ptxas does not report the dynamic shared memory that a launch requests.
    subprocess.run([*command[:3], f"--target={machine}", "--emit=loops", "-o", text, *flags], check=True)
    given = re.search(rf"@{kernel.removeprefix('model_')}\(.*sharedBytes = (\d+)", text.read_text())
    assert bool(given) == (".extern .shared" in code) and not (given and used.shared)
    shared = int(given[1]) if given else used.shared
    counts = [
        part.count("mma.sync"),
        part.count("wgmma.mma_async"),
        part.count("cp.async.bulk.tensor"),
        len(re.findall(r"cp\.async\.c[ag].*, 16,", part)),
        part.count("cp.async.ca"),
    ]
    counts += [part.count("ldmatrix"), shared]
    want = [int(figure) for figure in FIGURES[name, machine]]
    found = f"{name} {machine} {' '.join(str(count) for count in counts)} {used.registers}"
    assert counts == want[:7], found
    assert used.spills == 0, found
    # The test accepts a few more registers, because other versions of ptxas may need them.
    assert used.registers <= 1.05 * want[7], found


def softmax_between_products(rows, columns, width, element=FLOAT):
    nodes = [
        helper.make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "t"], ["s"]),
        helper.make_node("Softmax", ["s"], ["w"]),
        helper.make_node("MatMul", ["w", "v"], ["y"]),
    ]
    shapes = {"q": [8, rows, width], "k": [8, columns, width], "v": [8, columns, width]}
    return model(nodes, [(name, element, shape) for name, shape in shapes.items()], [("y", element)])


# Cases of attention: (rows, columns, head width, MMAs in the tile of a warp, blocks per
# multiprocessor, element type).
ATTENTION = {
    "rows": (512, 512, 64, 192, 1, FLOAT),
    "long-lines": (512, 512, 128, 192, 1, FLOAT),
    "one-row": (1, 2048, 64, 96, 1, FLOAT),
    "half-rows": (512, 512, 64, 64, 3, HALF),
    "half-long-lines": (512, 512, 128, 64, 1, HALF),
    "half-one-row": (1, 2048, 64, 16, 1, HALF),
    "bfloat16-rows": (512, 512, 64, 64, 3, TensorProto.BFLOAT16),
}


@needs_ptxas
@pytest.mark.parametrize("machine", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name, machine, tmp_path):
    """Attention is one kernel. It computes the scores in one pass, copies rows of k and v 16 bytes
    at a time, and spills nothing."""
    *sizes, products, blocks, element = ATTENTION[name]
    source, text = tmp_path / "model.onnx", tmp_path / "model.ptx"
    onnx.save(softmax_between_products(*sizes, element), source)
    command = [HEWN, "compile", source, f"--target={machine}", "--emit=ptx", "-o", text]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code = text.read_text()
    assert code.count(".entry") == 1
    assert code.count("mma.sync") == products
    assert re.findall(r"\.minnctapersm (\d+)", code) == [str(blocks)]
    assert element == FLOAT or ("ldmatrix" in code and "f16x2" in code)
    assert "cp.async.cg.shared.global" in code and "cp.async.ca.shared.global" not in code
    (used,) = assemble(code, machine, tmp_path).values()
    assert used.registers <= 255 and used.spills == 0


def masked_attention(rows, columns, width):
    """Builds attention with transposed keys and a mask, which need addresses of single elements."""
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node("Add", ["s", "m"], ["a"]),
        helper.make_node("Softmax", ["a"], ["w"]),
        helper.make_node("MatMul", ["w", "v"], ["y"]),
    ]
    shapes = {"q": [8, rows, width], "k": [8, width, columns], "m": [rows, columns], "v": [8, columns, width]}
    return model(nodes, [(name, FLOAT, shape) for name, shape in shapes.items()], [("y", FLOAT)])


@needs_ptxas
@pytest.mark.parametrize("machine", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "sizes", [(128, 128, 64), (197, 197, 64), ("r", "c", 64), (1, "c", 64), (200, 200, 128)], ids=str
)
def test_masked_attention(sizes, machine, tmp_path):
    """The kernel spills nothing, because all elements that a thread loads are at one address plus
    constant offsets."""
    source, text = tmp_path / "model.onnx", tmp_path / "model.ptx"
    onnx.save(masked_attention(*sizes), source)
    command = [HEWN, "compile", source, f"--target={machine}", "--emit=ptx", "-o", text]
    subprocess.run(command, check=True, capture_output=True)
    code = text.read_text()
    assert "mma.sync" in code
    for kernel, used in assemble(code, machine, tmp_path).items():
        assert used.registers <= 255 and used.spills == 0, kernel


@pytest.mark.parametrize("name", ["wide", "wide-half", "wide-rows", "wide-half-norm", "norm", "softmax"])
def test_wide(name, tmp_path):
    """All loads and stores of the kernel are 16 bytes wide, and it has no calls."""
    code = ptx(name, "sm_80", tmp_path)
    for access in ("ld", "st"):
        found = re.findall(rf"{access}\.global[.\w]*", code)
        assert found and all(".v4.b32" in each for each in found)
    assert "call" not in code


@needs_ptxas
@pytest.mark.parametrize("machine", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", MODELS)
def test_assembles(name, machine, tmp_path):
    kernels = assemble(ptx(name, machine, tmp_path), machine, tmp_path)
    assert kernels
    for kernel, used in kernels.items():
        assert used.registers <= 255 and used.spills == 0, kernel


def test_joints_of_one_model(tmp_path):
    """Each persistent kernel has its own shared memory symbol. (`test_assembles` covers this model,
    too.)"""
    code = ptx("joints-apart", "sm_80", tmp_path)
    meetings = set(re.findall(r"^\.func (joint\d+_meet\w*)\(", code, re.M))
    assert code.count(".entry") == 2 and {name.split("_")[0] for name in meetings} == {"joint0", "joint1"}
    assert code.count("red.release.gpu.global.add.u32") == len(meetings)


def test_meetings(tmp_path):
    """Grid-wide barriers use instructions with release and acquire order. Loads of data that other
    blocks write do not use the non-coherent cache."""
    code = ptx("recurrent", "sm_80", tmp_path)
    assert code.count(".entry") == 1
    for once in ("ld.relaxed.gpu.global.u32", "red.release.gpu.global.add.u32", "ld.acquire.gpu.global.u32"):
        assert code.count(once) == 1
    assert "ld.global." in code and "ld.global.nc" not in code
