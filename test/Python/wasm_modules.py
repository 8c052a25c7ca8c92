# SPDX-License-Identifier: Apache-2.0
"""WebAssembly modules that look like models, with functions and descriptions by the tests."""

import json
import struct

import wasmtime


def section(content):
    """Returns a custom section 'hewn'."""

    def number(value):
        return bytes([value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14])

    body = b"\4hewn" + content
    return b"\0" + number(len(body)) + body


TENSOR = {"name": "x", "kind": "tensor", "type": "float32", "shape": [2]}
DESCRIPTION = {"name": "model", "variants": ["wasm32"], "inputs": [], "outputs": [TENSOR], "cases": []} | {
    "metadata": {},
    "weights": None,
}


def descriptor(abi, dim):
    """Returns the bytes at address 64 of a model with the output x: float32[dim]."""
    model = struct.pack("<2I4I4i5I", abi, 0, 264, 0, 272, 0, 0, 1, 0, 1, 0, 128, 0, 0, 0)
    info = struct.pack("<IBBHi2Ii4s2i", 280, 2, 32, 1, 1, 288, 0, 0, b"", 0, 0)
    texts = b"model\0\0\0wasm32\0\0x\0\0\0\0\0\0\0"
    return model.ljust(64, b"\0") + info.ljust(136, b"\0") + texts + struct.pack("<q", dim)


def module_of(
    run="",
    description=DESCRIPTION,
    create="",
    allocate="i32",
    memory='(memory (export "memory") 1)',
    more="",
    abi=3,
    dim=2,
):
    """Returns a module with the exports of a model, whose hewn_run_counted has the given code. Its
    outputs are at $outputs."""
    data = "".join(f"\\{byte:02x}" for byte in descriptor(abi, dim))
    code = f"""(module {more} {memory} (data (i32.const 64) "{data}")
      (global (export "model") i32 (i32.const 64))
      (func (export "hewn_context_create") (param i32 i32 i32 i32) {create})
      (func (export "hewn_run_counted") (param $status i32) (param i32 i32 i32 i32) (param $outputs i32) (param i32) {run})
      (func (export "hewn_output_release") (param i32 i32))
      (func (export "hewn_wasm_allocate") (param i32 {allocate}) (result i32)
        (global.set $next (i32.add (global.get $next) (i32.and (i32.add (local.get 0) (i32.const 31)) (i32.const -16))))
        (i32.sub (global.get $next) (i32.and (i32.add (local.get 0) (i32.const 31)) (i32.const -16))))
      (func (export "hewn_wasm_release") (param i32))
      (global $next (mut i32) (i32.const 1024)))"""
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    return bytes(wasmtime.wat2wasm(code)) + section(text)


def outputs(data=2048, ndim=1, shape=4096, dim=2):
    """Returns code that sets the fields of the only output."""
    fields = {0: data, 12: ndim, 20: shape}
    stores = [f"(i32.store offset={at} (local.get $outputs) (i32.const {value}))" for at, value in fields.items()]
    return " ".join([*stores, f"(i64.store (i32.const 4096) (i64.const {dim}))"])
