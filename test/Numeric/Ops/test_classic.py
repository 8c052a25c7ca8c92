# SPDX-License-Identifier: Apache-2.0
"""ai.onnx.ml: tree ensembles, linear models, support vector machines and feature encoders, compared
with onnxruntime."""

import itertools

import hewn
import numpy as np
import onnx
import pytest
from numeric import check, oracle
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(3)
ML = "ai.onnx.ml"


def model_of(op, inputs, outputs=1, version=3, **attributes):
    """Builds a model of one node. The first dim of each input is symbolic."""
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    infos = [
        helper.make_tensor_value_info(
            name,
            TensorProto.STRING if x.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(x.dtype),
            ["n", *x.shape[1:]],
        )
        for name, x in zip(names, inputs)
    ]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, domain=ML, **attributes)],
        "classic",
        infos,
        [helper.make_value_info(name, onnx.TypeProto()) for name in results],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def compare(model, *inputs, rtol=1e-4, atol=1e-5):
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    got, want = list(hewn.compile(model).run(feeds).values()), oracle(model, feeds)
    for a, b in zip(got, want):
        if np.asarray(b).dtype.kind in "OU":
            assert a.tolist() == np.asarray(b).tolist()
        else:
            check([a], [b], rtol=rtol, atol=atol)


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Grown:
    """Draws random trees as attributes of TreeEnsembleRegressor, with random depths, comparison
    modes and missing features."""

    def __init__(self, trees, depth, features, modes, missing=False):
        self.modes, self.features, self.missing = modes, features, missing
        self.nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids")}
        self.nodes |= {"falsenodeids": [], "missing_value_tracks_true": []}
        self.leaves = []  # pairs of tree and node
        for tree in range(trees):
            self.count = 0
            self.grow(tree, depth)

    def grow(self, tree, depth):
        number, self.count = self.count, self.count + 1
        leaf = depth == 0 or (number > 0 and random.random() < 0.2)
        at = len(self.nodes["modes"])
        row = {
            "treeids": tree,
            "nodeids": number,
            "featureids": 0 if leaf else int(random.integers(self.features)),
            "modes": "LEAF" if leaf else self.modes[random.integers(len(self.modes))],
            "values": 0.0 if leaf else float(np.float32(np.round(random.standard_normal(), 1))),
            "truenodeids": 0,
            "falsenodeids": 0,
            "missing_value_tracks_true": int(self.missing and not leaf and random.random() < 0.5),
        }
        for key, value in row.items():
            self.nodes[key].append(value)
        if leaf:
            self.leaves.append((tree, number))
        else:
            self.nodes["truenodeids"][at] = self.grow(tree, depth - 1)
            self.nodes["falsenodeids"][at] = self.grow(tree, depth - 1)
        return number

    def attributes(self, prefix, targets, each=1, positive=False):
        """Returns the attributes of the nodes, and of `each` votes per leaf. Target ids are below
        `targets`."""
        votes = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
        for tree, node in self.leaves:
            for target in random.permutation(targets)[:each]:
                weight = random.standard_normal()
                votes["treeids"].append(tree)
                votes["nodeids"].append(node)
                votes["ids"].append(int(target))
                votes["weights"].append(float(np.float32(abs(weight) / 10 if positive else weight)))
        nodes = {f"nodes_{key}": value for key, value in self.nodes.items()}
        return nodes | {f"{prefix}_{key}": value for key, value in votes.items()}


def rows(n, features, missing=False):
    x = np.round(random.standard_normal((n, features)), 1).astype(np.float32)
    if missing:
        x[random.random(x.shape) < 0.2] = np.nan
    return x


