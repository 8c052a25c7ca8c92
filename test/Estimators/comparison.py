# SPDX-License-Identifier: Apache-2.0
"""Compares hewn with onnxruntime and with the library that fitted a model."""

import dataclasses
import warnings

import estimators
import numpy as np
import onnxruntime
from hewn.compat import onnxruntime as compat

# Errors of float32: each engine adds in its own order. The libraries compute in
# float64. The probabilities of support vector machines depend on when an iteration stops.
OF_ENGINE, OF_LIBRARY = 1e-5, 5e-4


@dataclasses.dataclass
class Compared:
    """Largest differences of probabilities and other floats. Labels are equal."""

    name: str
    outputs: str  # types of the outputs
    of_engine: float
    of_library: float


def _floats(result: object) -> np.ndarray:
    """Returns an output as an array: a list of dicts by rows, in the order of the keys."""
    if isinstance(result, list):
        return np.array([list(row.values()) for row in result])
    return np.asarray(result)


def _difference(got: object, want: object, what: str, allowed: float) -> float:
    """Returns the largest difference of two outputs of one type. Raises AssertionError if they differ
    in type, keys, shape, labels, or by more than `allowed`, relative to the largest value."""
    assert type(got) is type(want), f"{what}: {type(got).__name__} instead of {type(want).__name__}"
    if isinstance(want, list):
        assert len(got) == len(want), f"{what}: {len(got)} dicts instead of {len(want)}"
        for mine, other in zip(got, want):
            assert list(mine) == list(other), f"{what}: keys {list(mine)} instead of {list(other)}"
            assert list(map(type, mine.values())) == list(map(type, other.values())), f"{what}: types of values"
    a, b = _floats(got), _floats(want)
    assert a.shape == b.shape and a.dtype == b.dtype, f"{what}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
    return _between(a, b, what, allowed)


def _between(a: np.ndarray, b: np.ndarray, what: str, allowed: float) -> float:
    if b.dtype.kind not in "f":
        assert a.tolist() == b.tolist(), f"{what}: {int((a != b).sum())} of {b.size} labels differ"
        return 0.0
    if not b.size:
        return 0.0
    largest = float(np.abs(a.astype(float) - b).max())
    assert largest <= allowed * max(1.0, float(np.abs(b).max())), f"{what}: a difference of {largest:.2g}"
    return largest


def _of_library(exported: estimators.Exported) -> list[np.ndarray]:
    """Returns the library's results in the order of the model's outputs."""
    fitted, table = exported.fitted, exported.table
    found = [np.asarray(fitted.predict(table))]
    if hasattr(fitted, "predict_proba"):
        found.append(np.asarray(fitted.predict_proba(table)))
    elif hasattr(fitted, "decision_function"):
        found.append(np.asarray(fitted.decision_function(table)))
    elif type(fitted).__name__ == "KMeans":
        found.append(np.asarray(fitted.transform(table)))
    return found


def compare(name: str) -> Compared:
    """Fits, exports and compiles an estimator, and compares the results for all rows of its table.
    Raises AssertionError if the results differ."""
    exported = estimators.build(name)
    data = exported.onnx_model.SerializeToString()
    theirs = onnxruntime.InferenceSession(data, _quiet(), providers=["CPUExecutionProvider"])
    ours = compat.InferenceSession(data)
    types = [output.type for output in theirs.get_outputs()]
    for mine, other in zip(ours.get_inputs() + ours.get_outputs(), theirs.get_inputs() + theirs.get_outputs()):
        assert (mine.name, mine.type) == (other.name, other.type), f"{name}: {mine} instead of {other}"
    got = [ours.run(None, feed) for feed in exported.feeds]
    of_engine = max(
        _difference(a, b, f"{name}, compared with onnxruntime", OF_ENGINE)
        for feed, mine in zip(exported.feeds, got)
        for a, b in zip(mine, theirs.run(None, feed))
    )
    of_library = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = _of_library(exported)
    for number, want in enumerate(wanted):
        mine = np.concatenate([_floats(batch[number]) for batch in got])
        mine = mine.reshape(want.shape)  # some exports have labels [n, 1]
        what = f"{name}, compared with {type(exported.fitted).__module__.split('.')[0]}"
        of_library = max(of_library, _between(mine, want, what, OF_LIBRARY))
    return Compared(name, ", ".join(types), of_engine, of_library)


def _quiet() -> onnxruntime.SessionOptions:
    """Returns options without warnings: exporters declare outputs of one row, whatever their size."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return options
