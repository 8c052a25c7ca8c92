# SPDX-License-Identifier: Apache-2.0
"""Quantization by the compiler. Compares ranges, integers and reports with numpy and with ONNX's
definition."""

import json
import pathlib

import hewn
import numpy as np
import pytest
from numeric import compiled
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from quantizing import ALWAYS, decibels, layer, model_of, net, product, quantized, samples, site, weights


def test_minmax_is_what_was_seen():
    data = samples((4, 48))
    how = ALWAYS | {"smoothing": False, "activations": {"range": "minmax"}}
    module = hewn.compile(product(), quantize=how, calibration=data)
    low, high = min(x.min() for x in data), max(x.max() for x in data)
    found = site(module, "fc")
    assert found["scale"] == pytest.approx((float(high) - float(low)) / 255, rel=1e-6)
    assert found["zero_point"] == round(-low / found["scale"])
    assert layer(module, "fc")["range"] == pytest.approx([low, high]) and layer(module, "fc")["clipped"] == 0


def test_symmetric_has_zero_in_the_middle():
    data = samples((4, 48))
    how = ALWAYS | {"smoothing": False, "activations": {"range": "minmax", "symmetric": True}}
    module = hewn.compile(product(), quantize=how, calibration=data)
    assert site(module, "fc")["zero_point"] == 128
    assert site(module, "fc")["scale"] == pytest.approx(max(np.abs(x).max() for x in data) / 127, rel=1e-6)


def test_order_and_widening_do_not_matter():
    """The order of samples does not affect the calibration statistics, although the range of the
    histogram grows with each sample."""
    data = [x * np.float32(4.0**i) for i, x in enumerate(samples((4, 48)))]
    found = [
        site(hewn.compile(product(), quantize=ALWAYS | {"activations": {"range": method}}, calibration=order), "fc")
        for method in ("mse", "percentile", "entropy")
        for order in (data, data[::-1])
    ]
    assert found[0] == found[1] and found[2] == found[3] and found[4] == found[5]


@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential", "standard_cauchy"])
def test_mse_is_the_least_of_all_ranges(draw):
    """The range with the least mean squared error is as good as the best of 600 ranges, within the
    resolution of the histogram."""
    generator = np.random.default_rng(3)
    data = [np.clip(getattr(generator, draw)((16, 48)), -80, 80).astype("f") for _ in range(4)]
    seen = np.concatenate(data)

    def noise(scale, zero):
        return np.sum((seen - (quantized(seen, scale, zero) - zero) * scale) ** 2)

    found = site(hewn.compile(product(), quantize=ALWAYS | {"smoothing": False}, calibration=data), "fc")
    low, high = min(seen.min(), 0), seen.max()
    ranges = [(low * i / 24, high * j / 24) for i in range(25) for j in range(1, 25)]
    best = min(noise((to - of) / 255, round(-of / ((to - of) / 255))) for of, to in ranges)
    assert noise(found["scale"], found["zero_point"]) < 1.05 * best


def test_percentile_leaves_its_share_outside():
    data = samples((256, 48))
    how = ALWAYS | {"activations": {"range": "percentile", "percentile": 99}}
    assert 0.01 < layer(hewn.compile(product(), quantize=how, calibration=data), "fc")["clipped"] < 0.022


def test_zeros_have_a_range():
    module = hewn.compile(product(), quantize=ALWAYS, calibration=[np.zeros((2, 48), "f")])
    assert not module.run({"x": np.zeros((2, 48), "f")})["y"].any()


