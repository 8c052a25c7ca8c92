# SPDX-License-Identifier: Apache-2.0
"""Pipelines that process micro-batches give the same result as the full batch."""

import json
import subprocess

import numpy as np
import onnx
import pytest
from split import MODELS, Build, attention, codes, convolutions, hewn_command, launchers, mlp, run_split, split, whole
from test_partition import check, pytestmark  # noqa: F401


def items(feeds, count):
    """Returns inputs for a batch of `count` elements, which are distinct variations of the given
    ones."""
    scale = np.linspace(0.5, 2, count, dtype=np.float32)
    made = {}
    for name, value in feeds.items():
        taken = np.take(value, np.arange(count) % len(value), axis=0)
        if value.dtype == np.float32:
            taken = taken * scale.reshape(-1, *[1] * (value.ndim - 1))
        else:
            taken = np.roll(taken, 1, axis=-1)
        made[name] = taken
    return made


@pytest.mark.parametrize(
    "name", ["mlp", "codes", "convolutions", "attention", "attention-fused", "attention-groups", "positions"]
)
@pytest.mark.parametrize("partition", ["pipeline=2,microbatches=2", "pipeline=3,microbatches=4"])
def test_parts_give_what_a_batch_gives(name, partition, tmp_path):
    """Runs batch sizes that are a multiple of the number of micro-batches, a batch size of one, and
    one more than a multiple."""
    model, feeds = MODELS[name]()
    library = split(model, partition, tmp_path)
    for count in (8, 1, 5):
        given = items(feeds, count)
        check(run_split(library, given, tmp_path), whole(model, given))


def test_no_items(tmp_path):
    model, _ = mlp()
    feeds = {"x": np.ones((0, 64), np.float32)}
    check(run_split(split(model, "pipeline=2,microbatches=4", tmp_path), feeds, tmp_path), whole(model, feeds))


@pytest.mark.parametrize("partition", ["tensor=2,pipeline=2,microbatches=2", "tensor=2,pipeline=2,microbatches=8"])
@pytest.mark.parametrize("name", ["mlp", "attention"])
def test_beside_shared_layers(name, partition, tmp_path):
    model, feeds = MODELS[name]()
    given = items(feeds, 8)
    check(run_split(split(model, partition, tmp_path), given, tmp_path), whole(model, given))


def fixed(make, count):
    """Replaces the symbolic batch dim of the model by a number."""
    model, feeds = make()
    for info in model.graph.input:
        info.type.tensor_type.shape.dim[0].dim_value = count
    return model, items(feeds, count)


@pytest.mark.parametrize("make", [mlp, codes, convolutions, attention])
def test_a_batch_that_is_a_number(make, tmp_path):
    model, feeds = fixed(make, 8)
    check(run_split(split(model, "pipeline=2,microbatches=4", tmp_path), feeds, tmp_path), whole(model, feeds))


def test_what_has_no_items_is_handed_on_once(tmp_path):
    b = Build()
    x = b.input("x", [8, 64], b.random.standard_normal((8, 64)).astype(np.float32))
    scale = b("MatMul", b.input("s", [1, 64], b.random.standard_normal((1, 64)).astype(np.float32)), b.weight(64, 64))
    y = b("Mul", b("MatMul", x, b.weight(64, 64)), scale)
    model, feeds = b.model(
        b("Add", b("MatMul", b("Relu", y), b.weight(64, 96)), b("Concat", scale, b.weight(1, 32), axis=1))
    )
    library = split(model, "pipeline=2,microbatches=4", tmp_path)
    check(run_split(library, feeds, tmp_path), whole(model, feeds))
    command = hewn_command("explain", tmp_path / "model.onnx", "--partition", "pipeline=2,microbatches=4", "--json")
    said = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=300).stdout)
    first, second = said["variants"]
    assert (first["meetings"], first["moved_bytes"]) == (1 + 4 + 1, 8 * 96 * 4)
    assert (second["meetings"], second["moved_bytes"]) == (1 + 4 + 1, (64 + 8 * 64) * 4)


def test_a_mask_that_is_looked_up(tmp_path):
    """Each batch element gathers from an input, and may read the rows of all batch elements."""
    b = Build()
    x = b.input("x", ["n", 64], b.random.standard_normal((6, 64)).astype(np.float32))
    keep = b.input("keep", ["n", 64], (b.random.random((6, 64)) < 0.5).astype(np.float32))
    at = b.input("at", ["n", 64, 2], b.random.integers(0, 6, (6, 64, 2)))
    kept = b("Mul", b("MatMul", x, b.weight(64, 64)), b("GatherND", keep, at))
    model, feeds = b.model(b("MatMul", b("Relu", kept), b.weight(64, 96)))
    check(run_split(split(model, "pipeline=2,microbatches=4", tmp_path), feeds, tmp_path), whole(model, feeds))


