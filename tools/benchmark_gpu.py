# SPDX-License-Identifier: Apache-2.0
"""Times models and single ops on a GPU by hewn beside the engines that are installed, and prints a table.

    .venv/bin/python tools/benchmark_gpu.py [--precision P] [--dim NAME=SIZE] [--rounds N] [MODEL.onnx ...]

Without models: single ops, which PyTorch runs by cuBLAS, cuDNN and kernels of its own. hewn is given tensors on the device and a
stream; so are PyTorch, eager and by torch.compile(mode="max-autotune") with CUDA graphs, and onnxruntime's CUDA provider. A model
is run by PyTorch where onnx2torch is installed. Engines take turns, a figure is the median over rounds of microseconds a run, as
the device's events tell; the error is the largest difference from onnxruntime's CPU result, relative to its largest. What is not
installed is left out, and said. Needs PyTorch for the memory and the events.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import numpy as np
from run_packed_gpu import Library, microseconds, peer, torch_runner

ENGINES = ("hewn", "torch eager", "torch.compile", "onnxruntime")
ROOT = pathlib.Path(__file__).parents[1]


def hewn_runner(path, feeds, outputs, target, precision, torch, folder):
    import hewn

    library = pathlib.Path(folder) / f"model{len(os.listdir(folder))}.so"
    module = hewn.compile(path, target=target, precision=precision, output=library, dims=dict(zip_dims(path, feeds)))
    made = [torch.empty(value.shape, dtype=value.dtype, device="cuda") for value in outputs]
    inputs = [feeds[tensor.name] for tensor in module.inputs]
    return Library(library).runner(inputs, made, torch.cuda.current_stream().cuda_stream or 1)


def zip_dims(path, feeds):
    import onnx

    for value in onnx.load(path, load_external_data=False).graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape if value.name in feeds else ()):
            if dim.dim_param:
                yield dim.dim_param, int(size)


def onnxruntime_runner(path, feeds, outputs, torch):
    import onnxruntime

    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        raise ImportError("onnxruntime has no CUDA provider here")
    options = {"user_compute_stream": str(torch.cuda.current_stream().cuda_stream)}
    session = onnxruntime.InferenceSession(path, providers=[("CUDAExecutionProvider", options)])
    binding = session.io_binding()
    for name, value in feeds.items():
        kind = np.dtype(str(value.dtype).removeprefix("torch."))
        binding.bind_input(name, "cuda", 0, kind, tuple(value.shape), value.data_ptr())
    made = [torch.empty(value.shape, dtype=value.dtype, device="cuda") for value in outputs]
    for tensor, value in zip(session.get_outputs(), made):
        kind = np.dtype(str(value.dtype).removeprefix("torch."))
        binding.bind_output(tensor.name, "cuda", 0, kind, tuple(value.shape), value.data_ptr())
    return lambda: (session.run_with_iobinding(binding), made)[1]


def converted(path, function, torch):
    """What PyTorch runs in the model's place: the text of a function, or the model by onnx2torch."""
    if function:
        return peer(function, torch, False)
    import onnx2torch

    return onnx2torch.convert(path).cuda().eval()


def single_ops():
    """(name, node, inputs, attributes, what PyTorch runs)"""
    yield "matmul 4096", "MatMul", [(4096, 4096), (4096, 4096)], {}, "torch.matmul"
    yield "matmul 1 x 4096 x 4096", "MatMul", [(1, 4096), (4096, 4096)], {}, "torch.matmul"
    yield "softmax 8192 x 1024", "Softmax", [(8192, 1024)], {}, "lambda x: functional.softmax(x, -1)"
    yield "gelu 64 MB", "Gelu", [(4096, 4096)], {}, "functional.gelu"
    yield "transpose 64 MB", "Transpose", [(4096, 4096)], {"perm": [1, 0]}, "lambda x: x.t().contiguous()"
    convolution = [(32, 64, 56, 56), (64, 64, 3, 3)]
    yield "conv 3 x 3", "Conv", convolution, {"pads": [1] * 4}, "lambda x, w: functional.conv2d(x, w, None, 1, 1)"
    shapes = [(8, 16, 1024, 64)] * 3
    yield "attention", "Attention", shapes, {}, "functional.scaled_dot_product_attention"
    decode = [(8, 32, 1, 64), (8, 32, 4096, 64), (8, 32, 4096, 64)]
    yield "attention of one row", "Attention", decode, {}, "functional.scaled_dot_product_attention"


