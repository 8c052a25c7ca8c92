# SPDX-License-Identifier: Apache-2.0
"""Tensors of the Open Inference Protocol (V2) as NumPy's and back: types, shapes, and what is refused. Nothing here knows a server.

https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md: "Tensor Data"."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

# The protocol's types by NumPy's names. bfloat16 has none that every server knows, and goes as FP32: what is given is rounded, as ONNX's
# Cast does; what is answered loses nothing.
DATATYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
    "bfloat16": "FP32",
    "object": "BYTES",
}


class Unservable(Exception):
    """The model has a tensor that the protocol can't carry, or that can't be batched; said when it is loaded."""


class BadRequest(Exception):
    """A request that does not fit the model. The text names the input or output; the fault is the client's."""


def datatype_of(tensor: object, role: str) -> str:
    """The protocol's type for a hewn.Tensor, `role` is "input" or "output". Unservable where there is none."""
    if tensor.kind != "tensor":
        raise Unservable(
            f"{role} '{tensor.name}' is {tensor.kind} of {tensor.dtype}: the Open Inference Protocol has tensors alone"
        )
    datatype = DATATYPES.get(tensor.dtype.name)
    if datatype is None:
        raise Unservable(f"{role} '{tensor.name}' is {tensor.dtype}: the Open Inference Protocol has no such type")
    return datatype


def shape_of(tensor: object) -> list[int]:
    """A hewn.Tensor's shape as metadata have it: open dims, formulas and what only a run tells are -1."""
    return [dim if isinstance(dim, int) else -1 for dim in tensor.shape]


def batch_dim(inputs: Sequence[object], outputs: Sequence[object]) -> str:
    """The symbol that requests are put together by: the first dim of every input and output, and no other dim of any, also by a formula: such a
    dim would be as long as all requests of a batch together, not as the request that it is given for. Unservable where there is none."""
    first = {t.shape[0] if t.shape else None for t in [*inputs, *outputs]}
    ranks_vary = any(t.cases for t in outputs)
    if len(first) != 1 or not isinstance(symbol := next(iter(first)), str) or ranks_vary:
        told = ", ".join(f"{t.name}{tuple(t.shape or ())}" for t in [*inputs, *outputs])
        raise Unservable(f"max_batch_size wants an open dim that is the first of every input and output, not {told}")
    within = re.compile(rf"(?<![\w.]){re.escape(symbol)}(?![\w.])")
    for t in [*inputs, *outputs]:
        for axis, dim in enumerate(t.shape[1:], 1):
            if isinstance(dim, str) and within.search(dim):
                raise Unservable(
                    f"max_batch_size: '{symbol}', by which requests are put together, is also in dim {axis} of '{t.name}', which is {dim}"
                )
    return symbol


def _flat(data: object) -> Iterable:
    """What nested lists hold, in order; a request may nest them deeper than Python calls."""
    stack = [iter((data,))]
    while stack:
        for item in stack[-1]:
            if isinstance(item, (list, tuple)):
                stack.append(iter(item))
                break
            yield item
        else:
            stack.pop()


def _texts(name: str, data: object, is_base64: bool) -> np.ndarray:
    """An array of str: bytes that are no UTF-8 by surrogates, as hewn.Module takes and gives them."""
    texts = []
    for item in _flat(data):
        if not isinstance(item, (str, bytes)):
            raise BadRequest(f"input '{name}' holds {type(item).__name__}, BYTES are strings")
        if is_base64:
            try:
                item = base64.b64decode(item, validate=True)
            except (binascii.Error, ValueError) as problem:
                raise BadRequest(f"input '{name}' is no base64: {problem}") from None
        text = item.decode(errors="surrogateescape") if isinstance(item, bytes) else item
        if "\0" in text:
            raise BadRequest(f"input '{name}' has a string with a zero byte in it")
        texts.append(text)
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def _natural(name: str, data: object) -> np.ndarray:
    """Numbers as Python has them: int64, uint64, float64, bool, or objects where a null is among them."""
    try:
        return np.asarray(data)
    except ValueError:
        raise BadRequest(f"input '{name}': its data are lists of unlike lengths, or too deep") from None


