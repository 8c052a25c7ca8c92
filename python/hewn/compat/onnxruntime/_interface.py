# SPDX-License-Identifier: Apache-2.0
"""Reads the metadata and the declared inputs and outputs of a model file.

A compiled model only contains the data for its runs. Programs also use the producer, metadata
(lists of characters, names of classes), and the original names of dims. These are about twenty
fields in protobuf's wire format. They are parsed here without protobuf, which would be the only
dependency of this package besides NumPy. Weights are skipped.
"""

from __future__ import annotations

import dataclasses
import mmap
import os
import pathlib
import stat
from collections.abc import Iterator

from ._types import word_of

Dim = int | str | None
# Maximum nesting of sequences, optional values and maps; protobuf's limit is 100 messages.
_MOST_DEPTH = 32


@dataclasses.dataclass(frozen=True)
class Value:
    """A declared input or output.

    `type` is onnxruntime's text; `shape` is None if it is not declared or not a tensor's.
    """

    name: str
    type: str
    shape: list[Dim] | None
    denotations: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Interface:
    """The interface of a model.

    `inputs` are the inputs of a run, `overridable` the inputs with an initializer.
    """

    producer_name: str = ""
    domain: str = ""
    version: int = 2**63 - 1  # onnxruntime's value for models without a version
    description: str = ""
    graph_name: str = ""
    graph_description: str = ""
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)
    inputs: list[Value] = dataclasses.field(default_factory=list)
    outputs: list[Value] = dataclasses.field(default_factory=list)
    overridable: list[Value] = dataclasses.field(default_factory=list)
    ir_version: int = 0
    has_graph: bool = False


class NotProtobuf(ValueError):
    """The bytes are not a protobuf message."""


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise NotProtobuf("an unterminated number")


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yields the number and content of each field: an int, or the bytes of a string or message."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at, end)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at, end)
            yield key >> 3, value
            continue
        if kind not in (1, 2, 5) or key < 8:
            raise NotProtobuf(f"a field of wire type {kind}")
        size, at = _varint(data, at, end) if kind == 2 else ({1: 8, 5: 4}[kind], at)
        if size > end - at:
            raise NotProtobuf("a field extends past the end")
        yield key >> 3, data[at : at + size]
        at += size


def _text(content: object) -> str:
    if not isinstance(content, memoryview):
        raise NotProtobuf("a number instead of a string")
    return bytes(content).decode(errors="surrogateescape")


def _message(content: object) -> Iterator[tuple[int, int | memoryview]]:
    if not isinstance(content, memoryview):
        raise NotProtobuf("a number instead of a message")
    return _fields(content)


def _number(content: object) -> int:
    if not isinstance(content, int):
        raise NotProtobuf("a string instead of a number")
    return content - (1 << 64) if content >> 63 else content


def _dim(content: object) -> tuple[Dim, str]:
    """Parses a TensorShapeProto.Dimension: its size or name, and its denotation.

    A negative size, written by older exporters, means unknown.
    """
    size: Dim = None
    denotation = ""
    for field, value in _message(content):
        if field == 1:
            size = _number(value) if _number(value) >= 0 else None
        elif field == 2:
            size = _text(value) or None
        elif field == 3:
            denotation = _text(value)
    return size, denotation


def _type(content: object, depth: int = 0) -> tuple[str, list[Dim] | None, list[str]]:
    """Parses a TypeProto: onnxruntime's text and, for a tensor, dims and denotations."""
    if depth > _MOST_DEPTH:
        raise NotProtobuf("types are nested too deeply")
    for field, value in _message(content):
        if field in (1, 8):  # a tensor, sparse or not
            code, dims = 0, None
            for inner, part in _message(value):
                if inner == 1:
                    code = _number(part)
                elif inner == 2:
                    dims = [_dim(dim) for number, dim in _message(part) if number == 1]
            word = f"{'sparse_' * (field == 8)}tensor({word_of(code)})"
            return word, None if dims is None else [d for d, _ in dims], [t for _, t in dims or []]
        if field in (4, 9):  # a sequence; an optional value
            element = next((part for number, part in _message(value) if number == 1), memoryview(b""))
            return f"{'seq' if field == 4 else 'optional'}({_type(element, depth + 1)[0]})", None, []
        if field == 5:  # a map
            parts = dict(_message(value))
            value_word = _type(parts.get(2, memoryview(b"")), depth + 1)[0]
            return f"map({word_of(_number(parts.get(1, 0)))},{value_word})", None, []
    return "", None, []


def _value(content: object) -> Value:
    name = ""
    kind: tuple[str, list[int | str | None] | None, list[str]] = ("", None, [])
    for field, part in _message(content):
        if field == 1:
            name = _text(part)
        elif field == 2:
            kind = _type(part)
    return Value(name, *kind)


def _initializer_name(field: int, content: object) -> str:
    """Returns the name of a TensorProto (field 8), or of a SparseTensorProto's values (field 1)."""
    if field == 15:
        content = next((part for number, part in _message(content) if number == 1), memoryview(b""))
    return next((_text(part) for number, part in _message(content) if number == 8), "")


def _read_graph(content: object, found: Interface) -> None:
    initialized = set()
    inputs = []
    for field, part in _message(content):
        if field == 2:
            found.graph_name = _text(part)
        elif field == 10:
            found.graph_description = _text(part)
        elif field == 11:
            inputs.append(_value(part))
        elif field == 12:
            found.outputs.append(_value(part))
        elif field in (5, 15):
            initialized.add(_initializer_name(field, part))
    found.inputs = [value for value in inputs if value.name not in initialized]
    # Before IR version 4, every initializer also had to be an input; these are constants.
    found.overridable = [value for value in inputs if value.name in initialized and found.ir_version >= 4]


def _read_model(data: memoryview) -> Interface:
    found, graph = Interface(), None
    for field, content in _fields(data):
        if field == 1:
            found.ir_version = _number(content)
        elif field == 2:
            found.producer_name = _text(content)
        elif field == 4:
            found.domain = _text(content)
        elif field == 5:
            found.version = _number(content)
        elif field == 6:
            found.description = _text(content)
        elif field == 7:
            graph = content
        elif field == 14:
            entry = {number: _text(part) for number, part in _message(content)}
            found.metadata[entry.get(1, "")] = entry.get(2, "")
    if graph is not None:
        found.has_graph = True
        _read_graph(graph, found)
    return found


def read(model: str | bytes) -> Interface:
    """Returns the interface of a model, given as a path or bytes.

    Raises OSError if the file cannot be read, and NotProtobuf if it is not a model.
    """
    if isinstance(model, bytes):
        return _read_model(memoryview(model))
    if not stat.S_ISREG(pathlib.Path(model).stat().st_mode):
        raise OSError("not a regular file")  # reading a pipe would block
    with pathlib.Path(model).open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return Interface()
        # The memory mapping of the model file exists as long as views of it do, including views
        # that exceptions hold.
        return _read_model(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