@pytest.mark.parametrize("target", ["host", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_as_onnx_defines_it(target):
    """The result equals that of QuantizeLinear, DequantizeLinear and a float matmul with the same
    scales and zero points."""
    data, columns = samples((5, 48)), 24
    chosen = hewn.compile(
        product(columns=columns), quantize=ALWAYS | {"bias_correction": False, "smoothing": False}, calibration=data
    )
    module = compiled(product(columns=columns), target, quantize=chosen.report["quantization"])
    found, w = site(chosen, "fc"), weights(0, 48, columns)
    scale = np.abs(w).max(axis=0) / np.float32(127)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["a"]),
        helper.make_node("DequantizeLinear", ["wq", "ws"], ["b"], axis=1),
        helper.make_node("MatMul", ["a", "b"], ["y"]),
    ]
    constants = {"s": np.float32(found["scale"]), "z": np.uint8(found["zero_point"])}
    constants |= {"wq": np.rint(w / scale).astype("i1"), "ws": scale}
    reference = ReferenceEvaluator(model_of(nodes, [5, 48], constants))
    for x in data:
        np.testing.assert_allclose(module.run({"x": x})["y"], reference.run(None, {"x": x})[0], rtol=1e-5, atol=1e-5)


def test_report_is_of_the_artifact():
    data = samples((2, 3, 12, 12))
    model = net()
    module = hewn.compile(model, quantize=ALWAYS, calibration=data)
    floats = hewn.compile(model)
    want, got = (np.stack([m.run({"x": x})["y"] for x in data]) for m in (floats, module))
    told = module.report["outputs"]["y"]
    assert told["sqnr_db"] == pytest.approx(decibels(want, got), abs=0.1) and told["sqnr_db"] > 25
    assert told["max_abs_error"] == pytest.approx(np.abs(want - got).max(), rel=1e-3)
    assert told["argmax_agreement"] == pytest.approx(np.mean(want.argmax(-1) == got.argmax(-1)))
    assert module.report["samples"] == module.report["samples_compared"] == len(data)
    integers = [one["node"] for one in module.report["layers"] if one["activations"] == "uint8"]
    assert integers == ["first", "second", "third", "last"]
    assert layer(module, "depthwise")["why"] == "the right operand has no column dim of its own"
    assert floats.report is None


def test_naive_code_computes_the_same():
    """With the same quantization file, -O0 emits other code: it dequantizes the integers and
    multiplies floats."""
    data = samples((1, 3, 12, 12))
    module = hewn.compile(net(1), quantize=ALWAYS, calibration=data)
    naive = hewn.compile(net(1), quantize=module.report["quantization"], optimize=False)
    for x in data:
        want, got = naive.run({"x": x})["y"], module.run({"x": x})["y"]
        # An element of the result that rounds to another integer than the reference differs by one
        # step (the scale).
        assert decibels(want, got) > 40


def test_text_gives_the_same_again(tmp_path):
    data = samples((1, 3, 12, 12))
    first = hewn.compile(net(1), quantize=ALWAYS, calibration=data, output=tmp_path / "first.so")
    (tmp_path / "chosen.json").write_text(json.dumps(first.report["quantization"]))
    again = hewn.compile(net(1), quantize=tmp_path / "chosen.json", output=tmp_path / "again.so")
    assert (tmp_path / "first.so.weights").read_bytes()[64:] == (tmp_path / "again.so.weights").read_bytes()[64:]
    for x in data:
        np.testing.assert_array_equal(first.run({"x": x})["y"], again.run({"x": x})["y"])
    assert again.report["quantization"] == first.report["quantization"] and not again.report["outputs"]


def test_rules_choose_by_name_and_kind():
    data = samples((1, 3, 12, 12))
    how = ALWAYS | {"rules": [{"op": "conv", "keep_float": True}, {"node": "s*", "activations": {"range": "minmax"}}]}
    module = hewn.compile(net(1), quantize=how, calibration=data)
    assert [one["node"] for one in module.report["layers"] if one["weights"] == "int8"] == ["second", "last"]
    assert layer(module, "first")["why"] == "the quantization keeps it in float"
    assert site(module, "second")["activations"]["range"] == "minmax"


