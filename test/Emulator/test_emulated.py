# SPDX-License-Identifier: Apache-2.0
"""All kernel forms for GPUs. Each model runs on the emulator under three schedules, and its results
are compared with those of the same model compiled for this machine's CPU."""

import re

import emulated
import hewn
import numpy as np
import pytest
from comparison import compare, feeds_for
from mutation import BARRIER, SCHEDULES, SHUFFLE, WAIT, error_of, is_caught, on_host, without
from onnx import TensorProto, helper
from test_ptx import MODELS, concat_of, model
from test_rows import rows_that_meet
from test_subviews import padded_concatenation


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", MODELS)
def test_as_on_the_host(name, schedule):
    feeds, want = on_host(MODELS[name])
    with emulated.compiled(MODELS[name]) as module, emulated.setting("SCHEDULE", schedule):
        compare(module.run(feeds), want)
        # The model runs twice, because the second run uses memory that the first run has written.
        compare(module.run(feeds), want)


def product_error(x, w, precision):
    """Returns the largest errors of x @ w relative to |x| @ |w|: the error of the compiled model,
    and that of NumPy's float32 matmul."""
    exact = x.astype(np.float64) @ w.astype(np.float64)
    scale = np.abs(x).astype(np.float64) @ np.abs(w).astype(np.float64)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    inputs = [("x", TensorProto.FLOAT, list(x.shape))]
    product = model(nodes, inputs, [("y", TensorProto.FLOAT)], w=w)
    with emulated.compiled(product, precision=precision) as module:
        got = module.run({"x": x})["y"]
    return np.abs((got - exact) / scale).max(), np.abs((x @ w - exact) / scale).max()


@pytest.mark.parametrize("shape", [(64, 300, 128), (33, 64, 17), (100, 1024, 36)])
def test_products_are_as_exact_as_asked_for(shape):
    rows, summed, columns = shape
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, summed)).astype(np.float32) * 10.0 ** random.integers(-3, 4, (rows, summed))
    w = random.standard_normal((summed, columns)).astype(np.float32)
    error, plain = product_error(x.astype(np.float32), w, "highest")
    assert error < max(2 * plain, 2e-7)
    error, _ = product_error(x.astype(np.float32), w, "high")
    assert 1e-6 < error < 1e-3
    error, _ = product_error(x.astype(np.float32), w, "medium")
    assert 1e-5 < error < 1e-2


def test_exponentials_are_zero_or_normal():
    """Exponentials flush denormal results to zero, as on CPUs
    (docs/decisions/numbers/denormals.md)."""
    x = np.linspace(-110, 20, 1301).astype(np.float32)
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Sigmoid", ["x"], ["s"])]
    outputs = [("e", TensorProto.FLOAT), ("s", TensorProto.FLOAT)]
    with emulated.compiled(model(nodes, [("x", TensorProto.FLOAT, [1301])], outputs)) as module:
        got = module.run({"x": x})
    exact = np.exp(x.astype(np.float64))
    for values, want in ((got["e"], exact), (got["s"], exact / (1 + exact))):
        assert ((values == 0) | (values >= np.finfo(np.float32).smallest_normal)).all()
        np.testing.assert_allclose(values, want, rtol=1e-5, atol=np.finfo(np.float32).smallest_normal)
        normal = want > 1.00001 * np.finfo(np.float32).smallest_normal
        np.testing.assert_allclose(values[normal], want[normal], rtol=1e-5)


def test_products_keep_special_values():
    """GEMMs with infinities, NaNs, and the largest and smallest float32 values give the results of
    float32 arithmetic."""
    x = np.ones((32, 64), np.float32)
    w = np.ones((64, 32), np.float32)
    x[0, 3], x[1, 3], x[2, 3], x[3, 3:5] = np.inf, -np.inf, np.nan, (np.inf, -np.inf)
    x[4, 3], x[5, 3], x[6], x[7] = 3.4028234e38, 3.4025e38, 0, 1e-33
    w[3, 1] = 0.1  # 0.1 needs more than one TF32 component
    w[3, 2] = 0
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    inputs = [("x", TensorProto.FLOAT, [32, 64]), ("w", TensorProto.FLOAT, [64, 32])]
    with np.errstate(invalid="ignore"):
        want = x @ w
    with emulated.compiled(model(nodes, inputs, [("y", TensorProto.FLOAT)])) as module:
        np.testing.assert_allclose(module.run({"x": x, "w": w})["y"], want, rtol=1e-6)


def branch(name, op):
    node = helper.make_node(op, ["x", "y"], [name])
    return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8])])


def test_control_flow():
    """In a GPU model with an If or Loop, the host evaluates the conditions, and the device computes
    the branches and bodies."""
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["z"], then_branch=branch("a", "Add"), else_branch=branch("b", "Mul")),
        helper.make_node("Relu", ["z"], ["r"]),
    ]
    inputs = [("x", TensorProto.FLOAT, [8]), ("y", TensorProto.FLOAT, [8])]
    both = model(nodes, inputs, [("r", TensorProto.FLOAT)], zero=np.float32(0))
    with emulated.compiled(both) as module:
        y = np.arange(8, dtype=np.float32)
        for x in (np.full(8, 2, np.float32), np.full(8, -2, np.float32)):
            want = np.maximum(x + y if x.sum() > 0 else x * y, 0)
            np.testing.assert_allclose(module.run({"x": x, "y": y})["r"], want)


