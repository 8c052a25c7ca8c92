# SPDX-License-Identifier: Apache-2.0
"""Quantization with error bounds and a cost model. Contractions stay float32 where integers would
be slower."""

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import helper
from quantizing import ALWAYS, decibels, layer, model_of, net, product, samples, weights


@pytest.mark.parametrize("share", [2, 0.5, 0.1])
def test_the_largest_error_is_held(share):
    data = samples((1, 3, 12, 12), count=3)
    how = ALWAYS | {"bias_correction": False}
    free = hewn.compile(net(1), quantize=how, calibration=data)
    bound = share * free.report["outputs"]["y"]["max_abs_error"]
    module = hewn.compile(net(1), quantize=how, calibration=data, max_error=bound)
    floats = hewn.compile(net(1))
    assert max(np.abs(module.run({"x": x})["y"] - floats.run({"x": x})["y"]).max() for x in data) <= bound * 1.001
    assert bool(module.report.get("returned_to_float")) == (share < 1)


def test_both_bounds_are_held():
    data = samples((1, 3, 12, 12), count=3)
    module = hewn.compile(net(1), quantize=ALWAYS, calibration=data, max_error=1e3, min_sqnr=60)
    assert module.report["outputs"]["y"]["sqnr_db"] >= 60 and module.report["returned_to_float"]


def test_bounds_are_numbers_above_zero():
    wrong = (
        ("max_error", "x"),
        ("max_error", 0),
        ("max_error", -1.0),
        ("max_error", 10**400),
        ("min_sqnr", 0),
        ("min_sqnr", 300),
    )
    for given in ({name: value} for name, value in wrong):
        with pytest.raises(ValueError, match="must be a number above 0"):
            hewn.compile(product(), quantize="int8", calibration=samples((2, 48)), **given)
    with pytest.raises(hewn.CompileError, match="a bound of the error needs calibration data"):
        hewn.compile(product(), quantize="int8", max_error=1)


def test_times_are_of_both_models():
    module = hewn.compile(net(1), quantize=ALWAYS, calibration=samples((1, 3, 12, 12)))
    times = module.report["milliseconds"]
    assert times["float32"] > 0 and times["quantized"] > 0 and times["rounds"] >= 3
    cycles = layer(module, "second")
    assert (
        cycles["float_cycles"] > 0
        and cycles["integer_cycles"] > 0
        and cycles["float_cycles"] != cycles["integer_cycles"]
    )
    assert "milliseconds" not in hewn.compile(net(1), quantize=module.report["quantization"]).report


def test_operands_are_compared_whole():
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["s"], name="first"),
        helper.make_node("MatMul", ["s", "b"], ["y"], name="second"),
    ]
    model = model_of(nodes, [8, 48], {"a": weights(0, 48, 40), "b": weights(1, 40, 24)})
    second = layer(hewn.compile(model, quantize=ALWAYS, calibration=samples((8, 48))), "second")
    assert 0.99 < second["operand_cosine"] < 1 and second["operand_max_abs_error"] > 0
    assert 0.5 < second["operand_argmax_agreement"] <= 1 and second["operand_sqnr_db"] > 20


def window(channels):
    w = weights(1, channels, channels, 3, 3)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="window", pads=[1, 1, 1, 1])]
    return model_of(nodes, [1, channels, 14, 14], {"w": w})


def test_what_would_be_slower_stays_float():
    """A float32 Winograd convolution needs fewer instructions than pairwise 16-bit dot products,
    and more than 4-way 8-bit dot products."""
    data = samples((1, 64, 14, 14), 2)
    module = compiled(window(64), "x86-64-v3", quantize="int8", calibration=data)
    told = layer(module, "window")
    assert told["weights"] == "float32" and "estimated cycles: " in told["why"]
    assert told["integer_cycles"] > told["float_cycles"]
    text = module.report["quantization"]
    again = compiled(window(64), "x86-64-v3", quantize=text)
    assert layer(again, "window")["why"] == told["why"]
    np.testing.assert_array_equal(
        module.run({"x": data[0]})["y"], compiled(window(64), "x86-64-v3").run({"x": data[0]})["y"]
    )