@pytest.mark.parametrize("bound", [20, 38, 44, 60])
def test_bound_is_held(bound):
    data = samples((1, 3, 12, 12), count=3)
    how = ALWAYS | {"bias_correction": False, "smoothing": False}
    module = hewn.compile(net(1), quantize=how, calibration=data, min_sqnr=bound)
    floats = hewn.compile(net(1))
    want, got = (np.stack([m.run({"x": x})["y"] for x in data]) for m in (floats, module))
    assert np.array_equal(want, got) or decibels(want, got) >= bound
    back = module.report.get("returned_to_float", [])
    assert bool(back) == (bound > 40)
    assert all("the bound was not met" in layer(module, name)["why"] for name in back)


def test_sizes_known_when_run():
    data = [x for n in (1, 3, 2) for x in samples((n, 3, 12, 12), 2, n)]
    module = hewn.compile(net(), quantize=ALWAYS, calibration=data)
    floats = hewn.compile(net())
    for x in data:
        assert decibels(floats.run({"x": x})["y"], module.run({"x": x})["y"]) > 25


def test_feeds_come_once_and_by_name(tmp_path):
    data = samples((2, 48))

    def report(calibration):
        whole = hewn.compile(product(), quantize="int8", calibration=calibration).report
        assert whole.pop("milliseconds")["rounds"] > 0  # times differ between runs
        return whole

    for i, x in enumerate(data):
        np.savez(tmp_path / f"{i}.npz", x=x)
    by_name, from_files, bare = report({"x": x} for x in data), report(tmp_path), report(data)
    assert by_name == from_files == bare


