# SPDX-License-Identifier: Apache-2.0
"""Frontends: the types of models that hewn accepts in addition to ONNX, and their converters to ONNX."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from .._conversion import ConversionError


@dataclasses.dataclass(frozen=True)
class Frontend:
    """A type of model.

    An object belongs to it if the full name of its type or a base is in `classes`, or if it is
    callable and its example inputs come from the package `calls_with`.
    """

    kind: str
    classes: frozenset[str]
    converter: str  # a module of this package
    needs: tuple[str, ...]  # packages that the converter imports
    extra: str  # pip extra that installs them
    calls_with: str | None = None  # package of the example inputs by which a callable is recognized


_TORCH = ("onnx_of_torch", ("torch", "onnxscript"), "torch")
_JAX = ("onnx_of_jax", ("jax", "jax2onnx"), "jax")
FRONTENDS = (
    Frontend("a torch.export.ExportedProgram", frozenset({"torch.export.exported_program.ExportedProgram"}), *_TORCH),
    Frontend("a torch.nn.Module", frozenset({"torch.nn.modules.module.Module"}), *_TORCH, calls_with="torch"),
    Frontend(
        "a jax function",
        frozenset(
            {
                "jaxlib._jax.PjitFunction",
                "jaxlib.xla_extension.PjitFunction",
                "flax.nnx.module.Module",
                "equinox._module._module.Module",
                "equinox._module.Module",
            }
        ),
        *_JAX,
        calls_with="jax",
    ),
    Frontend(
        "a Keras model",
        frozenset({"keras.src.models.model.Model"}),
        "onnx_of_keras",
        ("keras", "tf2onnx", "tensorflow"),
        "keras",
    ),
    Frontend(
        "a scikit-learn estimator",
        frozenset({"sklearn.base.BaseEstimator"}),
        "onnx_of_sklearn",
        ("skl2onnx",),
        "sklearn",
    ),
)
TAKEN = (
    "model must be a path, bytes, a ModelProto, "
    + ", ".join(f.kind for f in FRONTENDS[:-1])
    + f" or {FRONTENDS[-1].kind}"
)


def full_names(value: object) -> set[str]:
    """Returns the full names of an object's class and all of its bases."""
    return {f"{base.__module__}.{base.__qualname__}" for base in type(value).__mro__}


def leaves(value: object) -> Iterator[object]:
    """Yields the leaves of nested lists, tuples and dicts."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def _packages(value: object) -> set[str]:
    return {name.split(".")[0].removesuffix("lib") for name in full_names(value)}


def frontend_of(model: object, example_inputs: object = None) -> Frontend | None:
    """Returns the frontend that accepts a model, or None. Imports no framework."""
    names = full_names(model)
    for frontend in FRONTENDS:
        if names & frontend.classes:
            return frontend
    if callable(model):
        packages = {package for leaf in leaves(example_inputs) for package in _packages(leaf)}
        # If the example inputs are numpy arrays, the modules that the function uses determine the
        # framework.
        used = getattr(model, "__globals__", {}).values() if not packages & {f.calls_with for f in FRONTENDS} else ()
        packages |= {getattr(value, "__name__", "").split(".")[0] for value in used if type(value) is type(sys)}
        found = [f for f in FRONTENDS if f.calls_with in packages]
        return found[0] if len(found) == 1 else None
    return None


def is_there(package: str) -> bool:
    """Returns True if a package is installed, without importing it."""
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:
        return False


def expect_packages(frontend: Frontend) -> None:
    """Raises ModuleNotFoundError with the command that installs missing packages."""
    missing = [package for package in frontend.needs if not is_there(package)]
    if missing:
        raise ModuleNotFoundError(
            f"converting {frontend.kind} to ONNX requires {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} "
            f"not installed: pip install 'hewn-compiler[{frontend.extra}]'",
            name=missing[0],
        )


@contextlib.contextmanager
def as_onnx(model: object, example_inputs: object = None, dynamic_shapes: object = None) -> Iterator[object]:
    """Yields the model as ONNX: unchanged if it already is, else converted to a file or a ModelProto.

    A file exists until the context exits. Raises TypeError for other objects, ModuleNotFoundError
    if a converter is not installed, and ConversionError if it fails.
    """
    is_onnx = isinstance(model, str | os.PathLike | bytes | bytearray | memoryview)
    frontend = None if is_onnx else frontend_of(model, example_inputs)
    if frontend is None:
        if not is_onnx and not hasattr(model, "SerializeToString"):
            hint = ": for a function, pass torch or jax arrays as example_inputs" * callable(model)
            raise TypeError(f"{TAKEN}, got {type(model).__name__}{hint}")
        if example_inputs is not None or dynamic_shapes is not None:
            raise TypeError("example_inputs and dynamic_shapes do not apply to ONNX models")
        yield model
        return
    expect_packages(frontend)
    converter = importlib.import_module(f".{frontend.converter}", __name__)
    with tempfile.TemporaryDirectory(prefix="hewn-onnx-") as folder:
        yield converter.convert(model, folder, example_inputs, dynamic_shapes)


def positional(example_inputs: object) -> tuple[Any, ...]:
    """Returns example inputs as positional arguments; an object that is not a tuple or list is the only argument."""
    return tuple(example_inputs) if isinstance(example_inputs, list | tuple) else (example_inputs,)


_LONGEST_REASON = 1500  # some converters append the whole graph


def failed(what: str, problem: BaseException, advice: str) -> ConversionError:
    """Returns the error with the converter's name and message (without terminal colors), and advice."""
    reason = re.sub(r"\x1b\[[0-9;]*m", "", str(problem)).strip()
    if len(reason) > _LONGEST_REASON:
        more = len(reason) - _LONGEST_REASON
        reason = f"{reason[:_LONGEST_REASON]} ... ({more} more characters: see __cause__ of this exception)"
    return ConversionError(f"{what}: {type(problem).__name__}: {reason}\n{advice}")


def expect_nothing_dynamic(kind: str, dynamic_shapes: object, instead: str) -> None:
    """Raises TypeError if `dynamic_shapes` is given for another framework than torch."""
    if dynamic_shapes is not None:
        raise TypeError(f"dynamic_shapes is only supported for torch; for {kind}, {instead}")
