# SPDX-License-Identifier: Apache-2.0
"""Models to be partitioned over ranks, and functions that start the ranks."""

import os
import pathlib
import shutil
import subprocess
import sys
import uuid

import hewn
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

TOOLS = os.environ.get("HEWN_TOOLS", "")


class Build:
    """Builds a model node by node, with random weights."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.feeds = [], [], [], {}

    def input(self, name, shape, feed):
        kind = helper.np_dtype_to_tensor_dtype(feed.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.feeds[name] = feed
        return name

    def weight(self, *shape):
        return self.constant(
            (self.random.standard_normal(shape) / np.sqrt(shape[-2] if len(shape) > 1 else 4)).astype(np.float32)
        )

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def __call__(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def model(self, *outputs):
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "split", self.inputs, infos, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), self.feeds


def draw(b, *shape):
    return b.random.standard_normal(shape).astype(np.float32)


def mlp(rows="n"):
    b = Build()
    x = b.input("x", [rows, 64], draw(b, 5, 64))
    for width in (96, 64, 10):
        x = b("Relu", b("Add", b("MatMul", x, b.weight(96 if width == 64 else 64, width)), b.weight(width)))
    return b.model(x)


def codes(rows="n"):
    """Builds layers with 8-bit weights and scales, which compilation does not convert to float.
    Their biases are expanded from one number. All layers share these constants."""
    b = Build()
    x = b.input("x", [rows, 256], draw(b, 5, 256))
    weights, biases = [], []
    for inside, width in ((256, 256), (256, 256), (256, 192), (192, 10)):
        code = b.constant(b.random.integers(-127, 128, (inside, width)).astype(np.int8))
        scales = b.constant((b.random.uniform(0.5, 1, width) / 1024).astype(np.float32))
        weights.append(b("DequantizeLinear", code, scales, axis=1))
        many = b("Expand", b.constant(np.full((1, 1), 0.25, np.float32)), b.ints(200, width))
        biases.append(b("Slice", many, b.ints(0), b.ints(1)))
    for weight, bias in zip(weights, biases):
        x = b("Relu", b("Add", b("MatMul", x, weight), bias))
    return b.model(x)


def norm(b, x, width):
    mean = b("ReduceMean", x, b.ints(-1))
    away = b("Sub", x, mean)
    spread = b("Sqrt", b("Add", b("ReduceMean", b("Mul", away, away), b.ints(-1)), b.constant(np.float32(1e-5))))
    return b("Add", b("Mul", b("Div", away, spread), b.weight(width)), b.weight(width))


def attention(heads=4, fused=False, masked=True, key_heads=None, words=102):
    """Builds two transformer layers, and an embedding table that is also the output projection. One
    GEMM or three compute queries, keys and values."""
    b = Build()
    width, size = heads * 16, 16
    key_heads = key_heads or heads
    ids = b.input("ids", ["batch", "seq"], b.random.integers(-words, words, (2, 7)))
    if masked:
        keep = np.ones((2, 7), np.float32)
        keep[1, 4:] = 0
        mask = b.input("mask", ["batch", "seq"], keep)
        hidden = b(
            "Mul", b("Sub", b.constant(np.float32(1)), b("Unsqueeze", mask, b.ints(1, 2))), b.constant(np.float32(-1e4))
        )
    table = b.weight(words, width)
    x = b("Gather", table, ids)

    def by_heads(value, count):
        return b("Transpose", b("Reshape", value, b.ints(0, 0, count, size)), perm=[0, 2, 1, 3])

    for _ in range(2):
        n = norm(b, x, width)
        if fused:
            three = b("Add", b("MatMul", n, b.weight(width, 3 * width)), b.weight(3 * width))
            q, k, v = b("Split", three, outputs=3, axis=-1, num_outputs=3)
        else:
            q = b("Add", b("MatMul", n, b.weight(width, width)), b.weight(width))
            k = b("MatMul", n, b.weight(width, key_heads * size))
            v = b("MatMul", n, b.weight(width, key_heads * size))
        q, k, v = by_heads(q, heads), by_heads(k, key_heads), by_heads(v, key_heads)
        if key_heads != heads:  # several queries share a key
            k, v = (
                b(
                    "Reshape",
                    b("Expand", b("Unsqueeze", t, b.ints(2)), b.ints(1, 1, heads // key_heads, 1, 1)),
                    b.ints(0, heads, -1, size),
                )
                for t in (k, v)
            )
        scores = b("Mul", b("MatMul", q, b("Transpose", k, perm=[0, 1, 3, 2])), b.constant(np.float32(0.25)))
        weights = b("Softmax", b("Add", scores, hidden) if masked else scores, axis=-1)
        seen = b("Reshape", b("Transpose", b("MatMul", weights, v), perm=[0, 2, 1, 3]), b.ints(0, 0, width))
        x = b("Add", x, b("MatMul", seen, b.weight(width, width)))
        wide = b("MatMul", norm(b, x, width), b.weight(width, 4 * width))
        x = b("Add", x, b("MatMul", b("Mul", wide, b("Sigmoid", wide)), b.weight(4 * width, width)))
    return b.model(b("MatMul", x, b("Transpose", table, perm=[1, 0])))


def rows(words=512, width=64, joined=False, middle=False):
    """Builds layers with normalization after the all-reduce, before the GEMM, or both. There are
    enough rows to divide them among the ranks. With `middle`, a value between the layers needs all
    rows. Some outputs are GEMM results."""
    b = Build()
    x = b.input(
        "x", [2, words // 2, width] if joined else [1, words, width], draw(b, words, width).reshape(1, words, width)
    )
    if joined:
        b.feeds["x"] = b.feeds["x"].reshape(2, words // 2, width)
    seen = []
    for layer in range(3):
        y = norm(b, x, width) if layer % 2 else x
        y = b("Relu", b("MatMul", y, b.weight(width, 2 * width)))
        y = b("Add", b("MatMul", y, b.weight(2 * width, width)), b.weight(width))
        x = b("Add", x, y)
        if layer % 2 == 0:
            x = norm(b, x, width)
        if middle:
            seen.append(b("ReduceMax", x, b.ints(1)) if layer else x)
    return b.model(b("MatMul", x, b.weight(width, 10)), *seen)


def convolutions():
    b = Build()
    x = b.input("x", ["n", 3, 20, 20], draw(b, 2, 3, 20, 20))

    def conv(value, inside, outside, kernel, **attributes):
        inside //= attributes.get("group", 1)
        return b(
            "Conv",
            value,
            b.weight(outside, inside, kernel, kernel),
            b.weight(outside),
            pads=[kernel // 2] * 4,
            **attributes,
        )

    x = b("MaxPool", b("Relu", conv(x, 3, 32, 7, strides=[2, 2])), kernel_shape=[3, 3], strides=[2, 2])
    for _ in range(2):
        y = b("Relu", conv(x, 32, 32, 3))
        x = b("Relu", b("Add", x, conv(y, 32, 32, 1)))
    x = b("Relu", conv(x, 32, 32, 3, group=32))
    return b.model(b("MatMul", b("Flatten", b("GlobalAveragePool", x)), b.weight(32, 10)))


def pictures():
    """Builds two successive convolutions, the second one with stride 2 along the image rows."""
    b = Build()
    x = b.input("x", [1, 3, 16, 12], draw(b, 1, 3, 16, 12))
    x = b("Relu", b("Conv", x, b.weight(8, 3, 3, 3), b.weight(8), pads=[1] * 4))
    return b.model(b("Conv", x, b.weight(8, 8, 3, 3), pads=[1] * 4, strides=[2, 1]))


def positions():
    """Builds layers of which only the first ones read rotary embeddings. Many ops compute the
    embeddings from sizes, also per batch element. The pipeline stage of the other layers needs none
    of these values."""
    b = Build()
    ids = b.input("ids", ["batch", "seq"], b.random.integers(0, 30, (2, 7)))
    sizes, zero, one = b("Shape", ids), b.constant(np.array(0, np.int64)), b.constant(np.array(1, np.int64))
    places = b("Range", zero, b("Gather", sizes, one), one)
    angles = b("MatMul", b("Unsqueeze", b("Cast", places, to=1), b.ints(1)), b.weight(1, 8))
    angles = b("Unsqueeze", b("Concat", angles, angles, axis=1), b.ints(0))
    cosines, sines = (b("Mul", b(name, angles), b.weight(16)) for name in ("Cos", "Sin"))
    x = b("Add", b("Gather", b.weight(30, 16), ids), b("Gather", b.weight(64, 16), b("Expand", places, sizes)))
    x = b("Add", b("Mul", x, cosines), b("Mul", b("Neg", x), sines))
    for _ in range(4):
        x = b("Relu", b("MatMul", x, b.weight(16, 16)))
    return b.model(b("MatMul", x, b.weight(16, 8)))


def recurrent():
    b = Build()
    x = b.input("x", [6, 2, 32], draw(b, 6, 2, 32))
    y = b("LSTM", x, b.weight(1, 128, 32), b.weight(1, 128, 32), outputs=1, hidden_size=32)
    flat = b("Reshape", y, b.ints(6, 2, 32))
    return b.model(b("MatMul", flat, b.weight(32, 48)), flat)


def control():
    """Builds a model with a branch whose ops read values from outside of it."""
    b = Build()
    x = b.input("x", ["n", 64], draw(b, 3, 64))
    h = b("MatMul", x, b.weight(64, 128))
    inside = [
        helper.make_graph(
            [helper.make_node(op, [h], [f"r_{op}"])], op, [], [helper.make_tensor_value_info(f"r_{op}", 1, None)]
        )
        for op in ("Tanh", "Neg")
    ]
    total = b("Greater", b("ReduceSum", x, keepdims=0), b.constant(np.float32(0)))
    chosen = b("If", total, then_branch=inside[0], else_branch=inside[1])
    return b.model(b("MatMul", chosen, b.weight(128, 64)), h)


MODELS = {
    "mlp": mlp,
    "mlp-fixed": lambda: mlp(5),
    "codes": codes,
    "codes-fixed": lambda: codes(5),
    "attention": attention,
    "attention-fused": lambda: attention(fused=True, masked=False, words=101),
    # The number of ranks does not divide this dim of the weights, which is so large that the
    # compiler pads it.
    "attention-words": lambda: attention(words=4101),
    "attention-6": lambda: attention(heads=6),
    "attention-groups": lambda: attention(heads=8, key_heads=2),
    "rows": rows,
    "rows-of-two": lambda: rows(joined=True),
    "rows-and-wholes": lambda: rows(middle=True),
    "rows-too-few": lambda: rows(words=6),
    "convolutions": convolutions,
    "pictures": pictures,
    "positions": positions,
    "recurrent": recurrent,
    "control": control,
}


def hewn_command(*arguments):
    return [str(pathlib.Path(TOOLS, "hewn")) if TOOLS else "hewn", *map(str, arguments)]


def split(model, partition, folder):
    """Compiles a model for several ranks. Returns the library."""
    source, library = folder / "model.onnx", folder / "libsplit.so"
    source.write_bytes(model.SerializeToString())
    subprocess.run(
        hewn_command("compile", source, "--partition", partition, "-o", library, "--quiet"), check=True, timeout=300
    )
    return library


def whole(model, feeds):
    return hewn.compile(model).run(feeds)


def run_split(library, feeds, folder, launcher=(), environment=None, options=()):
    """Starts the ranks with the library and returns the outputs that rank 0 writes."""
    given = folder / "given.npz"
    np.savez(given, **feeds)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(
        [*launcher, *hewn_command("run", library, "--input", given, "--output-dir", out, *options)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in out.iterdir()}


def group_name():
    return f"test-{uuid.uuid4().hex}"


def launchers():
    """Yields the MPI launchers by name. Launchers that are not installed are marked as skipped,
    with the reason."""
    for name, extra in (("openmpi", ["--allow-run-as-root", "--oversubscribe"]), ("mpich", [])):
        program = shutil.which(f"mpirun.{name}")
        library = pathlib.Path(TOOLS, "..", "lib", f"libhewn_{name}.so")
        why = "" if program else f"there is no mpirun.{name}"
        if program and not library.exists():
            why = f"hewn was built without {name}"
        yield pytest.param((program, *extra), id=name, marks=[pytest.mark.skip(reason=why)] if why else [])


def run_by_mpi4py(library, feeds, tmp_path):
    """Starts four ranks that use mpi4py's communicator. Returns the outputs of each rank."""
    np.savez(tmp_path / "given.npz", **feeds)
    program = tmp_path / "rank.py"
    program.write_text(
        "import sys\n"
        "import hewn\n"
        "import numpy as np\n"
        "from mpi4py import MPI\n"
        "module = hewn.load(sys.argv[1], communicator=MPI.COMM_WORLD)\n"
        "got = module.run(dict(np.load(sys.argv[2])))\n"
        "np.savez(f'{sys.argv[3]}/got{MPI.COMM_WORLD.Get_rank()}.npz', **got)\n"
    )
    launcher = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "4"]
    subprocess.run(
        [*launcher, sys.executable, program, library, tmp_path / "given.npz", tmp_path], check=True, timeout=120
    )
    return [dict(np.load(tmp_path / f"got{rank}.npz")) for rank in range(4)]
