# SPDX-License-Identifier: Apache-2.0
"""Models compiled to WebAssembly modules and run in wasmtime: the interface of native libraries,
weights, errors, and modules that other tools wrote or that are damaged."""

import ctypes
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading

import hewn
import models
import numpy as np
import onnx
import pytest
import wasmtime
from hewn import _guest, _wasm
from onnx import TensorProto, helper
from wasm_modules import DESCRIPTION, TENSOR, module_of, outputs

X = np.arange(12, dtype=np.float32).reshape(3, 4)
HEADER = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>'


def parsed(text):
    return onnx.parser.parse_model(f"{HEADER}\ng {text}")


def of_map():
    keys = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    node = helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", cast_to="TO_FLOAT", map_form="DENSE")
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [helper.make_value_info("x", keys)], [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8)


def described():
    model = models.two_inputs()
    model.producer_name, model.doc_string = "a test", "é"
    return model


SEQUENCE = "(seq(float[a, b]) x, int64 i) => (seq(float[c, d]) y, float[e, f] z)"
# Name, model, and inputs.
CASES = {
    "numbers": (models.scaled(), {"x": X}),
    "integers and bools": (described(), {"a": np.int64([3, 4, 9]), "b": np.int64([1, 5, 9])}),
    "no elements": (models.scaled(), {"x": X[:0]}),
    "formulas": (
        parsed("(float[n, m] x) => (float[k] y) { y = Concat<axis = 0>(a, a) a = Flatten<axis = 0>(x) }"),
        None,
    ),
    "scalars": (parsed("(float x) => (float y) { y = Neg(x) }"), {"x": np.float32(2)}),
    "dims from data": (parsed("(float[n] x) => (int64[1, k] y) { y = NonZero(x) }"), {"x": np.float32([0, 1, 0, 2])}),
    "ranks by case": (parsed("(float[n, m] x) => (float y) { y = Squeeze(x) }"), {"x": X[:1]}),
    "strings": (
        parsed(
            "(string[n] x, string[n] y) => (string[n] z, bool[n] same) { z = StringConcat(x, y) same = Equal(x, y) }"
        ),
        {"x": ["é", "", "abc", "\udc80"], "y": ["x" * 100, "", "abc", b"\xff"]},
    ),
    "bfloat16": (parsed("(bfloat16[n] x) => (bfloat16[n] y) { y = Mul(x, x) }"), None),
    "float8": (parsed("(float8e4m3fn[n] x) => (float[n] y) { y = Cast<to = 1>(x) }"), None),
    "int4": (parsed("(int4[n] x) => (int4[n] y) { y = Identity(x) }"), None),
    "sequences": (
        parsed(f"{SEQUENCE} {{ y = SequenceErase(x, i) z = SequenceAt(x, i) }}"),
        {"x": [X, X[:, 1:], X[:0]], "i": np.int64(1)},
    ),
    "empty sequences": (parsed("(seq(float[a]) x) => (seq(float[b]) y) { y = Identity(x) }"), {"x": []}),
    "optional": (
        parsed(
            "(optional(float[n]) x) => (bool h, optional(float[m]) y) { h = OptionalHasElement(x) y = Identity(x) }"
        ),
        {"x": X[0]},
    ),
    "absent": (
        parsed(
            "(optional(float[n]) x) => (bool h, optional(float[m]) y) { h = OptionalHasElement(x) y = Identity(x) }"
        ),
        {"x": None},
    ),
    "maps": (of_map(), {"x": {0: 1.5, 3: -2.0}}),
}


def inputs_of(name):
    if CASES[name][1] is not None:
        return CASES[name][1]
    import ml_dtypes

    values = np.arange(6) - 2
    dtypes = {"bfloat16": ml_dtypes.bfloat16, "float8": ml_dtypes.float8_e4m3fn, "int4": ml_dtypes.int4}
    return {"x": X} if name == "formulas" else {"x": values.astype(dtypes[name])}


def assert_same(got, want):
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want)
        for a, b in zip(got, want):
            assert_same(a, b)
        return
    assert (got is None) == (want is None)
    if want is not None:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tolist() == want.tolist()


