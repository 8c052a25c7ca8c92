# SPDX-License-Identifier: Apache-2.0
"""Converts tensors between the Open Inference Protocol (V2) and NumPy and checks types and shapes.

Does not depend on a server.

See "Tensor Data" in
https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import hewn
import numpy as np

# Types of the protocol by NumPy name. No type for bfloat16 is supported by all servers, so it is
# transferred as FP32. Inputs are rounded like ONNX Cast does; outputs are exact.
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
    """A tensor of the model can't be represented in the protocol, or can't be batched.

    Raised when the model is loaded.
    """


class BadRequest(Exception):
    """A request does not match the model (client error). The message names the input or output."""


def datatype_of(tensor: hewn.Tensor, role: str) -> str:
    """Returns the protocol's type for a hewn.Tensor; `role` is "input" or "output".

    Raises Unservable if there is none.
    """
    if tensor.kind != "tensor":
        raise Unservable(
            f"{role} '{tensor.name}' is {tensor.kind} of {tensor.dtype}: the Open Inference Protocol only supports tensors"
        )
    datatype = DATATYPES.get(tensor.dtype.name)
    if datatype is None:
        raise Unservable(f"{role} '{tensor.name}' is {tensor.dtype}: the Open Inference Protocol has no such type")
    return datatype


def shape_of(tensor: hewn.Tensor) -> list[int]:
    """Returns the shape of a hewn.Tensor for model metadata: dynamic dims, formulas and data-dependent dims are -1."""
    return [dim if isinstance(dim, int) else -1 for dim in tensor.shape or ()]


def batch_dim(inputs: Sequence[hewn.Tensor], outputs: Sequence[hewn.Tensor]) -> str:
    """Returns the symbol along which requests are batched: the first dim of all inputs and outputs.

    No other dim may depend on it, not even by a formula, since its size would then depend on the
    other requests of a batch. Raises Unservable if there is no such symbol.
    """
    first = {t.shape[0] if t.shape else None for t in [*inputs, *outputs]}
    ranks_vary = any(t.cases for t in outputs)
    if len(first) != 1 or not isinstance(symbol := next(iter(first)), str) or ranks_vary:
        told = ", ".join(f"{t.name}{tuple(t.shape or ())}" for t in [*inputs, *outputs])
        raise Unservable(
            f"max_batch_size requires a dynamic dim that is the first of all inputs and outputs, got {told}"
        )
    within = re.compile(rf"(?<![\w.]){re.escape(symbol)}(?![\w.])")
    for t in [*inputs, *outputs]:
        for axis, dim in enumerate((t.shape or ())[1:], 1):
            if isinstance(dim, str) and within.search(dim):
                raise Unservable(
                    f"max_batch_size: '{symbol}', the batch dim, is also in dim {axis} of '{t.name}', which is {dim}"
                )
    return symbol


def _flat(data: object) -> Iterable[Any]:
    """Yields the elements of nested lists in order.

    Not recursive, since a request may nest lists deeper than Python's recursion limit.
    """
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
    """Returns an array of str.

    Bytes that are not valid UTF-8 become surrogates, as hewn.Module represents them.
    """
    texts = []
    for item in _flat(data):
        if not isinstance(item, (str, bytes)):
            raise BadRequest(f"input '{name}' contains {type(item).__name__}, but BYTES must be strings")
        if is_base64:
            try:
                item = base64.b64decode(item, validate=True)
            except (binascii.Error, ValueError) as problem:
                raise BadRequest(f"input '{name}' is not valid base64: {problem}") from None
        text = item.decode(errors="surrogateescape") if isinstance(item, bytes) else item
        if "\0" in text:
            raise BadRequest(f"input '{name}' has a string that contains a zero byte")
        texts.append(text)
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def _natural(name: str, data: object) -> np.ndarray:
    """Converts the data of a JSON request to int64, uint64, float64 or bool, or to objects if it contains null."""
    try:
        return np.asarray(data)
    except ValueError:
        raise BadRequest(f"input '{name}': lists have different lengths or are nested too deeply") from None


def _numbers(name: str, data: object, dtype: np.dtype) -> np.ndarray:
    """Converts data to `dtype`.

    Only the precision of floats may be lost; other inexact conversions raise BadRequest.
    """
    array = _natural(name, data).ravel()
    if array.dtype == dtype:
        return array
    kind, wanted = array.dtype.kind, DATATYPES[dtype.name]
    if array.size == 0:
        return array.astype(dtype)
    # The data contains null, which is NaN in JSON requests.
    if kind == "O" and dtype.kind not in "iub":
        try:
            array = np.array([math.nan if item is None else item for item in array.tolist()])
        except (ValueError, OverflowError):
            raise BadRequest(f"input '{name}' contains a value that is not a number") from None
        kind = array.dtype.kind
    if dtype.kind == "b":
        if not (kind == "b" or (kind in "iu" and np.isin(array, (0, 1)).all())):
            raise BadRequest(f"input '{name}' contains a value that is neither true nor false")
        return array.astype(dtype)
    if dtype.kind in "iu":
        if kind in "fO" and all(
            type(item) is int for item in _flat(data)
        ):  # NumPy converts a mix of small integers and integers above int64 to float64
            array = np.array(list(_flat(data)), object)
            kind = "i"
        if kind == "f":
            raise BadRequest(f"input '{name}' contains fractions, but {wanted} are integers")
        limits = np.iinfo(dtype)
        if kind not in "iu" or array.min() < limits.min or array.max() > limits.max:
            raise BadRequest(f"input '{name}' contains a value that is not a valid {wanted}")
        return array.astype(dtype)
    if kind not in "iuf":
        raise BadRequest(f"input '{name}' contains a value that is not a number")
    with np.errstate(over="ignore"):
        rounded = array.astype(dtype)
    if not np.array_equal(np.isinf(array), np.isinf(rounded.astype(np.float64))):
        raise BadRequest(f"input '{name}' contains numbers that are too large for {wanted}")
    return rounded


def _expect_shape(tensor: hewn.Tensor, shape: Sequence[int]) -> None:
    wanted = shape_of(tensor)
    fits = len(shape) == len(wanted) and all(w in (-1, d) for w, d in zip(wanted, shape))
    if not fits or any(not isinstance(d, int) or d < 0 for d in shape):
        raise BadRequest(f"input '{tensor.name}' has shape {list(shape)}, but the model expects {wanted}")


def array_of(
    tensor: hewn.Tensor, datatype: str, shape: Sequence[int], data: object, content_type: str | None
) -> np.ndarray:
    """Converts the data of a request for an input to an array for hewn.Module.

    `data` are flat or nested lists, or arrays. Raises BadRequest, which names the input.
    """
    wanted = DATATYPES[tensor.dtype.name]
    if datatype != wanted:
        raise BadRequest(f"input '{tensor.name}' is {datatype}, but the model expects {wanted}")
    _expect_shape(tensor, shape)
    if isinstance(data, list) and data and all(isinstance(part, np.ndarray) for part in data):
        data = np.concatenate(data)  # MLServer's batcher passes one array per request of a batch
    if tensor.dtype != object:
        array = _numbers(tensor.name, data, tensor.dtype)
    else:
        array = data if isinstance(data, np.ndarray) else _texts(tensor.name, data, content_type == "base64")
    if array.size != math.prod(shape):
        raise BadRequest(
            f"input '{tensor.name}' has {array.size} elements, but its shape {list(shape)} has {math.prod(shape)}"
        )
    try:
        return array.reshape(shape)
    except (
        ValueError,
        OverflowError,
    ):  # the array is empty, but a dim, or the nonzero dims multiplied, exceed NumPy's limit
        raise BadRequest(f"input '{tensor.name}' has shape {list(shape)}, which is too large") from None


def data_of(array: np.ndarray) -> tuple[list[Any], str | None]:
    """Returns a result as flat JSON data and its content type.

    The type is "base64" if a string is not valid UTF-8, otherwise None. Servers write NaN and
    infinities, which JSON does not have, as null.
    """
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
    """Raises BadRequest unless each input is given exactly once and no other input is given."""
    seen = set()
    for name in given:
        if name in seen:
            raise BadRequest(f"input '{name}' is given twice")
        seen.add(name)
        if name not in wanted:
            raise BadRequest(f"unknown input '{name}', the model has {', '.join(wanted)}")
    for name in wanted:
        if name not in seen:
            raise BadRequest(f"input '{name}' is missing")


def chosen(asked: Sequence[str] | None, there: Sequence[str]) -> list[str]:
    """Returns the requested outputs without duplicates, or all outputs if none are requested."""
    for name in asked or ():
        if name not in there:
            raise BadRequest(f"unknown output '{name}', the model has {', '.join(there)}")
    return list(dict.fromkeys(asked)) if asked else list(there)
