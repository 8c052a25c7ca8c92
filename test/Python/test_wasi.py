# SPDX-License-Identifier: Apache-2.0
"""Modules for WASI (--target=wasm32@wasi), which read their weights file in the folders that the
host has opened."""

import os
import struct
import subprocess

import numpy as np
import onnx
import pytest
import wasmtime

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 64] x) => (float[1, 64] y) <float[64, 64] w> { y = MatMul(x, w) }"""


def compile_for_wasi(model, path):
    source = path.with_suffix(".onnx")
    onnx.save(model, source)
    command = [
        f"{os.environ['HEWN_TOOLS']}/hewn",
        "compile",
        source,
        "--target=wasm32@wasi",
        "-o",
        path,
        "--name=model",
    ]
    subprocess.run(command, check=True, capture_output=True)


class Guest:
    """An instance of a module, in whose memory the test calls C functions."""

    def __init__(self, path, folder):
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        config = wasmtime.WasiConfig()
        if folder:
            config.preopen_dir(str(folder), "/")
        self.store.set_wasi(config)
        module = wasmtime.Module.from_file(engine, str(path))
        self.imports = {item.module for item in module.imports}
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        self.exports = linker.instantiate(self.store, module).exports(self.store)

    def call(self, name, *arguments):
        return self.exports[name](self.store, *arguments)

    def place(self, content):
        address = self.call("hewn_wasm_allocate", len(content), 64)
        self.exports["memory"].write(self.store, content, address)
        return address

    def word(self, address):
        return struct.unpack("<I", self.exports["memory"].read(self.store, address, address + 4))[0]

    def status(self, name, *arguments):
        """Calls a function that returns a hewn_status. Returns its code and its message."""
        status = self.place(bytes(8))
        self.call(name, status, *arguments)
        start = self.word(status + 4)
        text = bytes(self.exports["memory"].read(self.store, start, start + 400))
        return self.word(status), text.split(b"\0")[0].decode()

    def create(self, **options):
        """Creates a context. Returns the status and the context's address."""
        offsets = {"flags": 8, "weights_path": 48}
        content = bytearray(120)  # sizeof(hewn_context_options)
        struct.pack_into("<I", content, 0, len(content))
        for option, value in options.items():
            struct.pack_into("<I", content, offsets[option], value)
        result = self.place(bytes(4))
        status = self.status(
            "hewn_context_create", self.exports["model"].value(self.store), self.place(content), result
        )
        return *status, self.word(result)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)


@pytest.fixture
def compiled(tmp_path, weights):
    """Returns the path of a module, whose weights file is in the same folder."""
    model = onnx.parser.parse_model(MODEL)
    model.graph.initializer.clear()
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    compile_for_wasi(model, tmp_path / "model.wasm")
    assert (tmp_path / "model.wasm.weights").stat().st_size > weights.nbytes
    return tmp_path / "model.wasm"


def test_weights_are_read_in_an_opened_folder(compiled, weights):
    guest = Guest(compiled, compiled.parent)
    assert guest.imports == {"wasi_snapshot_preview1"}
    x = np.random.default_rng(1).standard_normal((1, 64)).astype(np.float32)
    for flags in (0, 1):  # 1: HEWN_VERIFY_WEIGHTS
        code, message, context = guest.create(flags=flags)
        assert (code, message) == (0, "")
        y = guest.place(bytes(256))
        assert guest.status("model_run", context, guest.place(x.tobytes()), y)[0] == 0
        got = np.frombuffer(bytes(guest.exports["memory"].read(guest.store, y, y + 256)), np.float32)
        np.testing.assert_allclose(got, (x @ weights)[0], rtol=1e-5, atol=1e-5)
    guest.call("hewn_context_destroy", context)


def test_path_of_the_weights(compiled):
    (compiled.parent / "folder").mkdir()
    (compiled.parent / "model.wasm.weights").rename(compiled.parent / "folder/other.weights")
    guest = Guest(compiled, compiled.parent)
    assert guest.create()[0] == 4  # HEWN_IO
    assert guest.create(weights_path=guest.place(b"folder/other.weights\0"))[0] == 0


def damaged(change):
    def apply(path):
        path.write_bytes(change(path.read_bytes()))

    return apply


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda path: path.unlink(), "does not exist in any folder that the host has opened"),
        (damaged(lambda content: content[:-1]), "is truncated"),
        (damaged(lambda content: content + b"x"), "is too long"),
        (damaged(lambda content: b"x" + content[1:]), "weights"),
    ],
)
def test_bad_files(compiled, change, message):
    change(compiled.with_name("model.wasm.weights"))
    code, text, _ = Guest(compiled, compiled.parent).create()
    assert code == 4 and message in text and "model.wasm.weights" in text


def test_no_folder(compiled):
    code, text, _ = Guest(compiled, None).create()
    assert code == 4 and "does not exist in any folder" in text


def test_a_folder_is_no_file(compiled):
    compiled.with_name("model.wasm.weights").unlink()
    compiled.with_name("model.wasm.weights").mkdir()
    code, text, _ = Guest(compiled, compiled.parent).create()
    assert code == 4 and "is not a regular file" in text


def test_without_weights_nothing_is_imported(tmp_path):
    text = MODEL.replace("<float[64, 64] w> { y = MatMul(x, w) }", "{ y = Relu(x) }")
    compile_for_wasi(onnx.parser.parse_model(text), tmp_path / "model.wasm")
    assert not Guest(tmp_path / "model.wasm", None).imports