@pytest.mark.parametrize("n", [0, 1, 7, 9, 130])
@pytest.mark.parametrize("modes, missing", [(MODES[:1], False), (MODES[:5], False), (MODES[:2], True), (MODES, True)])
def test_trees_of_one_target(n, modes, missing):
    x = rows(n, 6, missing)
    attributes = Grown(11, 5, 6, modes, missing).attributes("target", 1)
    model = model_of("TreeEnsembleRegressor", [x], n_targets=1, base_values=[0.5], **attributes)
    if n:
        compare(model, x)
    else:
        assert hewn.compile(model).run({"x0": x})["y0"].shape == (0, 1)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_of_several_targets(aggregate):
    x = rows(40, 4)
    attributes = Grown(9, 4, 4, MODES[:4]).attributes("target", 3, each=2)
    compare(model_of("TreeEnsembleRegressor", [x], n_targets=3, aggregate_function=aggregate, **attributes), x)


def test_trees_of_float64():
    x = rows(20, 4).astype(np.float64)
    attributes = Grown(5, 4, 4, MODES[:1]).attributes("target", 1)
    for name in ("nodes_values", "target_weights"):
        attributes[f"{name}_as_tensor"] = onnx.numpy_helper.from_array(np.array(attributes.pop(name), np.float64))
    compare(model_of("TreeEnsembleRegressor", [x], n_targets=1, **attributes), x)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_trees_that_classify(transform):
    x = rows(30, 5)
    attributes = Grown(7, 4, 5, MODES[:1]).attributes("class", 3, each=3)
    attributes |= {"classlabels_int64s": [10, 20, 30], "post_transform": transform}
    compare(model_of("TreeEnsembleClassifier", [x], 2, **attributes), x)


@pytest.mark.parametrize("positive, transform", [(True, "NONE"), (False, "NONE"), (False, "LOGISTIC")])
def test_trees_of_two_classes(positive, transform):
    x = rows(30, 5)
    attributes = Grown(9, 4, 5, MODES[:1]).attributes("class", 1, positive=positive)
    attributes |= {"classlabels_strings": ["no", "yes"], "post_transform": transform}
    compare(model_of("TreeEnsembleClassifier", [x], 2, **attributes), x)


class GrownByPosition:
    """Draws random trees as attributes of TreeEnsemble. Inner nodes and leaves are in separate
    lists. Nodes may be shared, and may test set membership."""

    KEYS = "featureids modes splits truenodeids falsenodeids trueleafs falseleafs missing_value_tracks_true"

    def __init__(self, trees, depth, modes, shared):
        self.modes, self.shared, self.sets, self.leaves = modes, shared, [], 0
        self.nodes = {key: [] for key in self.KEYS.split()}
        self.depths = {}  # depth of each complete node
        self.roots = [self.grow(depth) for _ in range(trees)]

    def grow(self, depth):
        at, mode = len(self.nodes["modes"]), int(random.choice(self.modes))
        row = {"featureids": random.integers(3), "modes": mode, "splits": random.integers(-4, 5)}
        row["missing_value_tracks_true"] = random.random() < 0.5
        for key, column in self.nodes.items():
            column.append(int(row.get(key, 0)))
        if mode == 6:
            self.sets += [*random.integers(-4, 5, random.integers(1, 7)), np.nan]
        for side in ("true", "false"):
            self.nodes[f"{side}nodeids"][at], self.nodes[f"{side}leafs"][at] = self.child(depth - 1)
        self.depths[at] = depth
        return at

    def child(self, depth):
        below = [node for node, its in self.depths.items() if its <= depth]
        if below and random.random() < self.shared:
            return int(random.choice(below)), 0
        if depth == 0 or random.random() < 0.1:
            self.leaves += 1
            return self.leaves - 1, 1
        return self.grow(depth), 0

    def attributes(self, targets):
        def tensor(values, dtype=np.float32):
            return onnx.numpy_helper.from_array(np.array(values, dtype))

        return {f"nodes_{key}": value for key, value in self.nodes.items()} | {
            "tree_roots": self.roots,
            "n_targets": targets,
            "nodes_modes": tensor(self.nodes["modes"], np.uint8),
            "nodes_splits": tensor(self.nodes["splits"]),
            "membership_values": tensor(self.sets),
            "leaf_weights": tensor(random.standard_normal(self.leaves)),
            "leaf_targetids": [int(x) for x in random.integers(targets, size=self.leaves)],
        }


