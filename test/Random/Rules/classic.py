# SPDX-License-Identifier: Apache-2.0
"""Ops of ai.onnx.ml and of strings. Strings are computed from numbers and converted back to
numbers, so that other rules do not see them."""

from graph import Reject
from records import F32, I64

from Rules import ML, rule

# Strings that need no normalization. ONNX's reference normalizes more than ONNX defines: accents,
# words within a string, empty strings.
PLAIN = ["a", "B", "ab", "Bc", "b"]
WORDS = ["", "a", "B", "a b", "ab,c", " a", "\u00e4\u00f6"]


def hidden(g, result):
    """Removes string results from the values that other rules use as operands."""
    for value in result if isinstance(result, list) else [result]:
        g.values.remove(value)
    return result


def words(g, low=1, high=3, among=WORDS):
    """Returns a tensor of strings, computed from numbers."""
    numbers = g.value([I64], low, high, test=lambda v: v.size)
    return hidden(
        g,
        g.node(
            "LabelEncoder",
            [numbers],
            domain=ML,
            keys_int64s=list(range(-2, len(WORDS) - 2)),
            values_strings=[g.choice.choice(among) for _ in WORDS],
            default_string=g.choice.choice(among),
        ),
    )


def numbers(g, strings):
    """Converts strings to numbers by LabelEncoder, where some strings have a key of their own."""
    known = (
        sorted({g.choice.choice([str(s) for s in strings.array.ravel()]) for _ in range(3)}) if strings.size else [""]
    )
    return g.node(
        "LabelEncoder",
        [strings],
        domain=ML,
        keys_strings=known,
        values_int64s=list(range(len(known))),
        default_int64=-7,
    )


@rule(f"{ML}.LabelEncoder")
def label_encoder(g, op):
    return numbers(g, words(g))


@rule(f"{ML}.CategoryMapper")
def category_mapper(g, op):
    return g.node(
        op.name, [words(g)], domain=op.domain, cats_strings=WORDS[1:4], cats_int64s=[5, 6, 8], default_int64=-1
    )


@rule("StringConcat")
def string_concat(g, op):
    left = words(g)
    right = left if g.choice.random() < 0.3 else words(g, 1, 1)
    if right.dims[-1] not in (left.dims[-1], (1, None)):
        raise Reject("mismatched strings")
    return numbers(g, hidden(g, g.node("StringConcat", [left, right])))


@rule("StringSplit")
def string_split(g, op):
    most = g.choice.choice((None, None, 0, 1))
    results = g.node("StringSplit", [words(g)], 2, delimiter=g.choice.choice((None, ",", "a")), maxsplit=most)
    words_of = hidden(g, [results[0]])[0]
    return numbers(g, words_of) if g.choice.random() < 0.5 else results[1]


@rule("StringNormalizer")
def string_normalizer(g, op):
    change = g.choice.choice(("NONE", "LOWER", "UPPER"))
    strings = g.node(
        "StringNormalizer",
        [words(g, 1, 1, PLAIN)],
        case_change_action=change,
        is_case_sensitive=g.choice.choice((0, 1)),
        stopwords=[w for w in PLAIN if g.choice.random() < 0.4],
    )
    return numbers(g, hidden(g, strings))


@rule("RegexFullMatch")
def regex_full_match(g, op):
    return g.node("RegexFullMatch", [words(g)], pattern=g.choice.choice(("a.*", "[ab ]+", "(a|B)?", ".b.c")))


def rows(g):
    """Returns a matrix whose rows have a constant number of features, as the ops of ai.onnx.ml need
    it."""
    return g.value([F32], 2, 2, test=lambda v: v.size and v.dims[1][1] is None)


def some(g, count):
    return [g.choice.randint(-4, 4) / 4 for _ in range(count)]


@rule(f"{ML}.FeatureVectorizer")
def feature_vectorizer(g, op):
    value = rows(g)
    values = [value, g.like([value.dims[0], (g.choice.randint(1, 3), None)], F32)]
    return g.node(op.name, values, domain=op.domain, inputdimensions=[v.shape[1] for v in values])


@rule(f"{ML}.Imputer")
def imputer(g, op):
    value = rows(g)
    filled = some(g, g.choice.choice((1, value.shape[1])))
    return g.node(op.name, [value], domain=op.domain, imputed_value_floats=filled, replaced_value_float=0.5)


@rule(f"{ML}.OneHotEncoder")
def one_hot_encoder(g, op):
    value = g.value([I64], 1, 2, test=lambda v: v.size)
    return g.node(op.name, [value], domain=op.domain, cats_int64s=[0, 2, 1], zeros=1)


@rule(f"{ML}.LinearClassifier")
def linear_classifier(g, op):
    # For one score and two classes, onnxruntime's scores differ from ONNX's reference.
    value = rows(g)
    return g.node(
        op.name,
        [value],
        2,
        domain=op.domain,
        coefficients=some(g, 3 * value.shape[1]),
        intercepts=some(g, 3),
        classlabels_ints=[4, 7, 9],
        post_transform=g.choice.choice(("NONE", "LOGISTIC", "SOFTMAX")),
    )


def machine(g, value, vectors):
    kernel = g.choice.choice(("LINEAR", "RBF", "SIGMOID"))
    return {
        "kernel_type": kernel,
        "kernel_params": [0.25, 0.5, 3.0],
        "support_vectors": some(g, vectors * value.shape[1]),
    }


@rule(f"{ML}.SVMRegressor")
def svm_regressor(g, op):
    value = rows(g)
    return g.node(
        op.name, [value], domain=op.domain, coefficients=some(g, 4), rho=[0.25], n_supports=4, **machine(g, value, 4)
    )


@rule(f"{ML}.SVMClassifier")
def svm_classifier(g, op):
    value = rows(g)
    return g.node(
        op.name,
        [value],
        2,
        domain=op.domain,
        classlabels_ints=[1, 5, 6],
        coefficients=some(g, 2 * 6),
        rho=some(g, 3),
        vectors_per_class=[2, 2, 2],
        **machine(g, value, 6),
    )