def test_what_is_no_slower_is_integers():
    fast = compiled(window(64), "icelake-server", quantize="int8", calibration=samples((1, 64, 14, 14), 2))
    assert layer(fast, "window")["weights"] == "int8"


def test_no_bound_holds_what_is_no_number():
    """Rounding makes a value negative, and its square root is NaN in the output. The contraction
    falls back to float32 to satisfy the error bounds."""
    x, w = (np.abs(samples(shape)[0]) for shape in ((16, 32), (32, 8)))
    limit = (x @ w - 1e-3).astype("f")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="fc"),
        helper.make_node("Sub", ["p", "limit"], ["d"]),
        helper.make_node("Sqrt", ["d"], ["y"]),
    ]
    model = model_of(nodes, [16, 32], {"w": w, "limit": limit})
    how = ALWAYS | {"bias_correction": False, "smoothing": False}
    free = hewn.compile(model, quantize=how, calibration=[x])
    assert np.isnan(free.run({"x": x})["y"]).any() and free.report["outputs"]["y"]["sqnr_db"] == -200
    held = hewn.compile(model, quantize=how, calibration=[x], max_error=0.4, min_sqnr=150)
    assert held.report["returned_to_float"] == ["fc"] and not np.isnan(held.run({"x": x})["y"]).any()
    nodes[2:] = [
        helper.make_node("Greater", ["d", "zero"], ["g"]),
        helper.make_node("Reshape", ["g", "flat"], ["picked"]),
        helper.make_node("Compress", ["p", "picked"], ["y"]),
    ]
    constants = {"w": w, "limit": limit, "zero": np.float32(0), "flat": np.int64([-1])}
    held = hewn.compile(model_of(nodes, [16, 32], constants), quantize=how, calibration=[x], max_error=100)
    assert held.report["returned_to_float"] == ["fc"]


def test_a_sum_of_nothing_is_rounded_by_data():
    """GPTQ terminates for a contraction with K = 0, whose result is zero."""
    empty = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [4, 0], {"w": np.zeros((0, 8), "f")})
    x = np.zeros((4, 0), "f")
    module = hewn.compile(empty, quantize={"weights": {"rounding": "gptq"}}, calibration=[x])
    np.testing.assert_array_equal(module.run({"x": x})["y"], np.zeros((4, 8), "f"))


def test_integers_that_are_asked_for_are_taken():
    """The compiler uses integers that the user requests explicitly, even if they are slower. The
    quantization file records the request."""
    data = samples((1, 64, 14, 14), 2)
    module = compiled(window(64), "x86-64-v3", quantize={"keep_float": False}, calibration=data)
    told = layer(module, "window")
    assert told["weights"] == "int8" and told["integer_cycles"] > told["float_cycles"]
    assert module.report["quantization"]["keep_float"] is False
    again = compiled(window(64), "x86-64-v3", quantize=module.report["quantization"])
    np.testing.assert_array_equal(again.run({"x": data[0]})["y"], module.run({"x": data[0]})["y"])
    rules = {"keep_float": True, "rules": [{"op": "conv", "keep_float": False}]}
    chosen = compiled(window(64), "x86-64-v3", quantize=rules, calibration=data)
    assert layer(chosen, "window")["weights"] == "int8"
    nothing = compiled(window(64), "x86-64-v3", quantize={"keep_float": True}, calibration=data)
    assert layer(nothing, "window")["why"] == "the quantization keeps it in float"


def test_what_the_user_chose_is_taken():
    """The cost model does not apply to a quantization candidate that a quantization file lists."""
    text = {"bias_correction": False, "sites": [{"node": "window", "scale": 0.03, "zero_point": 128}]}
    module = compiled(window(64), "x86-64-v3", quantize=text)
    assert layer(module, "window")["weights"] == "int8"