def test_a_mask_that_is_turned_around(tmp_path):
    """An op that permutes the batch dim processes the full batch. The op after it processes
    micro-batches of the result."""
    b = Build()
    x = b.input("x", [8, 64], b.random.standard_normal((8, 64)).astype(np.float32))
    keep = b.input("keep", [8, 64], (b.random.random((8, 64)) < 0.5).astype(np.float32))
    turned = b("Slice", keep, b.ints(-1), b.ints(-1000), b.ints(0), b.ints(-1))
    model, feeds = b.model(b("MatMul", b("Relu", b("Mul", b("MatMul", x, b.weight(64, 64)), turned)), b.weight(64, 96)))
    check(run_split(split(model, "pipeline=2,microbatches=4", tmp_path), feeds, tmp_path), whole(model, feeds))


def test_the_library_says_so(tmp_path):
    library = split(mlp()[0], "pipeline=2,microbatches=4", tmp_path)
    said = subprocess.run(hewn_command("info", library, "--json"), capture_output=True, check=True).stdout
    assert json.loads(said)["models"][0]["partition"] == "tensor=1,pipeline=2,microbatches=4"


def test_no_items_of_a_number(tmp_path):
    model, feeds = fixed(mlp, 8)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 0
    feeds = {"x": feeds["x"][:0]}
    check(run_split(split(model, "pipeline=2,microbatches=4", tmp_path), feeds, tmp_path), whole(model, feeds))


def test_results_without_the_batch(tmp_path):
    """Some outputs do not have the batch as first dim: a mean over the batch and its root, a
    transposed value, and a value that does not depend on the batch."""
    b = Build()
    x = b.input("x", ["n", 64], b.random.standard_normal((8, 64)).astype(np.float32))
    s = b.input("s", [64], b.random.standard_normal(64).astype(np.float32))
    y = b("MatMul", b("Tanh", b("MatMul", x, b.weight(64, 64))), b.weight(64, 32))
    mean = b("ReduceMean", b("Mul", y, y), keepdims=0)
    model, feeds = b.model(y, mean, b("Sqrt", mean), b("Transpose", y, perm=[1, 0]), b("Exp", s))
    library = split(model, "pipeline=2,microbatches=4", tmp_path)
    for count in (8, 1, 5):
        given = {"x": items({"x": feeds["x"]}, count)["x"], "s": feeds["s"]}
        check(run_split(library, given, tmp_path), whole(model, given))


def test_recurrences_of_a_number(tmp_path):
    model, feeds = MODELS["recurrent"]()
    check(run_split(split(model, "pipeline=2,microbatches=2", tmp_path), feeds, tmp_path), whole(model, feeds))


@pytest.mark.parametrize("partition", ["pipeline=2,microbatches=3", "tensor=2,pipeline=2,microbatches=2"])
def test_branches_and_loops(partition, tmp_path):
    """The conditions and trip counts of control flow are equal for all batch elements."""
    b = Build()
    x = b.input("x", ["n", 64], b.random.standard_normal((7, 64)).astype(np.float32))
    which = b.input("which", [], np.array(True))
    times = b.input("times", [], np.array(3))
    h, v = b("MatMul", x, b.weight(64, 64)), b.weight(64, 64)
    of = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node
    branches = [
        onnx.helper.make_graph([node(op, inputs, [f"r_{op}"])], op, [], [of(f"r_{op}", 1, None)])
        for op, inputs in (("Tanh", [h]), ("Add", [h, x]))
    ]
    chosen = b("If", which, then_branch=branches[0], else_branch=branches[1])
    body = onnx.helper.make_graph(
        [node("MatMul", ["a", v], ["m"]), node("Tanh", ["m"], ["t"]), node("Identity", ["c"], ["d"])],
        "body",
        [of("i", 7, []), of("c", 9, []), of("a", 1, ["n", 64])],
        [of("d", 9, []), of("t", 1, ["n", 64])],
    )
    model, feeds = b.model(b("MatMul", b("Loop", times, "", chosen, body=body), b.weight(64, 32)))
    library = split(model, partition, tmp_path)
    for decided in (True, False):
        given = {**feeds, "which": np.array(decided)}
        check(run_split(library, given, tmp_path), whole(model, given))


@pytest.mark.parametrize("launcher", list(launchers()))
def test_by_mpi(launcher, tmp_path):
    model, feeds = attention()
    library = split(model, "pipeline=2,microbatches=3", tmp_path)
    given = items(feeds, 7)
    check(run_split(library, given, tmp_path, [*launcher, "-n", "2"]), whole(model, given))