@pytest.mark.parametrize("modes, missing", [([6], True), (range(7), False)])
def test_sets_have_inner_nodes_behind(modes, missing):
    """A set membership test may have inner nodes as successors. All elements of the set lead to the
    same node."""
    x = random.integers(-5, 6, (40, 3)).astype(np.float32)
    if missing:
        x[random.random(x.shape) < 0.2] = np.nan
    attributes = GrownByPosition(5, 4, modes, shared=0).attributes(targets=2)
    compare(model_of("TreeEnsemble", [x], version=5, **attributes), x)


@pytest.mark.parametrize("n", [3, 40])
def test_nodes_that_several_lead_to(n):
    """Exporters write a set as one node per element, all with the same successor. The reference is
    onnx.reference, because onnxruntime rejects trees that share nodes."""
    x = random.integers(-5, 6, (n, 3)).astype(np.float32)
    attributes = GrownByPosition(5, 5, range(6), shared=0.3).attributes(targets=2)
    model = model_of("TreeEnsemble", [x], version=5, **attributes)
    want = ReferenceEvaluator(model).run(None, {"x0": x})
    check(list(hewn.compile(model).run({"x0": x}).values()), want, rtol=1e-4, atol=1e-5)


def test_a_large_set_takes_few_steps():
    """The run time per row depends on the depth of the tree, not on the size of a set."""
    x = np.arange(-5, 100005, dtype=np.float32).reshape(-1, 1)
    tree = {
        "tree_roots": [0],
        "nodes_featureids": [0, 0],
        "nodes_modes": onnx.numpy_helper.from_array(np.array([6, 0], np.uint8)),
        "nodes_splits": onnx.numpy_helper.from_array(np.array([0, 50000], np.float32)),
        "nodes_truenodeids": [1, 1],
        "nodes_falsenodeids": [0, 2],
        "nodes_trueleafs": [0, 1],
        "nodes_falseleafs": [1, 1],
        "membership_values": onnx.numpy_helper.from_array(
            np.append(np.arange(0, 100000, 2), np.nan).astype(np.float32)
        ),
        "leaf_targetids": [0, 0, 0],
        "leaf_weights": onnx.numpy_helper.from_array(np.array([1, 2, 3], np.float32)),
    }
    got = hewn.compile(model_of("TreeEnsemble", [x], version=5, **tree)).run({"x0": x})["y0"]
    inside = (x >= 0) & (x < 100000) & (x % 2 == 0)
    np.testing.assert_array_equal(got, np.where(inside, np.where(x <= 50000, 2, 3), 1))


@pytest.mark.parametrize(
    "op, version", [("TreeEnsembleRegressor", 3), ("TreeEnsembleClassifier", 3), ("TreeEnsemble", 5)]
)
def test_a_forest_without_trees(op, version):
    """An ensemble without trees is an error, which names the node and is reported once."""
    classifies = op == "TreeEnsembleClassifier"
    given = {"classlabels_int64s": [1, 2, 3]} if classifies else {"n_targets": 1}
    model = model_of(op, [rows(2, 3)], 1 + classifies, version, **given)
    schema = onnx.defs.get_schema(op, version, ML)
    for name, attribute in schema.attributes.items():
        if attribute.required and attribute.type.name == "INTS":
            empty = helper.make_attribute(name, [], attr_type=onnx.AttributeProto.INTS)
            model.graph.node[0].attribute.append(empty)
        elif attribute.required:
            tensor = onnx.numpy_helper.from_array(np.zeros(0, np.uint8 if name == "nodes_modes" else np.float32))
            model.graph.node[0].attribute.append(helper.make_attribute(name, tensor))
    with pytest.raises(hewn.CompileError) as refused:
        hewn.compile(model)
    assert str(refused.value).count("has no trees") == 1 and str(refused.value).count("error") <= 1