def test_weights_that_are_decoded_late_stay_float():
    """A GEMM of many rows dequantizes low-bit weights to float panels. Quantizing them would lose
    accuracy without making the GEMM faster."""
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [64, 256], {"w": weights(0, 256, 512)})
    few = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [1, 256], {"w": weights(0, 256, 512)})
    told = layer(compiled(model, "x86-64-v3", quantize="int4"), "fc")
    assert told["weights"] == "float32"
    assert (
        told["why"]
        == "float weights are faster: the GEMM has many rows, and loading panels is cheaper than dequantizing them"
    )
    assert layer(compiled(few, "x86-64-v3", quantize="int4"), "fc")["weights"] == "int4"


def test_a_model_that_comes_quantized_is_not_slower():
    """If a model is already quantized and its integers are slower on a target, they become float
    there, with a remark. The results differ only by the order of addition."""
    w = weights(1, 64, 64, 3, 3)
    scale = np.float32(np.abs(w).max() / 127)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["a"]),
        helper.make_node("DequantizeLinear", ["wq", "ws"], ["b"]),
        helper.make_node("Conv", ["a", "b"], ["y"], name="window", pads=[1, 1, 1, 1]),
    ]
    constants = {"s": np.float32(0.03), "z": np.uint8(128), "wq": np.rint(w / scale).astype("i1"), "ws": scale}
    model = model_of(nodes, [1, 64, 14, 14], constants)
    x = samples((1, 64, 14, 14))[0]
    fast, slow = (compiled(model, target).run({"x": x})["y"] for target in ("host", "x86-64-v3"))
    assert decibels(fast, slow) > 90


@pytest.mark.parametrize(
    "given, error, what",
    [
        ("", ValueError, "got an empty string"),
        (8, TypeError, "quantize must be a scheme such as 'int8', a file or a dict, got int"),
        ({"weights": np.zeros(1)}, TypeError, "quantize cannot be represented in JSON"),
        ({"smoothing": float("nan")}, TypeError, "quantize cannot be represented in JSON"),
        ({"sites": {}}, hewn.CompileError, "quantization: the text has a 'sites' that is not a list"),
    ],
)
def test_what_is_no_quantization(given, error, what):
    with pytest.raises(error, match=what):
        hewn.compile(product(), quantize=given, calibration=samples((4, 48)))


def test_samples_that_show_nothing():
    """If samples have no rows, or have infinities, the contraction stays float32, with a
    warning."""
    nothing = (np.zeros((0, 48), "f"), "its operand was empty in all calibration runs")
    infinite = (np.full((4, 48), np.inf, "f"), "its operand was not finite in a calibration run")
    for x, why in (nothing, infinite):
        with pytest.warns(match="1 contractions got operands that are not finite or empty"):
            module = hewn.compile(product(), quantize=ALWAYS, calibration=[x])
        assert layer(module, "fc")["why"] == why


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "a.npy").write_text("junk")
    with pytest.raises(ValueError, match=r"calibration data: .*a\.npy"):
        hewn.compile(product(), quantize=ALWAYS, calibration=tmp_path)
    with pytest.raises(TypeError, match="calibration data: a sample has unsupported type object"):
        hewn.compile(product(), quantize=ALWAYS, calibration=[None])


def test_what_saves_next_to_nothing_stays():
    """A small matmul (1 x 64 by 64 x 16) next to a large one stays float: quantizing it would save
    little."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="large"),
        helper.make_node("ReduceMean", ["a", "axis"], ["m"], keepdims=1),
        helper.make_node("MatMul", ["m", "v"], ["g"], name="gate"),
        helper.make_node("Sigmoid", ["g"], ["s"]),
        helper.make_node("Mul", ["a", "s"], ["y"]),
    ]
    constants = {"w": weights(0, 4096, 64), "v": weights(1, 64, 16) @ weights(2, 16, 64), "axis": np.array([0])}
    model = model_of(nodes, [1024, 4096], constants)
    module = hewn.compile(model, quantize={"bias_correction": False}, calibration=samples((1024, 4096), 1))
    assert layer(module, "large")["weights"] == "int8"
    assert "less than a thousandth" in layer(module, "gate")["why"]