def _numbers(name: str, data: object, dtype: np.dtype) -> np.ndarray:
    """Numbers of a type, with nothing lost but a float's precision."""
    array = _natural(name, data).ravel()
    if array.dtype == dtype:
        return array
    kind, wanted = array.dtype.kind, DATATYPES[dtype.name]
    if array.size == 0:
        return array.astype(dtype)
    if kind == "O" and dtype.kind not in "iub":  # JSON writes NaN as null
        try:
            array = np.array([math.nan if item is None else item for item in array.tolist()])
        except (ValueError, OverflowError):
            raise BadRequest(f"input '{name}' holds what is no number") from None
        kind = array.dtype.kind
    if dtype.kind == "b":
        if not (kind == "b" or (kind in "iu" and np.isin(array, (0, 1)).all())):
            raise BadRequest(f"input '{name}' holds what is neither true nor false")
        return array.astype(dtype)
    if dtype.kind in "iu":
        if kind in "fO" and all(
            type(item) is int for item in _flat(data)
        ):  # beside smaller ones, what is above int64 becomes float64
            array = np.array(list(_flat(data)), object)
            kind = "i"
        if kind == "f":
            raise BadRequest(f"input '{name}' holds fractions, {wanted} are whole numbers")
        limits = np.iinfo(dtype)
        if kind not in "iu" or array.min() < limits.min or array.max() > limits.max:
            raise BadRequest(f"input '{name}' holds what is no {wanted}")
        return array.astype(dtype)
    if kind not in "iuf":
        raise BadRequest(f"input '{name}' holds what is no number")
    with np.errstate(over="ignore"):
        rounded = array.astype(dtype)
    if not np.array_equal(np.isinf(array), np.isinf(rounded.astype(np.float64))):
        raise BadRequest(f"input '{name}' holds numbers that are too large for {wanted}")
    return rounded


def _expect_shape(tensor: object, shape: Sequence[int]) -> None:
    wanted = shape_of(tensor)
    fits = len(shape) == len(wanted) and all(w in (-1, d) for w, d in zip(wanted, shape))
    if not fits or any(not isinstance(d, int) or d < 0 for d in shape):
        raise BadRequest(f"input '{tensor.name}' is of shape {list(shape)}, the model wants {wanted}")


def array_of(tensor: object, datatype: str, shape: Sequence[int], data: object, content_type: str | None) -> np.ndarray:
    """What a request gives for an input, as hewn.Module wants it. `data` are flat or nested lists, or arrays. BadRequest names the input."""
    wanted = DATATYPES[tensor.dtype.name]
    if datatype != wanted:
        raise BadRequest(f"input '{tensor.name}' is {datatype}, the model wants {wanted}")
    _expect_shape(tensor, shape)
    if isinstance(data, list) and data and all(isinstance(part, np.ndarray) for part in data):
        data = np.concatenate(data)  # what requests of a batch give
    if tensor.dtype != object:
        array = _numbers(tensor.name, data, tensor.dtype)
    else:
        array = data if isinstance(data, np.ndarray) else _texts(tensor.name, data, content_type == "base64")
    if array.size != math.prod(shape):
        raise BadRequest(
            f"input '{tensor.name}' has {array.size} elements, its shape {list(shape)} has {math.prod(shape)}"
        )
    try:
        return array.reshape(shape)
    except (
        ValueError,
        OverflowError,
    ):  # no elements, and beside the 0 a dim, or a product of dims, above what NumPy counts to
        raise BadRequest(f"input '{tensor.name}' is of shape {list(shape)}, which is too large") from None


def data_of(array: np.ndarray) -> tuple[list, str | None]:
    """A result as flat JSON data, and its content type: "base64" where strings are no UTF-8. NaN and infinities, which JSON has not, become null
    where a server writes them."""
    if array.dtype != object:
        wide = array if array.dtype.isbuiltin == 1 else array.astype(np.float32)
        return wide.ravel().tolist(), None
    texts = [
        item if isinstance(item, bytes) else item.encode(errors="surrogateescape") for item in array.ravel().tolist()
    ]
    try:
        for text in texts:
            text.decode()
    except UnicodeDecodeError:
        return [base64.b64encode(text) for text in texts], "base64"
    return texts, None


def expect_names(given: Sequence[str], wanted: Sequence[str]) -> None:
    """Every input once, and no other."""
    seen = set()
    for name in given:
        if name in seen:
            raise BadRequest(f"input '{name}' is given twice")
        seen.add(name)
        if name not in wanted:
            raise BadRequest(f"there is no input '{name}', the model has {', '.join(wanted)}")
    for name in wanted:
        if name not in seen:
            raise BadRequest(f"input '{name}' is missing")


def chosen(asked: Sequence[str] | None, there: Sequence[str]) -> list[str]:
    """The outputs to answer with: those that were asked for, or all."""
    for name in asked or ():
        if name not in there:
            raise BadRequest(f"there is no output '{name}', the model has {', '.join(there)}")
    return list(dict.fromkeys(asked)) if asked else list(there)