def test_what_is_no_forest():
    x = rows(2, 3)
    attributes = Grown(1, 3, 3, MODES[:1]).attributes("target", 1)
    bad = dict(attributes, nodes_truenodeids=[0] * len(attributes["nodes_modes"]))
    with pytest.raises(hewn.CompileError, match="not a tree"):
        hewn.compile(model_of("TreeEnsembleRegressor", [x], n_targets=1, **bad))
    bad = dict(attributes, nodes_featureids=[7] * len(attributes["nodes_modes"]))
    with pytest.raises(hewn.CompileError, match="feature 7"):
        hewn.compile(model_of("TreeEnsembleRegressor", [x], n_targets=1, **bad))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear(transform, classes):
    x = rows(12, 4)
    outputs = 1 if classes == 2 else classes
    attributes = {
        "coefficients": random.standard_normal(4 * outputs).astype(np.float32).tolist(),
        "intercepts": random.standard_normal(outputs).astype(np.float32).tolist(),
        "post_transform": transform,
    }
    model = model_of("LinearClassifier", [x], 2, classlabels_ints=[4, 7, 9][:classes], **attributes)
    # The results differ by definition: for two classes with one score s, onnxruntime returns 1 - s
    # and s, ONNX defines -s and s.
    if classes == 2:
        check(
            list(hewn.compile(model).run({"x0": x}).values()),
            ReferenceEvaluator(model).run(None, {"x0": x}),
            1e-4,
            1e-5,
        )
    else:
        compare(model, x)
    if outputs > 1:
        compare(model_of("LinearRegressor", [x], targets=outputs, **attributes), x)
        return
    # numpy computes the expected result, because onnxruntime ignores post_transform if there is
    # only one target.
    plain = model_of("LinearRegressor", [x], targets=1, **(attributes | {"post_transform": "NONE"}))
    scores = oracle(plain, {"x0": x})[0]
    want = {"NONE": scores, "LOGISTIC": 1 / (1 + np.exp(-scores)), "SOFTMAX": np.ones_like(scores)}[transform]
    got = hewn.compile(model_of("LinearRegressor", [x], targets=1, **attributes)).run({"x0": x})
    check(list(got.values()), [want], 1e-4, 1e-5)


@pytest.mark.parametrize("kernel", ["LINEAR", "RBF", "POLY", "SIGMOID"])
def test_support_vectors(kernel):
    x = rows(12, 4)
    vectors = {
        "support_vectors": random.standard_normal(7 * 4).astype(np.float32).tolist(),
        "kernel_type": kernel,
        "kernel_params": [0.3, 0.2, 3.0],
    }
    compare(
        model_of(
            "SVMRegressor",
            [x],
            coefficients=random.standard_normal(7).astype(np.float32).tolist(),
            rho=[0.4],
            n_supports=7,
            **vectors,
        ),
        x,
        rtol=1e-3,
    )
    for counts, has_probabilities in itertools.product(([3, 4], [2, 2, 3]), (False, True)):
        pairs = len(counts) * (len(counts) - 1) // 2
        sigmoids = {"prob_a": [-1.5] * pairs, "prob_b": [0.1] * pairs} if has_probabilities else {}
        compare(
            model_of(
                "SVMClassifier",
                [x],
                2,
                coefficients=random.standard_normal(7 * (len(counts) - 1)).astype(np.float32).tolist(),
                rho=random.standard_normal(pairs).astype(np.float32).tolist(),
                vectors_per_class=counts,
                classlabels_ints=list(range(5, 5 + len(counts))),
                **sigmoids,
                **vectors,
            ),
            x,
            rtol=1e-3,
        )


