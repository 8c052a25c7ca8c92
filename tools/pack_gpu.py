# SPDX-License-Identifier: Apache-2.0
"""Compiles models for a GPU and packs them into a folder.

The folder runs on another computer that has a GPU but no compiler.

    .venv/bin/python tools/pack_gpu.py FOLDER [--target sm_90a] [--precision P] [--dim NAME=SIZE]
        [--ops] [--forms] [--suite [K/N]] [--coarse] [MODEL.onnx ...]
    python3 FOLDER/run.py --help      # on the other machine: needs numpy; with PyTorch, also times the runs

Each model is a folder with its compressed library and weights, its inputs, and the results of a run
on the host. --ops packs the single ops of tools/benchmark_gpu.py with the equivalent PyTorch
functions. --forms packs the models of the GPU tests, which cover each variant of the kernel
generator. --suite packs ONNX's single-node test cases with their results (K/N: every Nth case,
starting with the Kth). --coarse replaces the values of large weights by two values per tensor,
which compresses a model of 400 MB to 20 MB and does not change the times of kernels.
"""

from __future__ import annotations

import argparse
import functools
import json
import lzma
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from run_packed_gpu import NARROW, bits_of, random_feeds, sampled

ROOT = pathlib.Path(__file__).parents[1]
LARGE = 1 << 16  # minimum number of elements of weights that --coarse replaces


def coarse(path: str, folder: str) -> str:
    """Writes a copy of the model into `folder` and returns its path.

    In weights of at least LARGE elements, each element keeps its sign, and its magnitude becomes
    the root mean square of the tensor.
    """
    import onnx

    model = onnx.load(path)
    for weights in model.graph.initializer:
        values = onnx.numpy_helper.to_array(weights)
        if values.dtype.kind == "f" and values.size >= LARGE:
            size = np.sqrt(np.mean(np.square(values, dtype=np.float64)))
            signs = np.where(values < 0, -size, size).astype(values.dtype)
            weights.CopyFrom(onnx.numpy_helper.from_array(signs, weights.name))
    made = str(pathlib.Path(folder, pathlib.Path(path).name))
    onnx.save(model, made)
    return made


def compress(file: pathlib.Path) -> None:
    """Replaces a file by FILE.xz."""
    with lzma.open(f"{file}.xz", "wb", preset=1) as packed:
        packed.write(file.read_bytes())
    file.unlink()


