# SPDX-License-Identifier: Apache-2.0
"""Runs a few seconds of random models with fixed seeds. Also tests the generator and the
comparison."""

import os
import sys
import time

import generate
import hewn
import numpy as np
import onnx
import pytest
from child import Limits, forked
from compare import WRONG, Eligibility, Judge, emulator, refusal
from generate import Case
from onnx import helper
from oracle import Oracle
from random_graphs import hunt, seed_case, summary, tell
from reduce import Reducer
from unfit import unfit

SEEDS = range(60)
SECONDS = 45


def test_every_op_has_a_rule():
    assert generate.without_rules() == []


def test_every_idiom_is_drawn():
    """For some seed, the rule of each idiom adds its nodes. Otherwise a rule that always rejects
    would go unnoticed."""
    names = [n for n in generate.COMPOSITES if generate.RULES[n].__module__.split(".")[-1] in generate.IDIOMS]
    assert len(names) > 30
    never = [n for n in names if not any(generate.one_idiom(n, seed) for seed in range(12))]
    assert not never


def test_defaults_are_taken():
    """The importer accepts each attribute of com.microsoft's ops with onnxruntime's default value;
    unknown attributes are errors."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    schemas = {s.name: s for s in get_all_operator_schema() if s.domain == "com.microsoft"}
    names = [name for name in generate.records.ops_of(21) if name.startswith("com.microsoft.")]
    names = [name for name in names if name not in generate.others.WITHOUT and name.split(".")[-1] in schemas]
    tried, wrong = set(), []
    for name in names:
        schema = schemas[name.split(".")[-1]]
        model = next(filter(None, (generate.one_node(name, seed) for seed in range(6))), None)
        for node in model.graph.node if model else ():
            known = {attribute.name for attribute in node.attribute}
            for attribute in schema.attributes.values() if node.op_type == schema.name else ():
                default = onnx.AttributeProto.FromString(attribute._default_value)
                if attribute.name not in known and default.name:
                    node.attribute.append(default)
                    tried.add((name, attribute.name))
        try:
            model and hewn.compile(model.SerializeToString())
        except hewn.CompileError as error:
            wrong.append(f"{name}: {error}")
    assert len(tried) > 25
    assert not wrong, "\n".join(wrong)


def test_a_seed_is_a_model():
    texts = [generate.generate(7).model.SerializeToString() for _ in range(2)]
    assert texts[0] == texts[1]


def test_seeds(capsys):
    emulator()
    said = []
    script = f"{sys.executable} test/Random/random_graphs.py reduce"

    def again(one):
        return f"{script} {one.name.split()[-1]} --target={one.target}"

    counts, wrong = tell(hunt(seed_case, SEEDS, "host", SECONDS, emulated=0.1), again, say=said.append)
    with capsys.disabled():
        print(f"\n{summary(counts, wrong)}")
    assert counts["right"] > 10
    assert not wrong, "\n".join(said)


def test_seeds_in_webassembly():
    said = []
    counts, wrong = tell(hunt(seed_case, SEEDS, "wasm32", SECONDS / 3), lambda one: one.name, say=said.append)
    assert counts["right"] > 3
    assert not wrong, "\n".join(said)


def test_children_answer_with_much_in_linear_time():
    assert forked(lambda: bytes(96 << 20), Limits(wall_seconds=20)) == ("ok", bytes(96 << 20))
    assert forked(lambda: time.sleep(60), Limits(wall_seconds=1)) == ("hang", "")


def model_of(text):
    return onnx.parser.parse_model(text)


CHAIN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,6] x, float[4,6] y) => (float[4,6] z, float[4,6] w) { a = Add (x, y)
 b = Sub (a, y)
 z = Mul (b, b)
 w = Tanh (y) }"""


def case_of(text, **feeds):
    return Case("case", model_of(text), [feeds])


