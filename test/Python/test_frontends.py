# SPDX-License-Identifier: Apache-2.0
"""Tests the detection of model types and the errors for missing converters. The frameworks need not
be installed: the tests define classes with the names of their classes."""

import importlib
import importlib.machinery
import pathlib
import subprocess
import sys
import types

import hewn
import models
import numpy as np
import pytest
from hewn import frontends


def instance(full_name, bases=(object,), **members):
    """Returns an instance of a class that has the full name of a framework's class."""
    module, _, name = full_name.rpartition(".")
    return type(name, bases, {"__module__": module, **members})()


@pytest.fixture
def nothing_installed(monkeypatch):
    """Hides all packages that converters need, so that they seem not to be installed."""
    for frontend in frontends.FRONTENDS:
        for package in frontend.needs:
            monkeypatch.setitem(sys.modules, package, None)


CASES = [
    ("torch.nn.modules.module.Module", "a torch.nn.Module", "torch"),
    ("torch.export.exported_program.ExportedProgram", "a torch.export.ExportedProgram", "torch"),
    ("jaxlib._jax.PjitFunction", "a jax function", "jax"),
    ("flax.nnx.module.Module", "a jax function", "jax"),
    ("equinox._module._module.Module", "a jax function", "jax"),
    ("keras.src.models.model.Model", "a Keras model", "keras"),
    ("sklearn.base.BaseEstimator", "a scikit-learn estimator", "sklearn"),
]


@pytest.mark.parametrize(["name", "kind", "extra"], CASES)
def test_a_kind_is_told_by_its_bases(name, kind, extra, nothing_installed):
    base = type(instance(name))
    model = type("Mine", (base,), {"__module__": "mine"})()
    assert frontends.frontend_of(model).kind == kind
    with pytest.raises(
        ModuleNotFoundError, match=rf"^converting {kind} to ONNX requires .*: pip install 'hewn-compiler\[{extra}\]'$"
    ):
        hewn.compile(model, example_inputs=np.zeros(1))


def test_one_package_that_is_missing_is_named(nothing_installed, monkeypatch):
    there = types.ModuleType("torch")
    there.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    monkeypatch.setitem(sys.modules, "torch", there)
    with pytest.raises(ModuleNotFoundError) as told:
        hewn.compile(instance("torch.nn.modules.module.Module"))
    assert told.value.name == "onnxscript"
    assert str(told.value) == (
        "converting a torch.nn.Module to ONNX requires onnxscript, which is not installed: pip install 'hewn-compiler[torch]'"
    )


def test_a_function_is_its_arrays():
    def function(x):
        return x

    for owner, kind in [("torch", "a torch.nn.Module"), ("jaxlib._jax", "a jax function"), ("jax", "a jax function")]:
        array = instance(f"{owner}.Array")
        assert frontends.frontend_of(function, (array,)).kind == kind
        assert frontends.frontend_of(function, {"x": [array, 1.0]}).kind == kind
    assert frontends.frontend_of(function, (instance("torch.T"), instance("jax.A"))) is None
    assert frontends.frontend_of(function, np.zeros(1)) is None


def test_a_function_on_numpy_arrays_is_whose_it_calls():
    module = types.ModuleType("jax.numpy")
    function = types.FunctionType((lambda x: x).__code__, {"jnp": module})
    assert frontends.frontend_of(function, np.zeros(1)).kind == "a jax function"


@pytest.mark.parametrize("model", [3, None, object()])
def test_what_is_no_model(model):
    with pytest.raises(TypeError, match=rf"^model must be a path, bytes, a ModelProto, .* got {type(model).__name__}$"):
        hewn.compile(model)


def test_a_function_without_inputs():
    with pytest.raises(TypeError, match="for a function, pass torch or jax arrays as example_inputs"):
        hewn.compile(lambda x: x)


def test_onnx_needs_no_example():
    with pytest.raises(TypeError, match="do not apply to ONNX models"):
        hewn.compile(models.scaled(), example_inputs=np.zeros(4))


def test_a_converter_is_asked_and_its_words_passed_on(monkeypatch):
    """hewn.compile calls the converter of a registered frontend and passes on its errors. The
    frontend of this test doubles its input or raises an error."""
    converter = types.ModuleType("hewn.frontends.of_test")
    seen = []

    def convert(model, folder, example_inputs, dynamic_shapes):
        seen.append((model, example_inputs, dynamic_shapes))
        if isinstance(example_inputs, str):
            try:
                raise ValueError("no such op")
            except ValueError as problem:
                raise frontends.failed("of_test can't convert this", problem, "Do without.") from problem
        path = f"{folder}/model.onnx"
        with pathlib.Path(path).open("wb") as file:
            file.write(models.scaled().SerializeToString())
        return path

    converter.convert = convert
    monkeypatch.setitem(sys.modules, converter.__name__, converter)
    row = frontends.Frontend("a test", frozenset({"test_frontends.Mine"}), "of_test", (), "none")
    monkeypatch.setattr(frontends, "FRONTENDS", (row,))
    model = instance("test_frontends.Mine")
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(hewn.compile(model, example_inputs=x, dynamic_shapes=5)(x), 4)
    assert seen[0][0] is model and seen[0][1] is x and seen[0][2] == 5
    with pytest.raises(
        hewn.ConversionError, match=r"^of_test can't convert this: ValueError: no such op\nDo without\.$"
    ):
        hewn.compile(model, example_inputs="refuse")


def test_nothing_of_a_framework_is_imported():
    code = (
        "import sys, hewn\n"
        "from hewn import frontends\n"
        "frontends.frontend_of(lambda x: x, 1)\n"
        "print([m for m in ('torch', 'jax', 'keras', 'sklearn', 'hewn.dynamo') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_wrappers_of_transformers_name_what_is_missing(nothing_installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "hewn.transformers", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'hewn-compiler\[transformers\]'$") as told:
        importlib.import_module("hewn.transformers")
    assert str(told.value).startswith(
        "hewn.transformers requires torch and onnxscript and transformers, which are not installed: "
    )


def test_the_backend_of_torch_names_what_is_missing(nothing_installed, monkeypatch):
    monkeypatch.delitem(sys.modules, "hewn.dynamo", raising=False)
    with pytest.raises(
        ModuleNotFoundError, match=r"^hewn\.dynamo requires torch, .*: pip install 'hewn-compiler\[torch\]'$"
    ):
        importlib.import_module("hewn.dynamo")


def test_reasons_have_no_colours_of_a_terminal():
    told = frontends.failed("it can't", ValueError("\x1b[96mthis is\x1b[0m why"), "do that")
    assert str(told) == "it can't: ValueError: this is why\ndo that"