def write(
    name: str,
    said: argparse.Namespace,
    build_into: Callable[[pathlib.Path], object],
    given: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    **facts: Any,
) -> int:
    """Writes the folder of a packed model and returns its size in KB.

    `given` are the packed inputs and `outputs` the results, both by name. `build_into` is a
    function that compiles the library to a path.
    """
    folder = pathlib.Path(said.folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "model.so"
    try:
        build_into(library)
    except BaseException:
        shutil.rmtree(folder)
        raise
    for file in (library, library.with_name("model.so.weights")):
        if file.exists():
            compress(file)
    library.with_suffix(".h").unlink(missing_ok=True)
    arrays = {f"in {key}": bits_of(value) for key, value in given.items()}
    arrays |= {f"out {key}": bits_of(sampled(value)) for key, value in outputs.items()}
    np.savez_compressed(folder / "tensors.npz", allow_pickle=True, **arrays)
    facts["outputs"] = [(key, value.dtype.name, value.shape, largest(value)) for key, value in outputs.items()]
    (folder / "facts.json").write_text(json.dumps({"target": said.target, "precision": said.precision} | facts))
    return sum(file.stat().st_size for file in folder.iterdir()) >> 10


def pack(
    name: str,
    model: Any,
    feeds: dict[str, np.ndarray] | None,
    said: argparse.Namespace,
    dims: dict[str, int],
    function: str | None = None,
) -> None:
    """Packs a model with the results of a run on the host.

    `feeds` are the inputs to pack; if it is None, the inputs are random and are generated again,
    with the same seed, when the model runs. `function` is the equivalent PyTorch function as an
    expression.
    """
    import hewn

    reference = hewn.compile(model, dims=dims or None)
    # Dynamic dims of the packed model get the size 5, as in the tests.
    sizes = [[dim if isinstance(dim, int) else 5 for dim in tensor.shape or ()] for tensor in reference.inputs]
    if feeds:
        sizes = [list(feeds[tensor.name].shape) for tensor in reference.inputs]
    specs = [(tensor.name, tensor.dtype.name, list(size)) for tensor, size in zip(reference.inputs, sizes)]
    want = reference.run(feeds or random_feeds(specs))
    try:
        size = write(
            name,
            said,
            lambda library: build(model, library, said.target, said.precision, dims),
            feeds or {},
            want,
            torch=function,
            inputs=specs,
        )
    except hewn.CompileError as refused:
        sys.exit(str(refused))
    print(f"{name}: {size} KB", flush=True)


def as_array(value: object) -> Any:
    """Converts a value to an array.

    ONNX test cases contain numpy scalars instead of tensors of rank 0.
    """
    return np.asarray(value) if isinstance(value, np.generic) else value


def is_packable(value: object) -> bool:
    """Whether a value is an array of numbers that numpy supports, or of bfloat16."""
    return isinstance(value, np.ndarray) and (value.dtype.kind in "biuf" or value.dtype.name in NARROW)


def pack_suite(said: argparse.Namespace, part: str) -> None:
    """Packs every Nth of ONNX's single-node cases, starting with the Kth. `part` is "K/N"."""
    import hewn
    from test_node_suite import RANDOM, accuracy, cases, plain

    first, step = (int(number) for number in part.split("/"))
    packed, size = 0, 0
    left_out: dict[str, list[str]] = {}
    for name in sorted(cases())[first::step]:
        case = cases()[name]
        graph = case.model.graph
        inputs, outputs = ([as_array(plain(value)) for value in side] for side in case.data_sets[0])
        if any(node.op_type in RANDOM for node in graph.node):
            why = "random numbers"
        elif not all(map(is_packable, (*inputs, *outputs))):
            why = "sequences, strings or types that numpy lacks"
        else:
            feeds = dict(zip((info.name for info in graph.input), inputs))
            want = dict(zip((info.name for info in graph.output), outputs))
            specs = [(key, value.dtype.name, list(value.shape)) for key, value in feeds.items()]
            rtol = max(case.rtol, *(accuracy(value.dtype) for value in outputs))
            try:
                size += write(
                    f"node-{name}",
                    said,
                    functools.partial(build, case.model, target=said.target, precision=said.precision, dims={}),
                    feeds,
                    want,
                    torch=None,
                    inputs=specs,
                    rtol=rtol,
                    atol=max(case.atol, rtol / 100),
                )
                packed += 1
                continue
            except hewn.CompileError as refused:
                why = str(refused).splitlines()[0]
        left_out.setdefault(why, []).append(name)
    print(f"{packed} ONNX cases: {size} KB", flush=True)
    for why, names in left_out.items():
        print(f"left out ({why}): {', '.join(names)}")


def largest(values: np.ndarray) -> float:
    """Returns the largest finite magnitude of the values; the error of a run is relative to it."""
    if values.dtype.kind != "f" and values.dtype.name not in NARROW:
        return 0.0
    sizes = np.abs(values.astype(np.float64))
    return float(sizes[np.isfinite(sizes)].max(initial=0))


def build(model: Any, library: pathlib.Path, target: str, precision: str, dims: dict[str, int] | None) -> None:
    """Compiles the library without loading it, since this host may have no GPU driver."""
    import hewn

    hewn._compile(model, library, target=target, dims=dims, precision=precision)


def main() -> None:
    """Packs the models and test cases that the command line selects."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--precision", default="highest", choices=("highest", "high", "medium"))
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--ops", action="store_true")
    parser.add_argument("--forms", action="store_true")
    parser.add_argument("--suite", nargs="?", const="0/1", metavar="K/N")
    parser.add_argument("--coarse", action="store_true")
    said = parser.parse_intermixed_args()
    dims = {name: int(size) for name, size in (dim.split("=") for dim in said.dim)}
    suffix = "" if said.precision == "highest" else f"-{said.precision}"
    pathlib.Path(said.folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "tools" / "run_packed_gpu.py", pathlib.Path(said.folder) / "run.py")
    with tempfile.TemporaryDirectory() as scratch:
        for path in said.models:
            source = coarse(path, scratch) if said.coarse else path
            pack(pathlib.Path(path).stem + suffix, source, None, said, dims)
        if said.ops:
            from benchmark_gpu import save_op, single_ops

            for i, (name, node, shapes, attributes, function, dtype) in enumerate(single_ops()):
                path = str(pathlib.Path(scratch, f"op{i}.onnx"))
                save_op(node, shapes, attributes, path, dtype)
                pack("op-" + name.replace(" ", "-") + suffix, path, None, said, {}, function)
    sys.path += [str(ROOT / "test" / folder) for folder in ("Emulator", "Target", "Numeric", "NodeSuite")]
    os.environ.setdefault("HEWN_TOOLS", str(ROOT / "build" / "dev" / "bin"))
    if said.suite:
        pack_suite(said, said.suite)
    if said.forms:
        from test_device import ATTENTION, MODELS, given

        for name in [*MODELS, *ATTENTION]:
            model, feeds = given(name)
            pack("form-" + name + suffix, model, feeds, said, {})


if __name__ == "__main__":
    main()