@pytest.fixture(scope="module")
def module_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("module") / "model.wasm"
    hewn.compile(models.scaled(), target="wasm32", output=path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_a_module_is_like_a_library(name):
    model, feeds = CASES[name][0], inputs_of(name)
    native, module = hewn.compile(model), hewn.compile(model, target="wasm32")
    for attribute in ("name", "inputs", "outputs", "cases", "metadata"):
        assert getattr(module, attribute) == getattr(native, attribute)
    assert (module.variant, module.variants) == ("wasm32", ["wasm32"])
    for _ in range(2):
        want, got = native.run(feeds), module.run(feeds)
        assert list(got) == list(want)
        for output in want:
            assert_same(got[output], want[output])


@pytest.mark.parametrize(
    "feeds",
    [
        {"x": np.zeros((3, 5), np.float32)},
        {"x": np.zeros(3, np.float32)},
        {"x": np.zeros((3, 4), np.int64)},
        {"z": X},
    ],
)
def test_inputs_that_do_not_fit(module_file, feeds):
    messages = []
    for module in (hewn.compile(models.scaled()), hewn.load(module_file)):
        with pytest.raises(hewn.RunError) as problem:
            module.run(feeds)
        messages.append(str(problem.value))
    assert messages[0] == messages[1]


def test_arrays_for_outputs(module_file):
    module, out = hewn.load(module_file), np.empty((3, 4), np.float32)
    assert module.run({"x": X}, out={"y": out})["y"] is out
    np.testing.assert_array_equal(out, 3 * X + 1)
    with pytest.raises(hewn.RunError, match=r"^output 'y': shape \[3, 4\] expected, got \[2, 4\]$"):
        module.run({"x": X}, out={"y": out[:2]})
    dynamic = hewn.compile(CASES["dims from data"][0], target="wasm32")
    room = np.full((1, 3), 9)
    dynamic.run({"x": np.float32([0, 1])}, out={"y": room})
    assert room.tolist() == [[1, 9, 9]]


def test_a_module_as_an_object(module_file):
    with hewn.load(module_file) as module:
        assert repr(module).endswith("wasm32, 1 thread>")
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(module))(X), 3 * X + 1)
    with pytest.raises(hewn.RunError, match=r"^this module is closed$"):
        module(X)


def test_threads_take_turns(module_file):
    module, results = hewn.load(module_file), []

    def work(i):
        results.extend(np.array_equal(module(X + i + j), 3 * (X + i + j) + 1) for j in range(50))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 200


def test_options_that_a_module_cannot_have(module_file):
    with pytest.raises(hewn.RunError, match=r"^a WebAssembly module runs on one thread, got threads=2$"):
        hewn.load(module_file, threads=2)
    with pytest.raises(hewn.RunError, match=r"^a WebAssembly module cannot communicate with other ranks$"):
        hewn.load(module_file, communicator=hewn.LocalRanks("wasm", 0, 1))
    with pytest.raises(hewn.CompileError, match=r"output must be a library \(\.wasm\), got 'model\.so'"):
        hewn.compile(models.scaled(), target="wasm32", output="model.so")


def test_the_package_is_missing(module_file):
    code = f"import sys; sys.modules['wasmtime'] = None; import hewn; hewn.load({str(module_file)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: running WebAssembly modules requires wasmtime, which is not installed: "
        "pip install 'hewn-compiler[wasm]'"
    )


def test_python_exits_silently_with_an_open_module(module_file):
    code = f"import builtins, hewn; builtins.kept = hewn.load({str(module_file)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_forked_processes(module_file):
    """A child process runs modules of its parent, and loads others."""
    module = hewn.load(module_file)

    def work():
        assert np.array_equal(module(X), hewn.load(module_file)(X))

    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends the child if it waits for threads of the parent
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_the_module_needs_no_imports(module_file):
    engine = wasmtime.Engine()
    module = wasmtime.Module(engine, module_file.read_bytes())
    assert module.imports == []
    store = wasmtime.Store(engine)
    exports = wasmtime.Instance(store, module, []).exports(store)
    assert {"memory", "model_run", "model_arena_bytes", "hewn_run"} <= set(exports)


# Weights


