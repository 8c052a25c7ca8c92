# SPDX-License-Identifier: Apache-2.0
"""Tests compiled models inside of C programs: the typed functions of generated headers, and how a
program or library finds its weights file."""

import mmap
import os
import pathlib
import pickle
import re
import shutil
import subprocess

import hewn
import models
import numpy as np
import onnx
import pytest

HERE = pathlib.Path(__file__).parent
TOOL = pathlib.Path(os.environ["HEWN_TOOLS"]) / "hewn"
INCLUDE = HERE.parents[1] / "include"
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
SIZE = 64


def build(folder, source, *objects, name="app"):
    """Compiles and links a C program in `folder`. Returns its path."""
    compiler = shutil.which("clang-22") or shutil.which("cc")
    assert compiler, "no C compiler: tools/setup installs clang-22"
    (folder / f"{name}.c").write_text(source)
    flags = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-g", f"-I{INCLUDE}", f"-I{folder}"]
    libraries = ["-lm", "-pthread", "-ldl"]
    subprocess.run([compiler, *flags, f"{name}.c", *objects, *libraries, "-o", name], cwd=folder, check=True)
    return folder / name


def compile_model(folder, model, output, *flags):
    onnx.save(model, folder / "model.onnx")
    subprocess.run([TOOL, "compile", "model.onnx", "-o", output, "--quiet", *flags], cwd=folder, check=True)


