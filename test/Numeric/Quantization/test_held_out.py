# SPDX-License-Identifier: Apache-2.0
"""Samples that nothing is fitted to: every fourth of eight or more, or by turns all of them; what a choice loses on them is what is told, and what a bound holds."""

import hewn
import numpy as np
import pytest
from onnx import TensorProto, helper
from quantizing import ALWAYS, decibels, model_of, product, samples, site, weights

BARE = {
    "bias_correction": False,
    "smoothing": False,
    "weights": {"rounding": "nearest"},
    "activations": {"range": "minmax"},
}
SHAPE = (16, 48)


def with_loud_fourths(count, times):
    """Every fourth sample is larger than the others."""
    return [x * np.float32(1 if (i + 1) % 4 else times) for i, x in enumerate(samples(SHAPE, count))]


def told_and_found(module, data):
    floats = hewn.compile(product())
    want, got = (np.stack([m.run({"x": x})["y"] for x in data]) for m in (floats, module))
    return module.report["outputs"]["y"]["sqnr_db"], decibels(want, got)


@pytest.mark.parametrize("count, held", [(8, [4, 8]), (9, [4, 8]), (13, [4, 8, 12])])
def test_every_fourth_is_held_out(count, held):
    """Ranges are of the others; the report is of these."""
    data = with_loud_fourths(count, 3)
    module = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data)
    assert module.report["held_out"] == held
    assert (module.report["samples"], module.report["samples_compared"]) == (count, len(held))
    quiet = np.stack([x for i, x in enumerate(data, 1) if i not in held])
    assert site(module, "fc")["scale"] == pytest.approx((quiet.max() - quiet.min()) / 255, rel=1e-3)
    told, found = told_and_found(module, [data[i - 1] for i in held])
    assert told == pytest.approx(found, abs=0.1)


def test_of_few_none_is_held_out():
    """All seven are fitted to and compared."""
    data = with_loud_fourths(7, 3)
    module = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data)
    assert module.report["held_out"] == [] and module.report["samples_compared"] == 7
    x = np.stack(data)
    assert site(module, "fc")["scale"] == pytest.approx((x.max() - x.min()) / 255, rel=1e-3)
    told, found = told_and_found(module, data)
    assert told == pytest.approx(found, abs=0.1)


@pytest.mark.parametrize("bound", [{}, {"min_sqnr": 28}])
def test_a_bound_holds_what_is_held_out(bound):
    """What was fitted to would meet it, with more to spare than is asked for."""
    quiet, loud = with_loud_fourths(16, 1), with_loud_fourths(16, 3)
    assert "returned_to_float" not in hewn.compile(product(), quantize=BARE, calibration=quiet, **bound).report
    report = hewn.compile(product(), quantize=BARE, calibration=loud, **bound).report
    assert report["returned_to_float"] == ["fc"]


def test_the_largest_error_is_of_all_samples():
    """Also of those that were fitted to, which is where it is here."""
    data = [x if (i + 1) % 4 else x / 100 for i, x in enumerate(samples(SHAPE, 8))]
    free = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data)
    bound = 1.3 * free.report["outputs"]["y"]["max_abs_error"]
    floats = hewn.compile(product())
    assert max(np.abs(free.run({"x": x})["y"] - floats.run({"x": x})["y"]).max() for x in data) > bound
    held = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data, max_error=bound)
    assert held.report["returned_to_float"] == ["fc"]


@pytest.mark.parametrize("first", range(4))
def test_a_bound_is_judged_by_all_by_turns(first):
    """Whichever fourth of the samples is louder than what ranges would be without it."""
    data = [x * np.float32(3 if i % 4 == first else 1) for i, x in enumerate(samples(SHAPE, 16))]
    report = hewn.compile(product(), quantize=BARE, calibration=data, min_sqnr=28).report
    assert report["returned_to_float"] == ["fc"]
    assert (report["fits"], report["samples_compared"]) == (4, 16)
    assert report["held_out"] == list(range(1, 17))


def in_branches():
    """A product in each branch, chosen by `c`."""

    def branch(name, op):
        nodes = [helper.make_node("MatMul", ["x", "w"], [f"h_{name}"], name=name)]
        nodes.append(helper.make_node(op, [f"h_{name}"], [f"y_{name}"]))
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"y_{name}", TensorProto.FLOAT, None)])

    either = {"then_branch": branch("then", "Relu"), "else_branch": branch("else", "Neg")}
    model = model_of([helper.make_node("If", ["c"], ["y"], **either)], SHAPE, {"w": weights(0, 48, 24)})
    model.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    return model