@pytest.fixture
def weighted(tmp_path):
    """A module with a weights file, and the result for ones."""
    weights = np.random.default_rng(0).standard_normal((256, 300)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = models.model(
        [node], [("x", TensorProto.FLOAT, ["n", 256])], [("y", TensorProto.FLOAT, ["n", 300])], [("w", weights)]
    )
    hewn.compile(model, target="wasm32", output=tmp_path / "model.wasm")
    (file,) = tmp_path.glob("*.weights")
    return tmp_path / "model.wasm", file, weights.sum(0)


def test_the_weights_file(weighted, tmp_path):
    path, file, want = weighted
    ones = np.ones((1, 256), np.float32)
    link = tmp_path / "elsewhere" / "link.wasm"
    link.parent.mkdir()
    link.symlink_to(path)
    content = file.read_bytes()
    for module in (hewn.load(path), hewn.load(link, verify=True), hewn.load(path, weights=content, copy_weights=True)):
        np.testing.assert_allclose(module(ones)[0], want, rtol=1e-4, atol=1e-4)
    file.write_bytes(content[:-1])
    with pytest.raises(hewn.RunError, match="bytes"):
        hewn.load(path)
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    hewn.load(path)
    with pytest.raises(hewn.RunError, match="checksum"):
        hewn.load(path, verify=True)
    file.unlink()
    with pytest.raises(hewn.RunError, match=rf"cannot read the weights file '{file}': No such file or directory$"):
        hewn.load(path)


def test_weights_that_the_memory_has_no_room_for(weighted):
    path, file, _ = weighted
    with pathlib.Path(file).open("r+b") as opened:
        opened.truncate(3 << 30)
    with pytest.raises(hewn.RunError, match=r"the memory of the WebAssembly module has no 3221225472 bytes left$"):
        hewn.load(path)


# The end of the memory

ENDS = {
    "matmul": "(float[m, k] x, float[k, n] w) => (float[m, n] y) { y = MatMul(x, w) }",
    "chain": "(float[m, k] x, float[k, n] w) => (float[m, n] y) { a = MatMul(x, w) y = Softmax<axis = -1>(a) }",
    "elementwise": "(float[m, k] x, float[k, n] w) => (float[m, k] y, float[k, n] z) { y = Exp(x) z = Sqrt(w) }",
    "transposed": "(float[m, k] x, float[k, n] w) => (float[k, m] y, float[k] z) "
    "{ y = Transpose(x) z = ReduceSum<keepdims = 0>(w, one) one = Constant<value_ints = [1]>() }",
    "bytes": "(float[m, k] x, uint8[k, n] w) => (uint8[n, k] y, int32[k, n] z) { y = Transpose(w) z = Cast<to = 6>(w) }",
    "halves": "(float[m, k] x, float16[k, n] w) => (float16[k, n] y, float[k, n] z) { y = Abs(w) z = Cast<to = 1>(w) }",
}


@pytest.mark.parametrize("name", ENDS)
def test_buffers_at_the_end_of_the_memory(name, monkeypatch):
    """Each block of memory that the host reserves for a run, in turn, ends where the module's memory
    ends. An access after it is a trap."""
    model = parsed(ENDS[name])
    module, native = hewn.compile(model, target="wasm32", dim_names="strict"), hewn.compile(model, dim_names="strict")
    guest, random = module._model._guest, np.random.default_rng(1)
    reserve, number, chosen, placed = _guest.Frame.reserve, 0, -1, 0

    def reserve_at_end(self, size):
        nonlocal number, placed
        number += 1
        if number - 1 != chosen:
            return reserve(self, size)
        end = guest._memory.data_len(guest._store)
        guest._memory.grow(guest._store, -(-size // 65536))
        placed = guest._memory.data_len(guest._store)
        assert placed > end
        return placed - size

    monkeypatch.setattr(_guest.Frame, "reserve", reserve_at_end)
    for m, k, n in ((1, 1, 1), (3, 5, 7), (17, 33, 9)):
        feeds = {
            tensor.name: random.uniform(1, 9, (m, k) if tensor.name == "x" else (k, n)).astype(tensor.dtype)
            for tensor in module.inputs
        }
        want = native.run(feeds)
        out = {name: np.empty_like(array) for name, array in want.items()}
        chosen, number = -1, 0
        guest.call("hewn_wasm_release", guest.allocate(1 << 20))  # so that a run does not grow the memory
        module.run(feeds, out=out)
        for chosen in range(number):
            number, placed = 0, 0
            module.run(feeds, out=out)
            assert placed == guest._memory.data_len(guest._store)
            for output, array in want.items():
                np.testing.assert_allclose(out[output], array, rtol=2e-3)
            chosen = -1


# Modules that are no models, or whose content is invalid


def loaded(content, tmp_path, **options):
    path = tmp_path / "model.wasm"
    path.write_bytes(content)
    return hewn.load(path, **options)


def test_a_module_by_hand(tmp_path):
    assert loaded(module_of(outputs()), tmp_path)().tolist() == [0, 0]


RUNS = {
    "a trap": ("unreachable", DESCRIPTION, r"wasm trap: wasm `unreachable` instruction executed$"),
    "an access outside of the memory": (
        "(i32.store (i32.const -4) (i32.const 1))",
        DESCRIPTION,
        "out of bounds memory access$",
    ),
    "recursion": ("(call $f) (return)", DESCRIPTION, "call stack exhausted$"),
    "a status without text": ("(i32.store (local.get $status) (i32.const 7))", DESCRIPTION, "^$"),
    "a text outside of the memory": (
        "(i64.store (local.get $status) (i64.const -1))",
        DESCRIPTION,
        r"bytes at 0xffffffff, outside of its memory$",
    ),
    "a text without end": (
        "(memory.fill (i32.const 0xff00) (i32.const 1) (i32.const 256)) "
        "(i64.store (local.get $status) (i64.const 0xff0000000001))",
        DESCRIPTION,
        "a text at 0xff00 that has no end$",
    ),
    "data outside of the memory": (outputs(data=65532), DESCRIPTION, "8 bytes at 0xfffc, outside of its memory$"),
    "many elements": (outputs(dim=1 << 62), DESCRIPTION, "outside of its memory$"),
    "a negative size": (outputs(dim=-1), DESCRIPTION, r"returned a tensor of shape \(-1,\)$"),
    "many dims": (outputs(ndim=2), DESCRIPTION, "returned a tensor with 2 dims$"),
    "fewer than no dims": (outputs(ndim=-1), DESCRIPTION, "returned a tensor with -1 dims$"),
    "dims outside of the memory": (outputs(shape=-8), DESCRIPTION, "8 bytes at 0xfffffff8, outside of its memory$"),
    "a string outside of the memory": (
        outputs(dim=1) + "(i64.store (i32.const 2048) (i64.const -1))",
        DESCRIPTION | {"outputs": [TENSOR | {"type": "string"}]},
        "outside of its memory$",
    ),
    "a sequence outside of the memory": (
        outputs() + "(i64.store (i32.const 2048) (i64.const 65535))",
        DESCRIPTION | {"outputs": [TENSOR | {"kind": "sequence"}]},
        "outside of its memory$",
    ),
    "a long sequence": (
        outputs()
        + "(i64.store (i32.const 2048) (i64.const 4096)) (i64.store (i32.const 4096) (i64.const 0x3fffffffffffffff))",
        DESCRIPTION | {"outputs": [TENSOR | {"kind": "sequence"}]},
        "outside of its memory$",
    ),
    "an optional value without a tensor": (
        outputs() + "(i64.store (i32.const 2048) (i64.const 4096)) (i64.store (i32.const 4096) (i64.const 0))",
        DESCRIPTION | {"outputs": [TENSOR | {"kind": "optional"}]},
        "an optional value without a tensor$",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_invalid_modules(name, tmp_path):
    code, description, message = RUNS[name]
    more = "(func $f (call $f) (call $f))" if "$f" in code else ""
    module = loaded(module_of(code, description, more=more), tmp_path)
    with pytest.raises(hewn.RunError, match=message) as problem:
        module()
    if "WebAssembly module failed" in str(problem.value):
        with pytest.raises(
            hewn.RunError, match=r"^an earlier call of the module failed \(.*\): load the module again$"
        ):
            module()


def test_an_output_larger_than_its_array(tmp_path):
    module = loaded(module_of(outputs(dim=3)), tmp_path)
    with pytest.raises(hewn.RunError, match=r"^output 'x': the module returned the shape \(3,\), which is too large$"):
        module.run({}, out={"x": np.empty(2, np.float32)})


VALID = module_of()
MODULES = {
    "no file": (None, "No such file or directory$"),
    "another file": (b"\x7fELF", "not a WebAssembly module$"),
    "an empty file": (b"", "not a WebAssembly module$"),
    "a truncated file": (VALID[:200], "failed to parse WebAssembly module: unexpected end-of-file"),
    "a damaged file": (VALID[:20] + b"\xff" * 20 + VALID[40:], "failed to parse WebAssembly module"),
    "a component": (b"\0asm\r\0\1\0", "failed to parse"),
    "no exports": (bytes(wasmtime.wat2wasm("(module)")), "no memory 'memory': it is no model of hewn$"),
    "a function that is missing": (
        VALID.replace(b"hewn_output_release", b"hewn_output_releasE"),
        "no func 'hewn_output_release'",
    ),
    "a function of another type": (
        module_of(allocate="i64"),
        "the export 'hewn_wasm_allocate' has another type than the function of hewn's runtime$",
    ),
    "no section": (VALID[: VALID.index(b"\4hewn{") - 4], "no custom section 'hewn': it is no model of hewn$"),
    "no JSON": (module_of(description=b"{"), "the custom section 'hewn' is damaged: JSONDecodeError"),
    "no text": (module_of(description=b"\xff\xfe\xfd"), "the custom section 'hewn' is damaged: UnicodeDecodeError"),
    "a list": (module_of(description=b"[]"), "the custom section 'hewn' is damaged: TypeError"),
    "deep JSON": (module_of(description=b"[" * 200000), "the custom section 'hewn' is damaged: RecursionError"),
    "an unknown type": (
        module_of(description=DESCRIPTION | {"outputs": [TENSOR | {"type": "float33"}]}),
        "the custom section 'hewn' is damaged: ValueError\\(\"unknown type 'float33'\"\\)$",
    ),
    "a key that is missing": (module_of(description={"name": "model"}), "is damaged: KeyError\\('inputs'\\)$"),
    "another name": (module_of(description=DESCRIPTION | {"name": "other"}), "the module has no global 'other'"),
    "a shape of texts": (
        module_of(description=DESCRIPTION | {"outputs": [TENSOR | {"shape": [[]]}]}),
        "is damaged: ValueError",
    ),
    "no variants": (module_of(description=DESCRIPTION | {"variants": []}), "is damaged: IndexError"),
    "an import": (
        module_of(more='(import "env" "f" (func))'),
        "the module imports env.f, but its host only has functions of WASI$",
    ),
    "another import of WASI": (
        module_of(more='(import "wasi_snapshot_preview1" "f" (func))'),
        "unknown import: `wasi_snapshot_preview1::f` has not been defined$",
    ),
    "a start function that fails": (module_of(more="(func $s unreachable) (start $s)"), "unreachable"),
    "a memory that is too large": (module_of(memory='(memory (export "memory") 65537)'), "memory size must be at most"),
    "a context that fails": (module_of(create="unreachable"), "the WebAssembly module failed: wasm trap"),
    "weights elsewhere": (
        module_of(description=DESCRIPTION | {"weights": {"file": "../model.weights"}}),
        r"the weights file '\.\./model\.weights' is not in the folder of the module$",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_that_are_no_models(name, tmp_path):
    content, message = MODULES[name]
    with pytest.raises(hewn.RunError, match=message) as problem:
        loaded(content, tmp_path) if content is not None else hewn.load(tmp_path / "model.wasm")
    assert str(problem.value).startswith(f"cannot load '{tmp_path}/model.wasm': ")
    assert "\n" not in str(problem.value)


def test_wasi(tmp_path):
    """A module that imports functions of WASI gets no files."""
    more = '(import "wasi_snapshot_preview1" "fd_prestat_get" (func $f (param i32 i32) (result i32)))'
    found = outputs(dim=1) + "(i32.store (i32.const 2048) (call $f (i32.const 3) (i32.const 0)))"
    description = DESCRIPTION | {"outputs": [TENSOR | {"type": "int32"}]}
    assert loaded(module_of(found, description, more=more), tmp_path)().tolist() == [8]  # badf


def test_layouts_of_structs(tmp_path):
    """The structs of _guest.py have the layout that Clang gives those of the C headers."""
    root = pathlib.Path(__file__).parents[2]
    names = {"hewn_status": _guest.Status, "DLTensor": _guest.DLTensor, "hewn_sequence": _guest.SequenceStruct}
    names["hewn_context_options"] = _guest.ContextOptions
    members = {"device_type": "device.device_type", "device_id": "device.device_id"}
    members |= {name: f"dtype.{name}" for name in ("code", "bits", "lanes")}
    lines = ["#include <hewn/runtime.h>"]
    for name, struct in names.items():
        lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, "");')
        for field, *_ in struct._fields_:
            member = members.get(field, field) if name == "DLTensor" else field
            lines.append(f'_Static_assert(offsetof({name}, {member}) == {getattr(struct, field).offset}, "");')
    source = tmp_path / "layouts.c"
    source.write_text("\n".join(lines))
    clang = ["clang-22", "--target=wasm32", "-std=c11", "-ffreestanding", "-fsyntax-only"]
    headers = ["-I", str(root / "include"), "-idirafter", "/usr/include"]
    subprocess.run([*clang, *headers, source], check=True)


def test_the_interface_of_models():
    """The class has what hewn.Module uses of the extension's class, except for devices."""
    public = {name for name in dir(hewn._hewn.Model) if not name.startswith("_")} - {"set_stream", "output_shapes"}
    module = hewn.compile(models.scaled(), target="wasm32")._model
    assert isinstance(module, _wasm.Model)
    assert {name for name in public if not hasattr(module, name)} == set()