def test_a_scalar_is_a_scalar(tmp_path):
    """Calibration samples from a folder and from an iterable may contain scalar inputs."""
    graph = product().graph
    graph.input.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, []))
    graph.node[0].input[0] = "h"
    graph.node.insert(0, helper.make_node("Mul", ["x", "s"], ["h"]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    data = [{"x": x, "s": np.array(2, "f")} for x in samples((4, 48), 2)]
    for number, sample in enumerate(data):
        np.savez(tmp_path / f"{number}.npz", **sample)
    of_dicts, of_files = (hewn.compile(model, quantize="int8", calibration=given) for given in (data, tmp_path))
    assert of_dicts.report["quantization"] == of_files.report["quantization"]


def test_what_an_iterable_raises_is_raised():
    def broken():
        yield np.zeros((2, 48), "f")
        raise LookupError("no more pictures")

    with pytest.raises(LookupError, match="no more pictures"):
        hewn.compile(product(), quantize="int8", calibration=broken())
    with pytest.raises(TypeError, match="an iterable of feeds, got dict"):
        hewn.compile(product(), quantize="int8", calibration={"x": np.zeros((2, 48), "f")})
    with pytest.raises(hewn.CompileError, match="the calibration data has no samples"):
        hewn.compile(product(), quantize="int8", calibration=[])
    with pytest.raises(hewn.CompileError, match="a bound of the error needs calibration data"):
        hewn.compile(product(), quantize="int8", min_sqnr=30)
    with pytest.raises(ValueError, match="require quantize, for example quantize='int8'"):
        hewn.compile(product(), calibration=[])


def test_operands_that_are_not_finite_stay_float():
    nodes = [helper.make_node("Log", ["x"], ["l"]), helper.make_node("MatMul", ["l", "w"], ["y"], name="fc")]
    model = model_of(nodes, [2, 48], {"w": weights(0, 48, 24)})
    x = np.ones((2, 48), "f")
    x[1, 3] = 0
    module = hewn.compile(model, quantize="int8", calibration=[x])
    assert layer(module, "fc")["why"] == "its operand was not finite in a calibration run"
    np.testing.assert_array_equal(module.run({"x": x})["y"], hewn.compile(model).run({"x": x})["y"])


def test_steps_of_a_loop_stay_float():
    """A contraction in a loop stays float, because calibration records no ranges for it. A
    contraction before the loop is quantized."""
    generator = np.random.default_rng(2)
    constants = {"p": weights(0, 48, 16)}
    constants |= {"w": generator.standard_normal((1, 64, 16)).astype("f"), "r": weights(1, 1, 64, 16)}
    nodes = [
        helper.make_node("MatMul", ["x", "p"], ["s"], name="project"),
        helper.make_node("LSTM", ["s", "w", "r"], ["y"], name="steps", hidden_size=16),
    ]
    model = model_of(nodes, [7, 1, 48], constants)
    data = samples((7, 1, 48))
    module = hewn.compile(model, quantize=ALWAYS, calibration=data)
    assert layer(module, "project")["activations"] == "uint8"
    assert "it is inside of a branch or loop, where ranges are not calibrated" in {
        one.get("why") for one in module.report["layers"]
    }
    floats = hewn.compile(model)
    assert decibels(floats.run({"x": data[0]})["y"], module.run({"x": data[0]})["y"]) > 25


def test_a_bfloat16_input_is_taken():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    nodes = [helper.make_node("Cast", ["x"], ["f"], to=1), helper.make_node("MatMul", ["f", "w"], ["y"], name="fc")]
    model = model_of(nodes, [2, 48], {"w": weights(0, 48, 24)})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.BFLOAT16
    data = [x.astype(ml_dtypes.bfloat16) for x in samples((2, 48))]
    assert layer(hewn.compile(model, quantize=ALWAYS, calibration=data), "fc")["activations"] == "uint8"


@pytest.mark.parametrize("bits, group", [(8, 0), (4, 32), (4, 128), (2, 16)])
def test_weights_alone(bits, group, tmp_path):
    """Quantizes only the weights of matmuls, with one scale per group along K. Tests the rounded
    values and the size of the weights file."""
    w = weights(0, 256, 512)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [1, 256], {"w": w})
    how = {"weights": {"type": f"int{bits}", "group": group}, "activations": {"type": "float32"}}
    module = hewn.compile(model, quantize=how, output=tmp_path / "m.so")
    length = group or 256
    groups = w.reshape(256 // length, length, 512)
    high = 2 ** (bits - 1) - 1
    scale = np.abs(groups).max(axis=1, keepdims=True) / np.float32(high)
    q = np.clip(np.rint(groups / scale), -high if bits == 8 else -high - 1, high)
    x = samples((1, 256), 1)[0]
    np.testing.assert_allclose(module.run({"x": x})["y"], x @ (q * scale).reshape(w.shape), rtol=1e-4, atol=1e-4)
    assert layer(module, "fc")["weights_sqnr_db"] == pytest.approx(decibels(groups, (q * scale).astype("f")), abs=0.05)
    most = w.size * bits / 8 + 4 * w.size / length
    # The weights file is larger than the packed weights because of page alignment and the padding
    # of panels.
    assert pathlib.Path(tmp_path / "m.so.weights").stat().st_size < most + 8192


def test_least_error_beats_the_largest_element():
    w = np.random.default_rng(5).standard_t(4, (256, 512)).astype("f")
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [1, 256], {"w": w})

    def noise(method):
        how = {"weights": {"type": "int4", "group": 32, "range": method}, "activations": {"type": "float32"}}
        return layer(hewn.compile(model, quantize=how), "fc")["weights_sqnr_db"]

    assert noise("mse") > noise("minmax") + 0.5


def test_without_data_weights_alone(recwarn):
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="fc")], [1, 256], {"w": weights(0, 256, 512)})
    module = hewn.compile(model, quantize="int8")
    assert layer(module, "fc")["weights"] == "int8" and layer(module, "fc")["activations"] == "float32"
    assert any("only weights are quantized" in str(one.message) for one in recwarn)


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("size, step", [(1, 1), (3, 1), (3, 2), (5, 1)])
def test_windows_by_weights_alone(size, step, symmetric, always, target, tmp_path):
    """Quantizes only weights of convolutions, to 8 bits with one scale per feature. The file has
    one byte per weight, or two with zero points or Winograd."""

    def window(w):
        node = helper.make_node("Conv", ["x", "w"], ["y"], name="window", strides=[step] * 2, pads=[size // 2] * 4)
        return model_of([node], [1, 144, 17, 19], {"w": w})

    w = weights(3, 128, 144, size, size) + np.float32(0 if symmetric else 0.01)
    how = {"weights": {"type": "int8", "symmetric": symmetric}, "activations": {"type": "float32"}}
    how |= {"keep_float": False} if always else {}
    module = compiled(window(w), target, quantize=how, output=tmp_path / "m.so")
    told, is_filtered = layer(module, "window"), size == 3 and step == 1
    assert told["weights"] == "int8", told.get("why")
    halves = not symmetric or (is_filtered and not always)
    assert told["weight_bytes"] == (2 if halves else 1) * w.size + 4 * 128
    # The compiler stores 8-bit weights of a 3x3 convolution with zero points as float16 Winograd
    # weights.
    grown = 16 / 9 if is_filtered and halves else 1
    assert (tmp_path / "m.so.weights").stat().st_size < (2 if halves else 1) * grown * w.size + 8192
    low, high = -128 if not symmetric else -127, 127
    most = w.max(axis=(1, 2, 3), keepdims=True).clip(0)
    least = w.min(axis=(1, 2, 3), keepdims=True).clip(None, 0)
    scale = (most - least) / np.float32(255) if not symmetric else np.maximum(most, -least) / np.float32(127)
    zero = np.clip(np.rint(low - least / scale), low, high) if not symmetric else 0
    kept = ((np.clip(np.rint(w / scale + zero), low, high) - zero) * scale).astype("f")
    x = np.random.default_rng(4).standard_normal((1, 144, 17, 19)).astype("f")
    want = compiled(window(kept), target).run({"x": x})["y"]
    np.testing.assert_allclose(module.run({"x": x})["y"], want, rtol=0, atol=8e-6 * np.abs(want).max())


def test_the_same_name_twice():
    """The quantization report and file distinguish contractions of nodes with equal names, and of
    nodes without names."""
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["s"], name="fc"),
        helper.make_node("MatMul", ["s", "b"], ["t"], name="fc"),
        helper.make_node("MatMul", ["t", "a"], ["y"]),
    ]
    model = model_of(nodes, [2, 32], {"a": weights(0, 32, 32), "b": weights(1, 32, 32)})
    module = hewn.compile(model, quantize=ALWAYS, calibration=samples((2, 32)))
    names = [one["node"] for one in module.report["layers"]]
    assert names[:2] == ["fc", "fc:2"] and len(set(names)) == 3
    assert {one["node"] for one in module.report["quantization"]["sites"]} == set(names)