def save_op(node, shapes, attributes, path):
    from onnx import TensorProto, helper, save

    names = [f"x{i}" for i in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip(names, shapes)]
    graph = helper.make_graph(
        [helper.make_node(node, names, ["y"], **attributes)],
        "op",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), path)


def row(name, path, function, dims, said, target, folder, torch, missing):
    """A line of the table; what is left out goes to `missing`."""
    import onnxruntime
    from benchmark import error, inputs_of

    host = inputs_of(path, dims)
    wanted = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, host)
    feeds = {key: torch.from_numpy(value).cuda() for key, value in host.items()}
    outputs = [torch.from_numpy(np.asarray(value)) for value in wanted]
    makers = {
        "hewn": lambda: hewn_runner(path, feeds, outputs, target, said.precision, torch, folder),
        "torch eager": lambda: torch_runner(converted(path, function, torch), list(feeds.values()), False, torch),
        "torch.compile": lambda: torch_runner(converted(path, function, torch), list(feeds.values()), True, torch),
        "onnxruntime": lambda: onnxruntime_runner(path, feeds, outputs, torch),
    }
    runs = {}
    for engine, make in makers.items():
        try:
            runs[engine] = make()
            runs[engine]()
        except Exception as problem:
            missing.add(f"{engine}, {name}: {type(problem).__name__}: {str(problem)[:200]}".replace("\n", " "))
            runs.pop(engine, None)
    times = {engine: [] for engine in runs}
    for _ in range(said.rounds):
        for engine, run in runs.items():
            times[engine].append(microseconds(run, torch))
    median = {engine: statistics.median(list_) for engine, list_ in times.items()}
    others = [value for engine, value in median.items() if engine != "hewn"]
    ratio = f"{min(others) / median['hewn']:.2f}" if others and "hewn" in median else "-"
    worst = "-"
    if "hewn" in runs:
        paths = [os.path.join(folder, f"{which}.npz") for which in ("got", "wanted")]
        for file, values in zip(paths, ([value.cpu().numpy() for value in runs["hewn"]()], wanted)):
            np.savez(file, *values)
        worst = f"{error(*paths):.1e}"
    cells = [f"{median[engine]:.1f}" if engine in median else "-" for engine in ENGINES]
    return f"| {name} | {' | '.join(cells)} | {ratio} | {worst} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--precision", default="highest", choices=("highest", "high", "medium"))
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--rounds", type=int, default=3)
    said = parser.parse_intermixed_args()
    sys.path.append(str(ROOT / "test" / "Emulator"))
    import device

    if device.TARGET is None:
        print(f"no GPU: {device.WHY}")
        return
    try:
        import torch
    except ImportError as problem:
        print(f"PyTorch is not installed, whose tensors and events this uses: {problem}")
        return
    torch.set_float32_matmul_precision(said.precision)
    dims = {name: int(size) for name, size in (dim.split("=") for dim in said.dim)}
    print(f"| {torch.cuda.get_device_name()} | {' | '.join(f'{e} us' for e in ENGINES)} | ratio | error |")
    print("| --- " * (len(ENGINES) + 3) + "|")
    missing = set()
    with tempfile.TemporaryDirectory() as folder:
        cases = [(pathlib.Path(path).stem, path, None) for path in said.models]
        for i, (name, node, shapes, attributes, function) in enumerate([] if cases else single_ops()):
            path = os.path.join(folder, f"op{i}.onnx")
            save_op(node, shapes, attributes, path)
            cases.append((name, path, function))
        for case in cases:
            print(row(*case, dims, said, device.TARGET, folder, torch, missing), flush=True)
    for line in sorted(missing):
        print(f"left out: {line}")


if __name__ == "__main__":
    main()