STRINGS = np.array([["a"], ["c"], ["zz"], ["b"]], dtype=object)
NUMBERS = np.array([[3], [7], [5], [-2]], np.int64)
# Each case of an ai.onnx.ml op has op, version, input, attributes.
ENCODERS = [
    (
        "LabelEncoder",
        2,
        STRINGS,
        {"keys_strings": ["b", "a", "c", "a"], "values_int64s": [1, 2, 3, 9], "default_int64": -7},
    ),
    ("LabelEncoder", 2, STRINGS, {"keys_strings": ["b", "a"], "values_strings": ["B", "A"], "default_string": "?"}),
    ("LabelEncoder", 2, NUMBERS, {"keys_int64s": [7, 3], "values_strings": ["seven", "three"]}),
    ("LabelEncoder", 2, NUMBERS.astype(np.float32), {"keys_floats": [7.0, 3.0], "values_floats": [0.5, 1.5]}),
    (
        "LabelEncoder",
        4,
        np.array([[np.nan], [1.0]], np.float32),
        {"keys_floats": [1.0, float("nan")], "values_int64s": [4, 5]},
    ),
    ("LabelEncoder", 1, STRINGS, {"classes_strings": ["c", "b", "a"], "default_int64": 11}),
    ("LabelEncoder", 1, NUMBERS, {"classes_strings": ["p", "q", "r", "s"], "default_string": "none"}),
    ("CategoryMapper", 1, STRINGS, {"cats_strings": ["c", "a"], "cats_int64s": [5, 6]}),
    ("CategoryMapper", 1, NUMBERS, {"cats_strings": ["c", "a"], "cats_int64s": [5, 3]}),
    ("OneHotEncoder", 1, STRINGS, {"cats_strings": ["c", "b"], "zeros": 1}),
    ("OneHotEncoder", 1, NUMBERS, {"cats_int64s": [5, 3, 7], "zeros": 1}),
    ("Imputer", 1, rows(5, 3, True), {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")}),
    ("Imputer", 1, NUMBERS, {"imputed_value_int64s": [50], "replaced_value_int64": 7}),
    ("Binarizer", 1, rows(5, 3), {"threshold": 0.25}),
    ("Normalizer", 1, rows(5, 3), {"norm": "L2"}),
    ("Scaler", 1, rows(5, 3), {"offset": [1.0, 2.0, 3.0], "scale": [0.5, 2.0, 4.0]}),
]


@pytest.mark.parametrize("op, version, x, attributes", ENCODERS)
def test_encoders(op, version, x, attributes):
    compare(model_of(op, [x], version=version, **attributes), x)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_rows_of_zeros_stay(norm):
    # The expected result follows ONNX's definition of Normalizer: "If the divisor is zero, Y == X."
    x = np.array([[0.0, 0.0], [3.0, 4.0]], np.float32)
    module = hewn.compile(model_of("Normalizer", [x], version=1, norm=norm))
    y = module.run({"x0": x})["y0"]
    assert y[0].tolist() == [0, 0] and np.isclose(y[1, 1] / y[1, 0], 4 / 3)


def test_nan_is_a_key_since_ever():
    # Since version 2, LabelEncoder compares keys by their bits. onnxruntime does not find NaN.
    x = np.array([[np.nan], [1.0], [2.0]], np.float32)
    model = model_of(
        "LabelEncoder", [x], version=2, keys_floats=[1.0, float("nan")], values_int64s=[4, 5], default_int64=9
    )
    assert hewn.compile(model).run({"x0": x})["y0"].tolist() == [[5], [4], [9]]


def test_features_side_by_side():
    inputs = [rows(4, 3), rows(4, 2)]
    compare(model_of("FeatureVectorizer", inputs, version=1, inputdimensions=[3, 2]), *inputs)


def test_a_category_that_there_is_not():
    module = hewn.compile(model_of("OneHotEncoder", [NUMBERS], version=1, cats_int64s=[5, 3, 7], zeros=0))
    assert module.run({"x0": NUMBERS[:3]})["y0"].shape == (3, 1, 3)
    with pytest.raises(hewn.RunError, match="does not hold"):
        module.run({"x0": NUMBERS})


def tensor_of(name, values):
    return onnx.numpy_helper.from_array(np.array(values, np.int64), name)


@pytest.mark.parametrize("attributes", ["lists", "tensors"])
def test_labels_are_exact(attributes):
    big = [2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    x = np.array([*big, 7], np.int64)
    if attributes == "lists":
        given = {"keys_int64s": big, "values_int64s": big[::-1], "default_int64": 2**62 + 1}
    else:
        given = {"keys_tensor": tensor_of("k", big), "values_tensor": tensor_of("v", big[::-1])}
        given["default_tensor"] = tensor_of("d", [2**62 + 1])
    got = hewn.compile(model_of("LabelEncoder", [x.reshape(-1, 1)], version=4, **given)).run({"x0": x.reshape(-1, 1)})
    assert got["y0"].ravel().tolist() == [*big[::-1], 2**62 + 1]


KEYS = [
    ("int64_t", [0, -1, 2**63 - 1, -(2**63), 1 << 52, 1 << 53, 3, 3]),
    ("int32_t", [0, -1, 2**31 - 1, -(2**31), 5, 6, 7, 5]),
    ("int16_t", [0, -1, 2**15 - 1, -(2**15), 256, 512]),
    ("float", [0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 1e-40, 1.5]),
    ("double", [-0.0, 1.5, 1.5 + 2**-52, np.inf, np.nan, 5e-324, 2.0**60]),
]


@pytest.mark.parametrize("kind, keys", KEYS)
def test_each_key_is_found(kind, keys):
    """Tests LabelEncoder with edge cases of each type as keys, and elements that are no keys. Of
    equal keys, the first one counts."""
    keys = np.array(keys, dict(float="f4", double="f8").get(kind, kind[:-2]))
    values = np.arange(10, 10 + len(keys))
    others = np.array([1, 2, 4, 11, 100], keys.dtype)
    x = np.concatenate([keys[::-1], others, -keys if keys.dtype.kind == "f" else keys])
    model = model_of(
        "LabelEncoder",
        [x],
        version=4,
        keys_tensor=onnx.numpy_helper.from_array(keys, "k"),
        values_tensor=tensor_of("v", values),
        default_tensor=tensor_of("d", [-5]),
    )
    want = [next((v for k, v in zip(keys, values) if k == e or (np.isnan(k) and np.isnan(e))), -5) for e in x]
    module = hewn.compile(model)
    assert module.run({"x0": x})["y0"].tolist() == want


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_many_keys(count):
    keys = np.random.default_rng(count).permutation(3 * count)[:count]
    x = np.arange(-2, 3 * count + 2)
    order = {int(k): i for i, k in enumerate(keys)}
    for given, feed in (
        ({"keys_int64s": [int(k) << 50 for k in keys]}, x << 50),
        ({"keys_strings": [f"a longer key {k}" for k in keys]}, np.array([f"a longer key {e}" for e in x], object)),
    ):
        if count == 0:
            given = {"keys_tensor": onnx.numpy_helper.from_array(feed[:0], "k")}
        given["values_tensor"] = tensor_of("v", range(count))
        model = model_of("LabelEncoder", [feed], version=4, default_tensor=tensor_of("d", [-1]), **given)
        got = hewn.compile(model).run({"x0": feed})["y0"]
        assert got.tolist() == [order.get(int(e), -1) for e in x]


def test_no_elements_are_looked_up():
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 18, "ai.onnx.ml" : 4]> g (int64[n] x) => (y) {
           y = ai.onnx.ml.LabelEncoder<keys_int64s = [4, 5], values_int64s = [6, 7]>(x) }"""
    )
    module = hewn.compile(model)
    assert module.run({"x": np.zeros(0, np.int64)})["y"].tolist() == []
    assert module.run({"x": np.array([5, 6], np.int64)})["y"].tolist() == [7, -1]


def test_a_leaf_without_a_number_has_votes_of_its_own():
    """Leaves with a NaN must not be merged with other leaves, although NaN compares as neither
    smaller nor larger."""
    x = np.array([[0.0], [1.0]], np.float32)
    trees = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, float("nan")],
    }
    got = hewn.compile(model_of("TreeEnsembleRegressor", [x], n_targets=2, **trees)).run({"x0": x})["y0"]
    np.testing.assert_array_equal(got, [[1, 0], [np.nan, 0]])


@pytest.mark.parametrize("words", range(8))
def test_n_grams_of_short_rows(words):
    """Tests TfIdfVectorizer on rows of a dynamic length, which may be shorter than the longest
    n-gram."""
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 18]> g (int64[n] x) => (float[m] y) {
           y = TfIdfVectorizer<max_gram_length = 3, max_skip_count = 2, min_gram_length = 1, mode = "TF",
           ngram_counts = [0, 2, 6], ngram_indexes = [0, 1, 2, 3, 4], pool_int64s = [1, 2, 1, 2, 2, 1, 1, 2, 1]>(x) }"""
    )
    x = np.array([1, 2, 1, 2, 2, 1, 1][:words], np.int64)
    want = ReferenceEvaluator(model).run(None, {"x": x})[0] if words else np.zeros(5, np.float32)
    check(list(hewn.compile(model).run({"x": x}).values()), [want])


def count_n_grams(rows, grams, columns, least, most, skips):
    """Counts by comparing each n-gram with each window."""
    counts = np.zeros((len(rows), max(columns) + 1), np.float32)
    for y, row in zip(counts, rows):
        for gram, column in zip(grams, columns):
            n = len(gram)
            if least <= n <= most:
                for step in range(1, 2 + (skips if n > 1 else 0)):
                    reach = (n - 1) * step
                    y[column] += sum(tuple(row[i : i + reach + 1 : step]) == gram for i in range(len(row) - reach))
    return counts


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("least, most, skips", [(1, 1, 3), (1, 3, 0), (2, 3, 2), (3, 3, 1)])
def test_n_grams_of_a_large_pool(mode, least, most, skips):
    draw = np.random.default_rng(least + 7 * skips)
    words = [int(w) for w in draw.integers(-(2**63), 2**63 - 1, 12)] + [0, -1]
    pool = [[(w,) for w in words[:9]]]
    for n in (2, 3):
        pool.append(sorted({tuple(words[w] for w in draw.integers(0, 14, n)) for _ in range(150)}))
    grams = [gram for grams_of_length in pool for gram in grams_of_length]
    starts = np.cumsum([0] + [len(p) * (i + 1) for i, p in enumerate(pool)])[:3].tolist()
    columns = draw.permutation(len(grams) + 5)[: len(grams)].tolist()
    weights = draw.random(len(grams)).astype(np.float32)
    x = np.array(words, np.int64)[draw.integers(0, 14, (4, 60))]
    attributes = {"ngram_counts": starts, "ngram_indexes": columns, "pool_int64s": [w for g in grams for w in g]}
    attributes |= {"min_gram_length": least, "max_gram_length": most, "max_skip_count": skips, "mode": mode}
    if mode != "TF":
        attributes["weights"] = weights.tolist()
    node = onnx.helper.make_node("TfIdfVectorizer", ["x"], ["y"], **attributes)
    shape = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["m", "n"])]
    result = [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["m", max(columns) + 1])]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", shape, result), ir_version=8)
    module = hewn.compile(model)
    for rows in (x, x[:, :2], x[:0]):
        want = count_n_grams(rows, grams, columns, least, most, skips)
        if mode != "TF":
            scales = np.zeros(max(columns) + 1, np.float32)
            scales[columns] = weights
            want = (np.minimum(want, 1) if mode == "IDF" else want) * scales
        np.testing.assert_array_equal(module.run({"x": rows})["y"], want)
