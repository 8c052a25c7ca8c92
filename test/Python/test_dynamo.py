# SPDX-License-Identifier: Apache-2.0
"""Tests torch.compile(model, backend="hewn") if torch is installed. `test/Exports` lists the
packages of an environment for these tests."""

import gc
import pathlib
import subprocess
import sys
import tomllib
import warnings

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r test/Exports/requirements.txt")
pytest.importorskip("onnxscript", reason="torch.onnx.export wants onnxscript: pip install 'hewn-compiler[torch]'")

from hewn import dynamo  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def fresh():
    """Resets torch's dynamo and disables gradients. A warning that a graph falls back to torch
    becomes an error, unless a test expects it."""
    torch._dynamo.reset()
    dynamo.counts.clear()
    torch.manual_seed(0)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", dynamo.FallbackWarning)
        yield


class Layer(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(width, width), torch.nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(torch.relu(self.linear(x)))


def compiled(function, **options):
    return torch.compile(function, backend=dynamo.backend, options=options or None)


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_one_graph_is_compiled_once():
    module, x = Layer().eval(), torch.randn(3, 8)
    fast = compiled(module)
    for _ in range(3):
        close(fast(x), module(x))
    assert dynamo.counts == {"graphs": 1, "compiled": 1}


def test_under_inference_mode():
    module = Layer().eval()
    fast = compiled(module)
    with torch.inference_mode():
        x = torch.randn(3, 8)
        got = fast(x)
        assert got.is_inference()
        close(got, module(x))


def test_new_shapes_are_one_graph_more():
    module = Layer().eval()
    fast = compiled(module)
    for rows in (3, 4, 5, 9, 30, 2):
        x = torch.randn(rows, 8)
        close(fast(x), module(x))
    assert dynamo.counts == {"graphs": 2, "compiled": 2}


def test_numbers_and_sizes_go_in_and_out():
    def function(x, n):
        return x * n, x.shape[0] + n, "text", None

    fast = compiled(function)
    for rows, n in [(3, 4), (5, 6), (7, 3)]:
        x = torch.randn(rows, 2)
        got, want = fast(x, n), function(x, n)
        close(got[0], want[0])
        assert got[1:] == want[1:]


def test_graphs_break_where_python_looks_at_values():
    def function(x):
        y = x.sin()
        if y.sum() > 0:
            return y + 1
        return y - 1

    fast = compiled(function)
    for x in (torch.ones(4), -torch.ones(4)):
        close(fast(x), function(x))
    assert dynamo.counts["graphs"] == 3


def test_weights_that_change_are_seen():
    module, x = Layer().eval(), torch.randn(3, 8)
    fast = compiled(module)
    fast(x)
    for _ in range(8):
        module.linear.weight.mul_(1.5)
        close(fast(x), module(x))
    # After several writes to parameters, these become inputs of the compiled model, so that later
    # writes cause no compilation.
    assert dynamo.counts["compiled"] <= 7
    module.linear.weight.data = torch.randn(8, 8)
    close(fast(x), module(x))
    module.load_state_dict(Layer().state_dict())
    close(fast(x), module(x))


def test_layers_share_a_graph_and_not_their_weights():
    layers = [Layer().eval() for _ in range(3)]
    x = torch.randn(3, 8)

    @torch.compile(backend=dynamo.backend)
    def apply(layer, x):
        return layer(x)

    for layer in [*layers, *layers]:
        close(apply(layer, x), layer(x))
    kept = dynamo.counts["compiled"]
    assert kept <= 6
    for layer in layers:
        close(apply(layer, x), layer(x))
    assert dynamo.counts["compiled"] == kept


def test_lifted_parameters():
    module, x = Layer().eval(), torch.randn(3, 8)
    fast = compiled(module, parameters="lift")
    for _ in range(3):
        close(fast(x), module(x))
        module.linear.weight.mul_(1.5)
    assert dynamo.counts == {"graphs": 1, "compiled": 1}


def test_writes_and_views_are_kept():
    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.register_buffer("seen", torch.zeros(6, 4))

        def forward(self, x, position):
            self.seen.index_copy_(0, position, self.linear(x))
            return self.seen.sum(0), x.t()

    module, other = Cache().eval(), Cache().eval()
    other.load_state_dict(module.state_dict())
    fast = compiled(module)
    for i in range(4):
        x, position = torch.randn(1, 4), torch.tensor([i])
        got, view = fast(x, position)
        close(got, other(x, position)[0])
        assert view.data_ptr() == x.data_ptr()
    close(module.seen, other.seen)
    assert dynamo.counts["functionalized"] == 1 and dynamo.counts["compiled"] == 1


def test_training_is_left_to_torch():
    module, x = Layer(), torch.randn(3, 8)
    fast = compiled(module)
    with (
        torch.enable_grad(),
        pytest.warns(dynamo.FallbackWarning, match=r"no backward: call the model under torch.no_grad"),
    ):
        fast(x).sum().backward()
    assert module.linear.weight.grad is not None
    close(fast(x), module(x))
    assert dynamo.counts["fallbacks"] == 1 and dynamo.counts["compiled"] == 1


def test_what_has_no_onnx_is_left_to_torch():
    def function(x):
        return torch.linalg.eigvals(x @ x.t()).abs()

    x = torch.randn(3, 3)
    with pytest.warns(dynamo.FallbackWarning, match=r"^falling back to eager PyTorch for a graph: torch.onnx.export: "):
        close(compiled(function)(x), function(x))
    torch._dynamo.reset()
    with pytest.raises(
        torch._dynamo.exc.BackendCompilerFailed, match=r"hewn cannot compile this graph: torch\.onnx\.export: "
    ):
        compiled(function, fallback=False)(x)


def test_complex_arguments_are_left_to_torch():
    x = torch.randn(3, dtype=torch.complex64)
    with pytest.warns(dynamo.FallbackWarning, match="a tensor is torch.complex64"):
        close(compiled(lambda x: x + 1)(x), x + 1)


def test_options():
    x = torch.randn(4, 64)
    module = torch.nn.Linear(64, 64)
    fast = compiled(module, precision="medium", threads=2)
    torch.testing.assert_close(fast(x), module(x), rtol=0.05, atol=0.05)
    for options, why in [({"theads": 2}, "unknown options: theads"), ({"parameters": "keep"}, "'freeze' or 'lift'")]:
        torch._dynamo.reset()
        with pytest.raises(Exception, match=why):
            compiled(module, **options)(x)


def test_half_precision():
    module, x = Layer(64).eval().bfloat16(), torch.randn(3, 64).bfloat16()
    torch.testing.assert_close(compiled(module)(x), module(x), rtol=0.05, atol=0.05)


def test_a_model_that_goes_takes_its_code_along():
    module = Layer().eval()
    fast = compiled(module)
    fast(torch.randn(3, 8))
    watched = __import__("weakref").ref(module.linear.weight)
    del module, fast
    torch._dynamo.reset()
    gc.collect()
    assert watched() is None


def test_torch_finds_the_backend_by_its_name(tmp_path):
    """torch finds the backend through the entry point in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (entry,) = project["entry-points"]["torch_dynamo_backends"].items()
    about = tmp_path / "hewn_compiler-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hewn-compiler\nVersion: 0\n")
    (about / "entry_points.txt").write_text(f"[torch_dynamo_backends]\n{entry[0]} = {entry[1]}\n")
    code = (
        f"import sys; sys.path.append({str(tmp_path)!r})\n"
        "import torch\n"
        "assert 'hewn' in torch._dynamo.list_backends(exclude_tags=()) and 'hewn' not in sys.modules\n"
        "with torch.no_grad(): print(torch.compile(lambda x: x + 1, backend='hewn')(torch.ones(2)).tolist())\n"
        "from hewn import dynamo; print(dynamo.counts['compiled'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[2.0, 2.0]\n1\n", done.stderr
