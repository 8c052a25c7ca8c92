# SPDX-License-Identifier: Apache-2.0
"""Calibration samples that are held out to measure errors. Of eight or more samples, every fourth
is held out, or four-fold cross-validation is used. Reported errors and error bounds apply to
held-out samples."""

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
    """Returns samples of which every fourth has larger values than the others."""
    return [x * np.float32(1 if (i + 1) % 4 else times) for i, x in enumerate(samples(SHAPE, count))]


def told_and_found(module, data):
    floats = hewn.compile(product())
    want, got = (np.stack([m.run({"x": x})["y"] for x in data]) for m in (floats, module))
    return module.report["outputs"]["y"]["sqnr_db"], decibels(want, got)


@pytest.mark.parametrize("count, held", [(8, [4, 8]), (9, [4, 8]), (13, [4, 8, 12])])
def test_every_fourth_is_held_out(count, held):
    """The compiler fits ranges to the samples that are not held out, and reports the error of the
    held-out ones."""
    data = with_loud_fourths(count, 3)
    module = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data)
    assert module.report["held_out"] == held
    assert (module.report["samples"], module.report["samples_compared"]) == (count, len(held))
    quiet = np.stack([x for i, x in enumerate(data, 1) if i not in held])
    assert site(module, "fc")["scale"] == pytest.approx((quiet.max() - quiet.min()) / 255, rel=1e-3)
    told, found = told_and_found(module, [data[i - 1] for i in held])
    assert told == pytest.approx(found, abs=0.1)


def test_of_few_none_is_held_out():
    """With fewer than eight calibration samples, here seven, the compiler fits ranges to all of
    them and measures errors on all of them."""
    data = with_loud_fourths(7, 3)
    module = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data)
    assert module.report["held_out"] == [] and module.report["samples_compared"] == 7
    x = np.stack(data)
    assert site(module, "fc")["scale"] == pytest.approx((x.max() - x.min()) / 255, rel=1e-3)
    told, found = told_and_found(module, data)
    assert told == pytest.approx(found, abs=0.1)


@pytest.mark.parametrize("bound", [{}, {"min_sqnr": 28}])
def test_a_bound_holds_what_is_held_out(bound):
    """The held-out samples satisfy the bound. The samples used for fitting would satisfy it with a
    margin."""
    quiet, loud = with_loud_fourths(16, 1), with_loud_fourths(16, 3)
    assert "returned_to_float" not in hewn.compile(product(), quantize=BARE, calibration=quiet, **bound).report
    report = hewn.compile(product(), quantize=BARE, calibration=loud, **bound).report
    assert report["returned_to_float"] == ["fc"]


def test_the_largest_error_is_of_all_samples():
    """The report's largest error covers all samples. In this test it occurs in a sample used for
    fitting."""
    data = [x if (i + 1) % 4 else x / 100 for i, x in enumerate(samples(SHAPE, 8))]
    free = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data)
    bound = 1.3 * free.report["outputs"]["y"]["max_abs_error"]
    floats = hewn.compile(product())
    assert max(np.abs(free.run({"x": x})["y"] - floats.run({"x": x})["y"]).max() for x in data) > bound
    held = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=data, max_error=bound)
    assert held.report["returned_to_float"] == ["fc"]


@pytest.mark.parametrize("first", range(4))
def test_a_bound_is_judged_by_all_by_turns(first):
    """One fourth of the samples has larger values than the rest. Cross-validation finds that the
    bound is violated, whichever fourth it is."""
    data = [x * np.float32(3 if i % 4 == first else 1) for i, x in enumerate(samples(SHAPE, 16))]
    report = hewn.compile(product(), quantize=BARE, calibration=data, min_sqnr=28).report
    assert report["returned_to_float"] == ["fc"]
    assert (report["fits"], report["samples_compared"]) == (4, 16)
    assert report["held_out"] == list(range(1, 17))


def in_branches():
    """Builds a model with one matmul in each branch. The input `c` selects the branch."""

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
    """Matmuls in branches fall back to float, with and without cross-validation."""
    data = [{"x": x, "c": np.array(i % 3 == 0)} for i, x in enumerate(samples(SHAPE, count))]
    held = hewn.compile(in_branches(), quantize=BARE | ALWAYS, calibration=data, min_sqnr=70).report
    assert set(held["returned_to_float"]) == {"then", "else"}
    assert held["fits"] == (1 if count < 8 else 4)
    assert held["outputs"]["y"]["sqnr_db"] == 200


@pytest.mark.parametrize("which", range(4))
def test_one_sample_that_is_not_finite(which):
    """If one sample makes a contraction stay float, the contraction also stays float in the
    cross-validation fit that leaves this sample out."""
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
    """After cross-validation, the compiler fits the final model to all samples. Compiling with the
    quantization file, without data, gives the same bytes."""
    data = with_loud_fourths(16, 1.05)
    module = hewn.compile(product(), quantize=BARE, calibration=data, min_sqnr=28)
    assert module.report["fits"] == 4 and "returned_to_float" not in module.report
    whole = np.stack(data)
    assert site(module, "fc")["scale"] == pytest.approx((whole.max() - whole.min()) / 255, rel=1e-3)
    again = hewn.compile(product(), quantize=module.report["quantization"])
    np.testing.assert_array_equal(again.run({"x": data[0]})["y"], module.run({"x": data[0]})["y"])


def test_far_from_its_bound_one_fit_does():
    """If the measured error is far below the error bound, the compiler fits ranges once and skips
    cross-validation. In this test, thirty times the error would still satisfy the bound."""
    report = hewn.compile(product(), quantize=BARE, calibration=with_loud_fourths(16, 1), min_sqnr=10).report
    assert (report["fits"], report["held_out"]) == (1, [4, 8, 12, 16])


@pytest.mark.parametrize("how", ["minmax", "percentile", "mse", "entropy"])
def test_ranges_are_those_of_all_samples_at_once(how):
    """Ranges depend neither on the order of the samples nor on how rows are divided into samples.
    In this test, magnitudes differ by powers of two, and one sample has no rows."""
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
    """If the held-out samples have no rows (for example, a detector finds nothing), the compiler
    compares on the other samples."""
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
    """Tests calibration of a model of which one output has no rows in any sample."""
    nothing = [x[:0] for x in samples(SHAPE, 2)]
    told = (
        "no calibration sample has a finite element of output 'y'; its error is unknown, and no bound is checked for it"
    )
    with pytest.warns(match=told):
        hewn.compile(product(), quantize={"weights": {"type": "int8"}}, calibration=nothing)


def test_one_sample_held_out_says_nothing_of_others():
    """Of eight samples, two would be held out, but memory holds only one of them. One sample is too
    few to judge the error, so the compiler uses it for fitting."""
    # Each calibration sample has 34 MB, and the memory limit admits only one of the held-out
    # samples.
    large = [np.zeros((180_000, 48), np.float32) for _ in range(8)]
    for sample, x in zip(large, samples((16, 48), 8), strict=True):
        sample[:16] = x
    module = hewn.compile(product(), quantize=BARE | ALWAYS, calibration=iter(large))
    assert module.report["held_out"] == []
