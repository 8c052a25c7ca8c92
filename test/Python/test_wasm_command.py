# SPDX-License-Identifier: Apache-2.0
"""WebAssembly modules in the command line: hewn run, bench and info."""

import json
import os
import pathlib
import subprocess

import hewn
import models
import numpy as np
import pytest
import wasmtime
from onnx import TensorProto, helper
from wasm_modules import DESCRIPTION, module_of, outputs

TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
ENGINE = next(pathlib.Path(wasmtime.__file__).parent.rglob("_libwasmtime.*"))
X = np.arange(8, dtype=np.float32).reshape(2, 4)


def command(*arguments, engine=ENGINE):
    environment = os.environ | {"HEWN_WASMTIME": str(engine)}
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a module and an input."""
    folder = tmp_path_factory.mktemp("module")
    hewn.compile(models.scaled(), target="wasm32", output=folder / "model.wasm")
    np.save(folder / "x.npy", X)
    return folder


def test_run(folder):
    done = command("run", folder / "model.wasm", "--input", f"x={folder}/x.npy", "--output", folder / "y.npy", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert (record["target"], record["threads"], record["outputs"][0]["shape"]) == ("wasm32", 1, [2, 4])
    np.testing.assert_array_equal(np.load(folder / "y.npy"), 3 * X + 1)


def test_bench(folder):
    done = command("bench", folder / "model.wasm", "--dim", "batch=3", "--seconds", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dims"] == {"batch": 3}


def test_info(folder):
    record = json.loads(command("info", folder / "model.wasm", "--json").stdout)
    assert (record["kind"], record["models"][0]["inputs"][0]["shape"]) == ("library", ["batch", 4])


def test_the_weights_file(tmp_path):
    weights = np.random.default_rng(0).standard_normal((64, 300)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = models.model(
        [node], [("x", TensorProto.FLOAT, ["n", 64])], [("y", TensorProto.FLOAT, ["n", 300])], [("w", weights)]
    )
    hewn.compile(model, target="wasm32", output=tmp_path / "model.wasm")
    np.save(tmp_path / "x.npy", np.ones((1, 64), np.float32))
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.wasm"
    link.symlink_to(tmp_path / "model.wasm")
    run = ("run", link, "--verify", "--input", f"x={tmp_path}/x.npy", "--output", tmp_path / "y.npy")
    assert command(*run).returncode == 0
    np.testing.assert_allclose(np.load(tmp_path / "y.npy")[0], weights.sum(0), rtol=1e-4, atol=1e-4)
    (file,) = tmp_path.glob("*.weights")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert "checksum" in command(*run).stderr
    file.unlink()
    done = command(*run)
    assert (done.returncode, "cannot read the weights file '" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "--threads", "2"], "a WebAssembly module runs on one thread, got 2"),
        (["profile"], "the kernels of a WebAssembly module cannot be traced"),
    ],
)
def test_options_that_a_module_cannot_have(folder, arguments, message):
    done = command(arguments[0], folder / "model.wasm", *arguments[1:], "--input", f"x={folder}/x.npy")
    assert (done.returncode, done.stderr) == (1, f"error: cannot load '{folder}/model.wasm': {message}\n")


def test_inputs_that_do_not_fit(folder):
    np.save(folder / "wide.npy", np.zeros((2, 5), np.float32))
    done = command("run", folder / "model.wasm", "--input", f"x={folder}/wide.npy")
    assert (done.returncode, done.stderr) == (1, "error: input 'x': shape [batch, 4] expected, got [2, 5]\n")


def test_the_engine_is_missing(folder):
    done = command("run", folder / "model.wasm", engine="/nowhere/libwasmtime.so")
    why = "/nowhere/libwasmtime.so: cannot open shared object file: No such file or directory"
    assert done.stderr == (
        f"error: cannot load '{folder}/model.wasm': "
        f"WebAssembly modules run in wasmtime, whose library cannot be loaded ({why}): install wasmtime's C API, or set HEWN_WASMTIME to its library, which PyPI's package wasmtime contains as _libwasmtime.so\n"
    )
    done = command("run", folder / "model.wasm", engine="libm.so.6")
    assert done.stderr.endswith("'libm.so.6' is no WebAssembly engine: it has no function wasm_engine_new\n")


VALID = module_of(outputs())
NO_NAME = DESCRIPTION | {"name": None}
# Modules that are no models: the content and the error.
INVALID = {
    "another file": (b"\x7fELF", "not a valid WebAssembly module"),
    "a truncated file": (VALID[:300], "not a valid WebAssembly module"),
    "no exports": (bytes(wasmtime.wat2wasm("(module)")), "the module has no memory 'memory': it is no model of hewn"),
    "an import": (
        module_of(more='(import "env" "f" (func))'),
        "the module imports functions, which this host does not have: load it in Python",
    ),
    "a start function that fails": (
        module_of(more="(func $s unreachable) (start $s)"),
        "the module cannot be instantiated: wasm trap: wasm `unreachable` instruction executed",
    ),
    "a context that fails": (
        module_of(create="unreachable"),
        "the WebAssembly module failed: wasm trap: wasm `unreachable` instruction executed",
    ),
    "no section": (
        VALID[: VALID.index(b"\4hewn{") - 4],
        "the module has no description: it is no model of hewn",
    ),
    "no name": (module_of(description=NO_NAME), "the module has no description: it is no model of hewn"),
    "no JSON": (
        module_of(description=b"{"),
        "its description is damaged: [1:1, byte=1]: Expected object key",
    ),
    "another name": (
        module_of(description=DESCRIPTION | {"name": "other"}),
        "the module has no address 'other': it is no model of hewn",
    ),
    "a function that is missing": (
        VALID.replace(b"hewn_context_create", b"hewn_context_creatE"),
        "the module has no function 'hewn_context_create': it is no model of hewn",
    ),
    "a function of another type": (
        module_of(allocate="i64"),
        "the function 'hewn_wasm_allocate' of the module has another type than that of hewn's runtime",
    ),
    "another version": (
        module_of(abi=2),
        "the module has version 2 of the runtime's structs; this hewn has version 3",
    ),
    "an unknown symbol": (module_of(dim=-5), "a dim of 'x' refers to a symbol that the model lacks"),
}


@pytest.mark.parametrize("name", INVALID)
def test_modules_that_are_no_models(name, tmp_path):
    content, message = INVALID[name]
    (tmp_path / "model.wasm").write_bytes(content)
    done = command("run", tmp_path / "model.wasm")
    assert (done.returncode, done.stderr) == (1, f"error: cannot load '{tmp_path}/model.wasm': {message}\n")


RUNS = {
    "a trap": ("unreachable", "the WebAssembly module failed: wasm trap: wasm `unreachable` instruction executed"),
    "a text outside of the memory": (
        "(i64.store (local.get $status) (i64.const -1))",
        "the module refers to 1 bytes at 0xffffffff, outside of its memory",
    ),
    "data outside of the memory": (
        outputs(data=65532),
        "the module refers to 8 bytes at 0xfffc, outside of its memory",
    ),
    "many elements": (
        outputs(dim=1 << 62),
        "the module refers to 18446744073709551615 bytes at 0x800, outside of its memory",
    ),
    "a negative size": (outputs(dim=-1), "the module returned a negative size"),
    "many dims": (outputs(ndim=2), "the module returned a tensor with 2 dims"),
    "fewer than no dims": (outputs(ndim=-1), "the module returned a tensor with -1 dims"),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_invalid_modules(name, tmp_path):
    code, message = RUNS[name]
    (tmp_path / "model.wasm").write_bytes(module_of(code))
    done = command("run", tmp_path / "model.wasm")
    assert (done.returncode, done.stderr) == (1, f"error: {message}\n")


def test_a_module_by_hand(tmp_path):
    (tmp_path / "model.wasm").write_bytes(module_of(outputs()))
    assert command("run", tmp_path / "model.wasm").stdout == "x: float32 2\n"