def run(program, *arguments, cwd=None):
    done = subprocess.run([program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.splitlines()


# Functions of hewn/runtime.h


def endless_model():
    """Returns a model with metadata and a Loop of `steps` steps."""
    h = onnx.helper
    body = h.make_graph(
        [h.make_node("MatMul", ["v", "v"], ["next"]), h.make_node("Identity", ["go"], ["again"])],
        "body",
        [
            h.make_tensor_value_info("i", INT64, []),
            h.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            h.make_tensor_value_info("v", FLOAT, [16, 16]),
        ],
        [
            h.make_tensor_value_info("again", onnx.TensorProto.BOOL, []),
            h.make_tensor_value_info("next", FLOAT, [16, 16]),
        ],
    )
    model = models.model(
        [h.make_node("Loop", ["steps", "", "x"], ["y"], body=body)],
        [("x", FLOAT, [16, 16]), ("steps", INT64, [])],
        [("y", FLOAT, [16, 16])],
    )
    h.set_model_props(model, {"characters": "a\u00e4\U0001f600", "blank": "", "onnx.domain": "own"})
    model.producer_name, model.domain, model.graph.doc_string = "a test", "not shown", "one\ntwo"
    model.model_version = 12
    return model


METADATA = {
    "blank": "",
    "characters": "a\u00e4\U0001f600",
    "onnx.domain": "own",
    "onnx.graph_doc_string": "one\ntwo",
    "onnx.model_version": "12",
    "onnx.producer_name": "a test",
}


def test_metadata_and_cancelling(tmp_path):
    model = endless_model()
    name = model.graph.name
    compile_model(tmp_path, model, "endless.a")
    source = r"""
#include "endless.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
static atomic_int cancelled, asked;
static int32_t isCancelled(void *user) { atomic_store(&asked, 1); return atomic_load((atomic_int *)user); }
static void *cancel(void *user) {
  while (!atomic_load(&asked)) {}
  nanosleep(&(struct timespec){0, 50000000}, NULL);
  atomic_store((atomic_int *)user, 1);
  return NULL;
}
int main(void) {
  static float x[256], y[256];
  int64_t steps = INT64_MAX;
  int32_t count;
  const hewn_metadata_entry *entries = hewn_metadata_entries(&endless, &count);
  for (int32_t i = 0; i < count; ++i)
    printf("%s=%zu\n", entries[i].key, strlen(entries[i].value));
  printf("%s %d\n", hewn_metadata(&endless, "onnx.producer_name"), hewn_metadata(&endless, "none") == NULL);
  printf("%d %d %d\n", hewn_input_index(&endless, "steps"), hewn_output_index(&endless, "y"),
         hewn_input_index(&endless, "y"));
  hewn_context_options options = {.size = sizeof(options), .cancel_hook = {isCancelled, &cancelled}};
  hewn_context *context;
  if (hewn_context_create(&endless, &options, &context).code != HEWN_OK)
    return 1;
  pthread_t thread;
  pthread_create(&thread, NULL, cancel, &cancelled);
  hewn_status status = endless_run(context, x, &steps, y);
  pthread_join(thread, NULL);
  printf("%s: %s\n", hewn_code_name(status.code), status.message);
  atomic_store(&cancelled, 0);
  steps = 2;
  x[0] = 3;
  status = endless_run(context, x, &steps, y);
  printf("%s %g\n", hewn_code_name(status.code), y[0]);
  hewn_context_destroy(context);
  return 0;
}
"""
    *entries, producer, indices, cancelled, again = run(build(tmp_path, source, "endless.a"))
    sizes = METADATA | {"onnx.graph_name": name}
    assert entries == [f"{key}={len(value.encode())}" for key, value in sorted(sizes.items())]
    assert producer == "a test 1"
    assert indices == "1 0 -1"
    assert cancelled == "HEWN_CANCELLED: the run was cancelled"
    assert again == "HEWN_OK 81"

    told = subprocess.run([TOOL, "info", "endless.a"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "  metadata\n    blank: \n" in told
    assert "    onnx.producer_name: a test\n" in told
    with hewn.compile(model) as module:
        assert module.metadata == sizes


# Typed functions


def test_a_null_address_for_an_output_of_dynamic_shape(tmp_path):
    """The address to which a run writes the pointer of an allocated output must not be NULL."""
    nodes = [onnx.helper.make_node("NonZero", ["x"], ["p"]), onnx.helper.make_node("NonZero", ["y"], ["q"])]
    model = models.model(
        nodes,
        [("x", FLOAT, [3]), ("y", FLOAT, [3])],
        [("p", INT64, [1, "found"]), ("q", INT64, [1, "also"])],
    )
    compile_model(tmp_path, model, "nz.a")
    source = """
    #include "nz.h"
    #include <stdio.h>
    int main(void) {
      hewn_context *c;
      const float x[3] = {0, 1, 2}, y[3] = {5, 0, 0};
      int64_t *p, *q, dims[2];
      hewn_status status = hewn_context_create(&nz, NULL, &c);
      if (status.code != HEWN_OK)
        return 1;
      status = nz_run(c, x, y, NULL, NULL, &q, NULL);
      printf("%d %s\\n", (int)status.code, status.message);
      status = nz_run(c, x, y, &p, NULL, NULL, dims);
      printf("%d %s\\n", (int)status.code, status.message);
      status = nz_run(c, x, y, &p, dims, &q, NULL);
      printf("%d %d %d %d\\n", (int)status.code, (int)dims[1], (int)p[1], (int)q[0]);
      hewn_output_release(c, p);
      hewn_output_release(c, q);
      hewn_context_destroy(c);
      return 0;
    }
    """
    assert run(build(tmp_path, source, "nz.a")) == [
        "1 output 'p': the address for its pointer is NULL",
        "1 output 'q': the address for its pointer is NULL",
        "0 2 2 0",
    ]


def test_arena_bytes_of_dims_out_of_range(tmp_path):
    """NAME_arena_bytes accepts the same dims as hewn_arena_bytes and a run."""
    nodes = [onnx.helper.make_node("Softmax", ["x"], ["s"]), onnx.helper.make_node("MatMul", ["s", "s"], ["y"])]
    model = models.model(nodes, [("x", FLOAT, ["n", "n"])], [("y", FLOAT, ["n", "n"])])
    compile_model(tmp_path, model, "square.a", "--dim", "n=2..8")
    source = """
    #include "square.h"
    #include <stdio.h>
    int main(void) {
      const int64_t sizes[] = {-1, 0, 1, 9, INT64_MAX, 2, 8};
      for (int i = 0; i < 7; ++i) {
        int64_t bytes = square_arena_bytes(sizes[i]);
        printf("%d\\n", bytes != hewn_arena_bytes(&square, &sizes[i]) ? 99 : bytes < 0 ? -1 : 1);
      }
      return 0;
    }
    """
    assert run(build(tmp_path, source, "square.a")) == ["-1"] * 5 + ["1"] * 2


# Weights files

#: Opens a library (or uses the linked model), changes its folder, and runs the model.
PROGRAM = """
#include <hewn/runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef LINKED
extern const hewn_model LINKED;
#endif
int main(int argc, char **argv) {
  const hewn_model *model = NULL;
  hewn_library *library = NULL;
  hewn_context *context = NULL;
  hewn_status status = {HEWN_OK, ""};
#ifdef LINKED
  model = &LINKED;
#endif
  if (argc > 3 && !strcmp(argv[2], "dlopen")) {
    void *handle = dlopen(argv[3], RTLD_NOW);
    model = handle ? dlsym(handle, HEWN_MODEL_SYMBOL) : NULL;
  } else if (argc > 3) {
    status = hewn_library_open(argv[3], &library);
    model = hewn_library_model(library);
  }
  if (!model || chdir(argv[1]) != 0)
    return 1;
  status = hewn_context_create(model, NULL, &context);
  if (status.code == HEWN_OK) {
    static float x[64], y[64];
    x[0] = 1;
    const void *in[] = {x};
    void *out[] = {y};
    status = hewn_run_pointers(model, context, in, out, NULL, NULL);
    if (status.code == HEWN_OK)
      printf("%g\\n", y[5]);
  }
  if (status.code != HEWN_OK)
    puts(status.message);
  hewn_context_destroy(context);
  hewn_library_close(library);
  return 0;
}
"""


def weighted():
    """Returns a model that multiplies x by a matrix of threes, which is stored in the weights file."""
    weight = np.full((SIZE, SIZE), 3, np.float32)
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    return models.model(nodes, [("x", FLOAT, [1, SIZE])], [("y", FLOAT, [1, SIZE])], [("w", weight)])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with a program, its weights, and a library in each form, which tests copy."""
    folder = tmp_path_factory.mktemp("built")
    compile_model(folder, weighted(), "threes.a")
    compile_model(folder, weighted(), "libthrees.so")
    build(folder, "#define LINKED threes\n" + PROGRAM, "threes.a")
    note = subprocess.run(
        [TOOL, "compile", "model.onnx", "-o", "threes.o"], cwd=folder, check=True, capture_output=True, text=True
    ).stderr
    build(folder, PROGRAM, re.search(r"\S*libhewn_runtime\.a", note)[0], name="loader")
    return folder


@pytest.fixture
def place(built, tmp_path):
    """A folder with the program `app` and the library `libthrees.so`, with their weights."""
    folder = tmp_path / "place"
    folder.mkdir()
    for file in ("app", "threes.a.weights", "libthrees.so", "threes.weights", "loader"):
        shutil.copy(built / file, folder)
    return folder


def test_a_program_that_changes_its_folder(place):
    assert run("./app", "/", cwd=place) == ["3"]
    assert run("../place/app", "/", cwd=place) == ["3"]


def test_a_program_that_is_a_link(place, tmp_path):
    (tmp_path / "link").symlink_to(place / "app")
    assert run("./link", "/", cwd=tmp_path) == ["3"]
    assert run(tmp_path / "link", "/") == ["3"]


def test_weights_beside_a_link(place, tmp_path):
    """The folder of the link by which a binary was loaded is searched if that of the file has no
    weights."""
    links = tmp_path / "links"
    links.mkdir()
    for file in ("app", "libthrees.so"):
        (links / file).symlink_to(place / file)
    for file in ("threes.a.weights", "threes.weights"):
        (place / file).rename(links / file)
    assert run(links / "app", "/") == ["3"]
    assert run(place / "loader", "/", "open", links / "libthrees.so") == ["3"]
    (links / "threes.weights").unlink()
    (message,) = run(place / "loader", "/", "open", links / "libthrees.so")
    assert "place/threes.weights' does not exist, nor does '" in message
    assert message.endswith("links/threes.weights'")


@pytest.mark.parametrize("how", ["open", "dlopen"])
def test_a_library_that_was_opened_by_a_relative_path(place, tmp_path, how):
    assert run("./loader", "/", how, "./libthrees.so", cwd=place) == ["3"]
    assert run(place / "loader", place, how, "place/libthrees.so", cwd=tmp_path) == ["3"]
    (tmp_path / "link.so").symlink_to(place / "libthrees.so")
    assert run(place / "loader", "/", how, "./link.so", cwd=tmp_path) == ["3"]
    # Weights in the folder to which the process changed are not those of the library.
    (place / "threes.weights").rename(tmp_path / "threes.weights")
    (message,) = run("./loader", tmp_path, how, "./libthrees.so", cwd=place)
    assert message.endswith("place/threes.weights' does not exist")


def test_weights_in_memory(place):
    path = place / "threes.weights"
    with pathlib.Path(path).open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    path.unlink()
    with pytest.raises(hewn.RunError, match="does not exist"):
        hewn.load(place / "libthrees.so")
    module = hewn.load(place / "libthrees.so", weights=mapped, verify=True)
    x = np.ones((1, SIZE), np.float32)
    np.testing.assert_array_equal(module.run({"x": x})["y"], x * 3 * SIZE)
    with pytest.raises(BufferError):  # the module holds the memory
        mapped.close()
    with pytest.raises(TypeError, match="so it cannot be pickled"):
        pickle.dumps(module)
    module.close()
    aligned = np.zeros(len(mapped) + 64, np.uint8)
    aligned = aligned[-aligned.ctypes.data % 64 :][: len(mapped)]
    aligned[:] = np.frombuffer(mapped, np.uint8)
    hewn.load(place / "libthrees.so", weights=aligned, verify=True)
    with pytest.raises(hewn.RunError, match=r"options\.weights is truncated"):
        hewn.load(place / "libthrees.so", weights=aligned[:-1])
    aligned[-1] ^= 1
    with pytest.raises(hewn.RunError, match=r"options\.weights is damaged"):
        hewn.load(place / "libthrees.so", weights=aligned, verify=True)
    with pytest.raises(hewn.RunError, match=r"options\.weights is not aligned to 64 bytes"):
        hewn.load(place / "libthrees.so", weights=aligned[1:])
    with pytest.raises(TypeError):
        hewn.load(place / "libthrees.so", weights=3)


# Dependencies of a compile


def test_depfile(tmp_path):
    """--depfile lists the model, its external data, custom ops and tunings, also for a compile that
    the cache answers."""
    folder = tmp_path / "a b#$"
    folder.mkdir()
    onnx.save(weighted(), folder / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    (folder / "ops.json").write_text('{"ops": []}')
    command = [TOOL, "compile", "a b#$/m.onnx", "-o", "m.a", "--quiet", "--depfile", "m.d", "--cache-dir", "cache"]
    command += ["--custom-ops", "a b#$/ops.json"]
    escaped = str(tmp_path) + "/a\\ b\\#$$/"
    files = ["m.onnx", "m.data", "ops.json"]
    for _ in range(2):
        subprocess.run(command, cwd=tmp_path, check=True)
        first, *rest = (tmp_path / "m.d").read_text().replace(" \\\n", "\n").split("\n  ")
        assert first == f"{tmp_path}/m.a:"
        assert sorted(line.strip() for line in rest) == sorted(escaped + file for file in files)
        (tmp_path / "m.d").unlink()
    done = subprocess.run(
        [TOOL, "compile", folder / "m.onnx", "--emit=graph", "--depfile", "m.d"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "--depfile requires -o" in done.stderr