def test_what_does_not_split_is_refused_by_both():
    """Split sizes that do not add up to the dim are an error. ONNX's reference slices beyond the
    end, or drops the rest."""
    model = model_of(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[n, 2] x) => (float[a, 2] y, float[b, 2] z) {
           sizes = Constant<value_ints = [1, 2]>()
           y, z = Split<axis = -2>(x, sizes) }"""
    )
    feeds = [{"x": np.ones((n, 2), np.float32)} for n in (3, 1, 16)]
    wanted = [Judge(Oracle()).wanted(model, feed) for feed in feeds]
    assert [isinstance(w, dict) for w in wanted] == [True, False, False]
    assert Judge(Oracle()).judge(Case("split", model, feeds)).kind == "right"


class Spoiled(Judge):
    """Simulates a compiler whose Mul is wrong, to test that the comparison reports a finding."""

    def of_run(self, case, i, got, values):
        products = [n.output[0] for n in case.model.graph.node if n.op_type == "Mul"]
        got = {k: v + 1 if k in products else v for k, v in got.items()}
        return super().of_run(case, i, got, values)


@pytest.fixture
def chain():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    return case_of(CHAIN, x=x, y=x[::-1].copy())


def test_right(chain):
    assert Judge(Oracle()).judge(chain).kind == "right"


def test_wrong(chain):
    verdict = Spoiled(Oracle()).judge(chain)
    assert (verdict.kind, verdict.output) == ("wrong", "z")


def test_reduced(chain, monkeypatch):
    monkeypatch.setattr("reduce.Judge", Spoiled)
    reducer = Reducer(chain, "host", seconds=60)
    case = reducer.reduce()
    assert [n.op_type for n in case.model.graph.node] == ["Mul"]
    assert [i.name for i in case.model.graph.output] == ["z"]
    assert all(v.size == 1 for v in case.feeds[0].values())


def test_what_rounding_decides():
    """If rounding decides on which side of a discontinuity of Floor a value is, both results are
    accepted."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x, float[3] y) => (int64[3] z) { a = Div (x, y)
     b = Mul (a, y)
     c = Floor (b)
     z = Cast <to = 7> (c) }"""
    case = case_of(text, x=np.asarray([3, 2.5, 7], np.float32), y=np.asarray([0.7, 0.3, 0.9], np.float32))
    judge = Judge(Oracle())
    values = judge.wanted(case.model, case.feeds[0])
    for shift, kind in (([-1, 0, 0], "rounding decides"), ([0, -1, 0], "wrong")):
        assert judge.of_run(case, 0, {"z": values["z"] + np.asarray(shift)}, values).kind == kind


@pytest.mark.parametrize("kind", WRONG)
def test_findings_are_the_same(kind):
    assert Eligibility(kind, "element 3").like(Eligibility(kind, "element 14"))
    assert not Eligibility(kind).like(Eligibility("right"))


@pytest.mark.parametrize(
    "text, kind",
    [
        ("error: a (Add, opset 17): there is no code for it", "refused"),
        ("error: 'graph.add' op computes outside of a kernel", "inconsistent"),
        ("error: internal error", "inconsistent"),
    ],
)
def test_refusals(text, kind):
    assert refusal("CompileError", text) == kind


def test_a_crash_is_a_finding(monkeypatch, chain):
    monkeypatch.setattr("hewn.compile", lambda *_, **__: os.abort())
    assert Judge(Oracle()).judge(chain).kind == "crash"


def test_inputs_that_do_not_fit(chain):
    """Each set of inputs changes one dim or one index of valid inputs. An Add with mismatched dims
    must be rejected."""
    case = unfit(chain, 0)
    assert any(d.dim_param for i in case.model.graph.input for d in i.type.tensor_type.shape.dim)
    shapes = [tuple(v.shape for v in feed.values()) for feed in case.feeds]
    assert shapes[0] == ((4, 6), (4, 6))
    assert {size for pair in shapes for shape in pair for size in shape} >= {0, 1, 4099}
    assert Judge(Oracle()).judge(case).kind in ("right", "answered")


def test_an_oracle_that_crashes_costs_a_case():
    def make(number, _):
        if number == 1:
            os._exit(1)
        node = helper.make_node("Identity", ["x"], ["y"])
        info = helper.make_tensor_value_info
        graph = helper.make_graph([node], "g", [info("x", 1, [1])], [info("y", 1, [1])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return Case(f"seed {number}", model, [{"x": np.zeros(1, np.float32)}])

    kinds = [found.verdict.kind for found in hunt(make, range(3), "host", 60)]
    assert kinds == ["right", "oracle crashes", "right"]