def test_parts_of_the_host():
    """Ops that the runtime computes on the host read operands from device memory, and write their
    results there."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["m"]),
        helper.make_node("TopK", ["m", "k"], ["v", "i"]),
        helper.make_node("Neg", ["v"], ["n"]),
        helper.make_node("NonZero", ["m"], ["z"]),
        helper.make_node("Add", ["z", "z"], ["zz"]),
    ]
    outputs = [("n", TensorProto.FLOAT), ("i", TensorProto.INT64), ("zz", TensorProto.INT64)]
    parts = model(nodes, [("x", TensorProto.FLOAT, [20])], outputs, k=np.array([3]))
    reference = hewn.compile(parts)
    feeds = {"x": (np.arange(20) % 7 - 3).astype(np.float32)}
    with emulated.compiled(parts) as module:
        compare(module.run(feeds), reference.run(feeds))


def test_runs_are_recorded():
    """A run is one launch of a captured graph. The runtime captures the graph again if dims change
    or memory grows. The caller's memory may change from run to run."""
    random = np.random.default_rng(0)
    with emulated.compiled(MODELS["symbolic"]) as module:

        def run(rows):
            x = random.standard_normal((rows, 8)).astype(np.float32)
            graphs, launches = emulated.DRIVER.emulator_graphs(), emulated.DRIVER.emulator_launches()
            np.testing.assert_array_equal(module.run({"x0": x})["y"], np.maximum(x, 0))
            assert emulated.DRIVER.emulator_graphs() == graphs + 1
            # The run that captures the graph launches its kernels one by one, unlike a replay,
            # which is one graph launch.
            return emulated.DRIVER.emulator_launches() - launches

        assert [run(rows) for rows in (5, 5, 3, 3, 100, 5, 5)] == [1, 0, 1, 0, 1, 1, 0]


def test_scans_are_recorded():
    with emulated.compiled(MODELS["recurrent"]) as module:
        feeds = feeds_for(module.inputs)
        first = module.run(feeds)
        launches = emulated.DRIVER.emulator_launches()
        compare(module.run(feeds), first)
        assert emulated.DRIVER.emulator_launches() == launches


def test_nothing_is_left():
    before = emulated.DRIVER.emulator_allocations()
    with emulated.compiled(MODELS["recurrent"]) as module:
        module.run(feeds_for(module.inputs))
        assert emulated.DRIVER.emulator_allocations() > before
        del module
    assert emulated.DRIVER.emulator_allocations() == before


FAILURES = {
    "no-device": "the NVIDIA driver finds no device",
    "old-driver": "the driver, for CUDA 12.0, is too old for the model's code, which is PTX 7.0",
    "wrong-device": "compiled for sm_80, which this device does not run: emulator",
    "out-of-memory": "out of device memory: the model's weights needs [0-9]+ bytes; device 0 has 1000 of 4000 free",
}


@pytest.mark.parametrize("what", FAILURES)
def test_failures_when_loaded(what):
    before = emulated.DRIVER.emulator_allocations()
    is_refused = pytest.raises(hewn.RunError, match=FAILURES[what])
    with emulated.setting("FAIL", what), is_refused, emulated.compiled(MODELS["product"]):
        pass
    assert emulated.DRIVER.emulator_allocations() == before


def test_a_device_that_is_lost():
    with emulated.compiled(MODELS["elementwise"]) as module:
        feeds = feeds_for(module.inputs)
        with emulated.setting("FAIL", "launch"), pytest.raises(hewn.RunError, match="unspecified launch failure"):
            module.run(feeds)
        with pytest.raises(hewn.RunError, match="the device failed in an earlier run"):
            module.run(feeds)


MUTATIONS = {
    "softmax": [BARRIER, SHUFFLE],
    "product": [BARRIER, WAIT],
    "half-product": [BARRIER, WAIT],
    "half-of-odd-sizes": [BARRIER],
    "parts-of-sums": [BARRIER, WAIT],
    "convolution": [BARRIER, WAIT],
    "norm": [BARRIER, SHUFFLE],
    "wide-rows": [SHUFFLE],
    "few-rows": [BARRIER, SHUFFLE],
    "turn": [BARRIER],
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_caught(name):
    """A kernel gives wrong results without its barriers, with shuffles that return the thread's own
    value, or with a wait that leaves one more copy group pending."""
    for call in MUTATIONS[name]:
        assert is_caught(MODELS[name], without(call)), call


def test_many_arguments():
    """Compiles a kernel with more arguments than PTX versions before 8.1 allow."""
    built = concat_of(600)
    assert not error_of(built, *on_host(built), "forward")


def test_accesses_that_do_not_lie_so():
    """A vector access whose address is not aligned to its size ends the kernel, as on a device."""
    model = MODELS["elementwise"]
    wanted = error_of(
        model,
        *on_host(model),
        "forward",
        lambda text: re.sub(r"(load|store) (.*), align \d+", r"\1 \2, align 4096", text),
    )
    assert "CUDA error 719" in wanted


@pytest.mark.parametrize("generate", [padded_concatenation, rows_that_meet])
@pytest.mark.parametrize("seed", range(4))
def test_generated(generate, seed):
    """Runs random models from the generators that also test loops for the CPU."""
    generator = np.random.default_rng(100 + seed)
    for _ in range(3):
        model, feeds = generate(generator)
        assert not error_of(model, *on_host(model, feeds), "forward")
