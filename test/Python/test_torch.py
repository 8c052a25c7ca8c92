# SPDX-License-Identifier: Apache-2.0
"""Tests models and tensors of torch, if torch is installed. `test/Exports` lists the packages of an
environment for these tests."""

import hewn
import models
import numpy as np
import pytest
from onnx import TensorProto, helper

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r test/Exports/requirements.txt")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


@pytest.fixture(scope="module", autouse=True)
def converters():
    pytest.importorskip("onnxscript", reason="torch.onnx.export wants onnxscript: pip install 'hewn-compiler[torch]'")


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)
        self.drop, self.norm = torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(16)

    def forward(self, x, scale=1.0):
        return self.second(self.drop(torch.relu(self.norm(self.first(x))))) * scale


X = torch.linspace(-1, 1, 24).reshape(3, 8)


def close(got, want):
    torch.testing.assert_close(got, want.detach(), rtol=1e-5, atol=1e-5)


def passing(dtype):
    """Returns the model y = x for elements of this type."""
    return hewn.compile(
        models.model(
            [helper.make_node("Identity", ["x"], ["y"])], [("x", dtype, ["n"])], [("y", dtype, ["n"])], opset=21
        )
    )


def test_a_module_is_compiled_as_it_is_at_inference():
    module = Perceptron()
    module.drop.eval()
    compiled = hewn.compile(module, example_inputs=(X,))
    assert module.training and module.norm.training and not module.drop.training
    close(compiled(X), module.eval()(X))


def test_dims_stay_open():
    module = Perceptron().eval()
    compiled = hewn.compile(module, example_inputs=X, dynamic_shapes=({0: torch.export.Dim("rows")},))
    assert compiled.inputs[0].shape == ("rows", 8)
    close(compiled(torch.cat([X, X])), module(torch.cat([X, X])))


def test_inputs_by_name_functions_and_programs():
    module = Perceptron().eval()
    program = torch.export.export(module, (X,))
    for compiled in [hewn.compile(module, example_inputs={"x": X}), hewn.compile(program)]:
        close(compiled(X), module(X))
    close(hewn.compile(lambda x: x.cos() + 1, example_inputs=X)(X), X.cos() + 1)
    with pytest.raises(TypeError, match="already has inputs and dynamic shapes"):
        hewn.compile(program, example_inputs=X)
    with pytest.raises(TypeError, match=r"requires example inputs: .*example_inputs=\(x,\)"):
        hewn.compile(module)


def test_what_torch_refuses_is_passed_on():
    def branches(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(
        hewn.ConversionError, match=r"(?s)^torch.onnx.export cannot export this model: .*report=True"
    ) as told:
        hewn.compile(branches, example_inputs=X)
    assert told.value.__cause__ is not None


def test_state_that_is_lost_is_told():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            self.seen.add_(1)
            return x + self.seen

    with pytest.warns(UserWarning, match="the model writes to seen, but"):
        hewn.compile(Counts(), example_inputs=X)


def test_tensors_in_tensors_out():
    module = hewn.compile(models.scaled())
    x = torch.arange(8, dtype=torch.float32).reshape(2, 4)
    for given in [x, torch.nn.Parameter(x), x.t().contiguous().t(), torch.cat([x, x])[::2].reshape(2, 4).copy_(x)]:
        got = module(given)
        assert isinstance(got, torch.Tensor)
        close(got, 3 * given + 1)
    assert isinstance(module(x.numpy()), np.ndarray)
    y = torch.zeros(2, 4)
    assert module.run({"x": x}, out={"y": y})["y"].data_ptr() == y.data_ptr()
    close(y, 3 * x + 1)
    with pytest.raises(hewn.RunError, match="is float64, but the model expects float32"):
        module(x.double())
    with pytest.raises(hewn.RunError, match=r"input 'x'.*meta.*pass tensor.cpu"):
        module(x.to("meta"))


@pytest.mark.parametrize("name", ["bfloat16", *FLOAT8])
def test_tensors_of_types_that_numpy_lacks(name):
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = torch.tensor([-2.0, 0.5, 1.0, 3.0]).to(getattr(torch, name))
    module = passing(getattr(TensorProto, name.upper().replace("8_", "8")))
    got = module(x)
    assert got.dtype == x.dtype
    assert torch.equal(got.view(torch.uint8), x.view(torch.uint8))
    y = torch.zeros_like(x)
    module.run({"x": x}, out={"y": y})
    assert torch.equal(y.view(torch.uint8), x.view(torch.uint8))
