# SPDX-License-Identifier: Apache-2.0
"""Invalid indices, lengths, axes and sizes are compile errors or end the run with a status; the
valid values next to them give ONNX's result. rows.py has the cases."""

import pathlib

import hewn
import numpy as np
import onnx
import pytest
import rows
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sessions import oracle

PAGE = pathlib.Path(__file__).parents[3] / "docs/reference/invalid-input.md"


def model_of(row, value, fixed=(), symbolic=False):
    """Returns the model for a value of the row's operand or attribute, and its feeds. Inputs in
    `fixed` become initializers. `symbolic`: each dim of each input is a symbol of its own."""
    text, inputs = row.cases(value)
    nodes = [onnx.parser.parse_node(line) for line in text.splitlines()]
    feeds = {name: array for name, array in inputs.items() if name not in fixed}
    graph = helper.make_graph(
        nodes,
        "invalid",
        [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(array.dtype),
                [f"{name}{d}" if symbolic else n for d, n in enumerate(array.shape)],
            )
            for name, array in feeds.items()
        ],
        [helper.make_value_info(nodes[-1].output[0], onnx.TypeProto())],
        [numpy_helper.from_array(inputs[name], name) for name in fixed],
    )
    domains = {node.domain for node in nodes} - {""}
    opsets = [helper.make_opsetid("", row.opset)]
    opsets += [helper.make_opsetid(d, 5 if d == "ai.onnx.ml" else 1) for d in sorted(domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=row.ir), feeds


def expected(row, model, feeds, value):
    """Returns ONNX's result for valid inputs, or None if no reference implements the op."""
    if row.oracle == "numpy":
        return row.expected(*feeds.values(), *([] if row.varied in feeds else [value]))
    if row.oracle == "onnxruntime":
        return oracle(model, feeds)[0]
    return ReferenceEvaluator(model).run(None, feeds)[0] if row.oracle else None


def check(row, model, feeds, compiled, value):
    got, want = next(iter(compiled.run(feeds).values())), expected(row, model, feeds, value)
    if want is not None:
        assert got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def named(all_rows):
    return [pytest.param(row, id=row.name) for row in all_rows if row.bad or row.good]


@pytest.mark.parametrize("row", named(rows.OPERANDS))
def test_constant(row):
    for value in row.good:
        model, feeds = model_of(row, value, [row.varied])
        check(row, model, feeds, hewn.compile(model), value)
    for value in row.bad:
        model, feeds = model_of(row, value, [row.varied])
        if row.constant:
            with pytest.raises(hewn.CompileError, match=row.why):
                hewn.compile(model)
        else:
            with pytest.raises(hewn.RunError, match=row.why):
                hewn.compile(model).run(feeds)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("row", named(rows.OPERANDS))
def test_input(row, symbolic):
    if symbolic and not row.dims:
        return
    compiled = {}

    def run(value):
        model, feeds = model_of(row, value, symbolic=symbolic)
        shapes = tuple(array.shape for array in feeds.values())
        if shapes not in compiled and not (symbolic and compiled):
            compiled[shapes] = hewn.compile(model)
        return model, feeds, compiled.get(shapes) or next(iter(compiled.values()))

    for value in row.good:
        check(row, *run(value), value)
    for value in row.bad:
        # a static shape may be invalid itself
        is_known = not symbolic and np.shape(value) not in map(np.shape, row.good)
        with pytest.raises((hewn.CompileError, hewn.RunError) if is_known else hewn.RunError, match=row.why):
            _, feeds, module = run(value)
            module.run(feeds)
    for value in row.good:  # a run after a failed one
        check(row, *run(value), value)


@pytest.mark.parametrize("row", named(rows.ATTRIBUTES))
def test_attribute(row):
    for value in row.good:
        model, feeds = model_of(row, value)
        check(row, model, feeds, hewn.compile(model), value)
    for value in row.bad:
        with pytest.raises(hewn.CompileError, match=row.why):
            hewn.compile(model_of(row, value)[0])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_many_labels(dtype):
    """The check of a range is vectorized, in groups. It finds each wrong value."""
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("NegativeLogLikelihoodLoss", ["x", "labels"], ["y"])]
    inputs = [info("x", 1, ["n", 7]), info("labels", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ["n"])]
    graph = helper.make_graph(nodes, "labels", inputs, [info("y", 1, [])])
    module = hewn.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10))
    x, labels = rows.wave(600, 7), (np.arange(600) % 7).astype(dtype)
    np.testing.assert_allclose(module.run({"x": x, "labels": labels})["y"], -x[range(600), labels].mean(), rtol=1e-5)
    bounds = np.iinfo(dtype)
    for place in (0, 255, 256, 599):
        for wrong in (7, -1, bounds.max, bounds.min):
            changed = labels.copy()
            changed[place] = wrong
            end = "below the lowest valid value, 0" if wrong < 0 else "above the highest valid value, 6"
            with pytest.raises(hewn.RunError, match=f"value {wrong} is {end}"):
                module.run({"x": x, "labels": changed})


def test_page():
    """The page has the tables of rows.py; `python rows.py` prints them."""
    page = PAGE.read_text()
    for all_rows, header in ((rows.OPERANDS, "operand"), (rows.ATTRIBUTES, "attribute")):
        assert rows.table(all_rows, header) in page