def test_a_report_names_what_onnx_names():
    module = hewn.compile(net(1), quantize=ALWAYS, calibration=samples((1, 3, 12, 12), 1))
    assert {one["node"] for one in module.report["layers"]} <= {node.name for node in net().graph.node}


def test_cases_are_told_once():
    """A model has one program for each specific size, but a contraction has one entry in the
    report."""
    data = samples((1, 3, 12, 12), 2) + samples((4, 3, 12, 12), 2)
    module = hewn.compile(net(), dims={"n": "1,4,1..8"}, quantize=ALWAYS, calibration=data)
    assert len(module.cases) > 1
    names = [one["node"] for one in module.report["layers"]]
    assert names == ["first", "second", "depthwise", "third", "last"]
    floats = hewn.compile(net())
    for x in data:
        assert decibels(floats.run({"x": x})["y"], module.run({"x": x})["y"]) > 25


def test_sequences_are_not_run_on_data():
    model = product((2, 48))
    model.graph.node.append(helper.make_node("SequenceConstruct", ["y"], ["s"]))
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 24])
    model.graph.output.append(helper.make_value_info("s", helper.make_sequence_type_proto(tensor)))
    with pytest.raises(
        hewn.CompileError, match="'s' is a sequence or an optional value, which calibration does not support"
    ):
        hewn.compile(model, quantize="int8", calibration=samples((2, 48)))
