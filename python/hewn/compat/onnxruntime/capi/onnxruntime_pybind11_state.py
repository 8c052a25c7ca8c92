# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's exceptions. The `__cause__` is the exception of hewn, if there is one."""

from __future__ import annotations


class _StatusError(Exception):
    """An exception with a status code, in onnxruntime's format.

    In onnxruntime the only common base of these classes is Exception.
    """

    _code = 0
    _word = ""

    @classmethod
    def told(cls, what: str) -> _StatusError:
        """Returns an exception of this class whose message is `what`, preceded by the status code."""
        return cls(f"[ONNXRuntimeError] : {cls._code} : {cls._word} : {what}")


class Fail(_StatusError):
    """Raised for errors of a model or a run that no other class describes, which are most errors."""

    _code, _word = 1, "FAIL"


class InvalidArgument(_StatusError):
    """Raised for invalid names, types or shapes of a run's arguments, or indices out of range."""

    _code, _word = 2, "INVALID_ARGUMENT"


class NoSuchFile(_StatusError):
    """The model file does not exist."""

    _code, _word = 3, "NO_SUCHFILE"


class NoModel(_StatusError):
    """Never raised; defined for programs that catch it."""

    _code, _word = 4, "NO_MODEL"


class EngineError(_StatusError):
    """Never raised; defined for programs that catch it."""

    _code, _word = 5, "ENGINE_ERROR"


class RuntimeException(_StatusError):
    """Never raised; defined for programs that catch it."""

    _code, _word = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(_StatusError):
    """The file or the bytes are not an ONNX model."""

    _code, _word = 7, "INVALID_PROTOBUF"


class ModelLoaded(_StatusError):
    """Never raised; defined for programs that catch it."""

    _code, _word = 8, "MODEL_LOADED"


class NotImplemented(_StatusError):
    """Raised for features of onnxruntime that hewn does not support."""

    _code, _word = 9, "NOT_IMPLEMENTED"


class InvalidGraph(_StatusError):
    """The model has a node of an op that ONNX does not define."""

    _code, _word = 10, "INVALID_GRAPH"


class EPFail(_StatusError):
    """Never raised; defined for programs that catch it."""

    _code, _word = 11, "EP_FAIL"


class NotFound(_StatusError):
    """Never raised; defined for programs that catch it."""

    _code, _word = 14, "NOT_FOUND"


# Programs also import these names from this module.
from .._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions  # noqa: E402, F401
from .._providers import get_all_providers, get_available_providers, get_device  # noqa: E402, F401
