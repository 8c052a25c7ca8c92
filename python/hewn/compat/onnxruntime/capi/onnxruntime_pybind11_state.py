# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's exceptions. What hewn said is the `__cause__` of each that it was the reason for."""

from __future__ import annotations


class _StatusError(Exception):
    """One with a status code, told as onnxruntime tells it. The classes have no common base in onnxruntime beside Exception."""

    _code = 0
    _word = ""

    @classmethod
    def told(cls, what: str) -> _StatusError:
        """The exception with its code in front of its text."""
        return cls(f"[ONNXRuntimeError] : {cls._code} : {cls._word} : {what}")


class Fail(_StatusError):
    """A failure of no other class: most of what a model or a run of it can have wrong."""

    _code, _word = 1, "FAIL"


class InvalidArgument(_StatusError):
    """Names, types or shapes that do not fit the model, or indices outside of a dim."""

    _code, _word = 2, "INVALID_ARGUMENT"


class NoSuchFile(_StatusError):
    """There is no file at the model's path."""

    _code, _word = 3, "NO_SUCHFILE"


class NoModel(_StatusError):
    """Never raised here; programs name it."""

    _code, _word = 4, "NO_MODEL"


class EngineError(_StatusError):
    """Never raised here; programs name it."""

    _code, _word = 5, "ENGINE_ERROR"


class RuntimeException(_StatusError):
    """Never raised here; programs name it."""

    _code, _word = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(_StatusError):
    """The file or the bytes are no ONNX model."""

    _code, _word = 7, "INVALID_PROTOBUF"


class ModelLoaded(_StatusError):
    """Never raised here; programs name it."""

    _code, _word = 8, "MODEL_LOADED"


class NotImplemented(_StatusError):
    """What hewn does not have."""

    _code, _word = 9, "NOT_IMPLEMENTED"


class InvalidGraph(_StatusError):
    """A model with a node of ONNX's that ONNX does not have."""

    _code, _word = 10, "INVALID_GRAPH"


class EPFail(_StatusError):
    """Never raised here; programs name it."""

    _code, _word = 11, "EP_FAIL"


class NotFound(_StatusError):
    """Never raised here; programs name it."""

    _code, _word = 14, "NOT_FOUND"


# Programs take these from here too.
from .._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions  # noqa: E402, F401
from .._providers import get_all_providers, get_available_providers, get_device  # noqa: E402, F401