@pytest.mark.parametrize("count", [7, 16])
def test_products_in_branches_go_back(count):
    """By turns or not."""
    data = [{"x": x, "c": np.array(i % 3 == 0)} for i, x in enumerate(samples(SHAPE, count))]
    held = hewn.compile(in_branches(), quantize=BARE | ALWAYS, calibration=data, min_sqnr=70).report
    assert set(held["returned_to_float"]) == {"then", "else"}
    assert held["fits"] == (1 if count < 8 else 4)
    assert held["outputs"]["y"]["sqnr_db"] == 200


@pytest.mark.parametrize("which", range(4))
def test_one_sample_that_is_not_finite(which):
    """What stays floats for its sake does so in the fit without it too."""
    data = samples(SHAPE, 8)
    data[which][0, 0] = np.inf
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"], name="fc"),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["z"], name="other"),
    ]
    model = model_of(nodes, SHAPE, {"w": weights(0, 48, 24)}, ("y", "z"))
    model.graph.input.append(helper.make_tensor_value_info("n", TensorProto.FLOAT, SHAPE))
    data = [{"x": x, "n": n} for x, n in zip(data, samples(SHAPE, 8, seed=8), strict=True)]
    report = hewn.compile(model, quantize=BARE | ALWAYS, calibration=data, min_sqnr=30).report
    assert report["fits"] == 4 and report["outputs"]["y"]["sqnr_db"] == 200


def test_what_is_delivered_is_fitted_to_all():
    """Where a bound is judged by several fits; the text repeats it without data."""
    data = with_loud_fourths(16, 1.05)
    module = hewn.compile(product(), quantize=BARE, calibration=data, min_sqnr=28)
    assert module.report["fits"] == 4 and "returned_to_float" not in module.report
    whole = np.stack(data)
    assert site(module, "fc")["scale"] == pytest.approx((whole.max() - whole.min()) / 255, rel=1e-3)
    again = hewn.compile(product(), quantize=module.report["quantization"])
    np.testing.assert_array_equal(again.run({"x": data[0]})["y"], module.run({"x": data[0]})["y"])


def test_far_from_its_bound_one_fit_does():
    """Thirty times as much noise would meet it."""
    report = hewn.compile(product(), quantize=BARE, calibration=with_loud_fourths(16, 1), min_sqnr=10).report
    assert (report["fits"], report["held_out"]) == (1, [4, 8, 12, 16])


@pytest.mark.parametrize("how", ["minmax", "percentile", "mse", "entropy"])
def test_ranges_are_those_of_all_samples_at_once(how):
    """Whatever parts they were seen in, and in which order: sizes that differ by powers of two, and one sample without rows."""
    data = [x * np.float32(2.0 ** ((5 * i) % 11 - 5)) for i, x in enumerate(samples(SHAPE, 7))] + [
        np.zeros((0, 48), "f")
    ]
    given = BARE | ALWAYS | {"activations": {"range": how}}

    def site_of(calibration):
        chosen = site(hewn.compile(product(), quantize=given, calibration=calibration), "fc")
        return chosen["scale"], chosen["zero_point"]

    assert site_of(data[:7]) == site_of([np.concatenate(data)]) == site_of(data[6::-1])


@pytest.mark.parametrize("count", [8, 16])
def test_held_out_samples_that_show_nothing(count):
    """The others are judged by where those held out have no rows, as those of a detector that finds nothing in them."""
    data = samples(SHAPE, count)
    data = [x if i % 4 else x[:0] for i, x in enumerate(data, 1)]
    free = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data)
    assert free.report["held_out"] == list(range(4, count + 1, 4))
    told, found = told_and_found(free, [x for x in data if len(x)])
    assert told == pytest.approx(found, abs=0.1)
    for above, returned in ((1, ["fc"]), (-12, [])):
        held = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data, min_sqnr=told + above)
        assert held.report.get("returned_to_float", []) == returned


def test_samples_that_show_nothing():
    """An output without rows in all of them."""
    nothing = [x[:0] for x in samples(SHAPE, 2)]
    told = "no sample of the calibration data has a number of output 'y': what integers do to it is not known, and no bound is held there"
    with pytest.warns(match=told):
        hewn.compile(product(), quantize={"weights": {"type": "int8"}}, calibration=nothing)


def test_one_sample_held_out_says_nothing_of_others():
    """Of nine samples two would be held out; as many as memory has room for, and one alone is fitted to after all."""
    large = [np.zeros((180_000, 48), np.float32) for _ in range(8)]  # 34 MB each: one of them is kept beside
    for sample, x in zip(large, samples((16, 48), 8), strict=True):
        sample[:16] = x
    module = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=iter(large))
    assert module.report["held_out"] == []
