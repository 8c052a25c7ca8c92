# SPDX-License-Identifier: Apache-2.0
"""What a model may be beside an ONNX file, and who makes ONNX of it. The kind of an object is decided here and nowhere else."""

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


class ConversionError(Exception):
    """A model of a framework can't be written as ONNX: what its converter says (the cause), and what to do."""


@dataclasses.dataclass(frozen=True)
class Frontend:
    """A kind of model. An object is of it by `classes`, full names of which one is among its type's bases, or, being callable, by the
    package that its example inputs are of."""

    kind: str
    classes: frozenset[str]
    converter: str  # a module of this package
    needs: tuple[str, ...]  # packages that it imports
    extra: str  # what pip calls them
    calls_with: str | None = None  # a callable on arrays of this package is of this kind


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
    "a model is a path, bytes, a ModelProto, " + ", ".join(f.kind for f in FRONTENDS[:-1]) + f" or {FRONTENDS[-1].kind}"
)


def full_names(value: object) -> set[str]:
    """Of an object's class and all of its bases."""
    return {f"{base.__module__}.{base.__qualname__}" for base in type(value).__mro__}


def leaves(value: object) -> Iterator[object]:
    """What lies in lists, tuples and dicts."""
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
    """The kind of a model, or None where it is none of these. Imports nothing."""
    names = full_names(model)
    for frontend in FRONTENDS:
        if names & frontend.classes:
            return frontend
    if callable(model):
        packages = {package for leaf in leaves(example_inputs) for package in _packages(leaf)}
        # Arrays of numpy's are anybody's: then the function itself says whose it is, by what it calls.
        used = getattr(model, "__globals__", {}).values() if not packages & {f.calls_with for f in FRONTENDS} else ()
        packages |= {getattr(value, "__name__", "").split(".")[0] for value in used if type(value) is type(sys)}
        found = [f for f in FRONTENDS if f.calls_with in packages]
        return found[0] if len(found) == 1 else None
    return None


def is_there(package: str) -> bool:
    """Whether a package can be imported; imports nothing."""
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:
        return False


def expect_packages(frontend: Frontend) -> None:
    """ModuleNotFoundError with the command that installs what is missing."""
    missing = [package for package in frontend.needs if not is_there(package)]
    if missing:
        raise ModuleNotFoundError(
            f"{frontend.kind} becomes ONNX by {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} "
            f"not installed: pip install 'hewn-compiler[{frontend.extra}]'",
            name=missing[0],
        )


@contextlib.contextmanager
def as_onnx(model: object, example_inputs: object = None, dynamic_shapes: object = None) -> Iterator[object]:
    """The model as what the compiler reads: itself where it is ONNX already, else a file, or a ModelProto, which lasts as long as the
    context does. TypeError for what is no model, ModuleNotFoundError where a converter is missing, ConversionError with its words."""
    is_onnx = isinstance(model, str | os.PathLike | bytes | bytearray | memoryview)
    frontend = None if is_onnx else frontend_of(model, example_inputs)
    if frontend is None:
        if not is_onnx and not hasattr(model, "SerializeToString"):
            hint = ": a function's kind is told by its example_inputs, arrays of torch's or of jax's" * callable(model)
            raise TypeError(f"{TAKEN}, not {type(model).__name__}{hint}")
        if example_inputs is not None or dynamic_shapes is not None:
            raise TypeError("example_inputs and dynamic_shapes are for models that are not ONNX yet")
        yield model
        return
    expect_packages(frontend)
    converter = importlib.import_module(f".{frontend.converter}", __name__)
    with tempfile.TemporaryDirectory(prefix="hewn-onnx-") as folder:
        yield converter.convert(model, folder, example_inputs, dynamic_shapes)


def positional(example_inputs: object) -> tuple:
    """Example inputs as a call's arguments: one that is no tuple or list is the only one."""
    return tuple(example_inputs) if isinstance(example_inputs, list | tuple) else (example_inputs,)


def failed(what: str, problem: BaseException, advice: str) -> ConversionError:
    """The error that names the converter, says its reason, without a terminal's colours, and what to do about it."""
    reason = re.sub(r"\x1b\[[0-9;]*m", "", str(problem)).strip()
    return ConversionError(f"{what}: {type(problem).__name__}: {reason}\n{advice}")


def expect_nothing_dynamic(kind: str, dynamic_shapes: object, instead: str) -> None:
    if dynamic_shapes is not None:
        raise TypeError(f"dynamic_shapes is for models of torch; of {kind} {instead}")
