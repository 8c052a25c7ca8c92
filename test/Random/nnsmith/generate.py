# SPDX-License-Identifier: Apache-2.0
"""generate.py FIRST COUNT SECONDS FOLDER: writes NNSmith's models for a range of seeds, with
inputs, as SEED.onnx and SEED.pkl. Runs in the environment that `setup` creates."""

import collections
import logging
import pathlib
import pickle
import random
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from nnsmith.abstract.extension import activate_ext  # noqa: E402
from nnsmith.error import InternalError  # noqa: E402
from nnsmith.graph_gen import model_gen, set_z3_state  # noqa: E402
from nnsmith.materialize import Model  # noqa: E402
from nnsmith.narrow_spec import auto_opset  # noqa: E402

TYPES = ["float32", "int64", "int32", "bool"]


def model_of(kind, ops, seed):
    random.seed(seed)
    np.random.seed(seed % 2**32)
    set_z3_state(seed)
    graph = model_gen(
        opset=ops,
        method="symbolic-cinit",
        seed=seed,
        max_elem_per_tensor=(64, 1024, 65536)[seed % 3],
        max_nodes=4 + seed % 14,
        timeout_ms=10000,
        dtype_choices=TYPES,
    )
    model = kind.from_gir(graph.make_concrete())
    model.refine_weights()
    return model


def supported_ops(kind):
    """Returns the ops that the exporter supports. NNSmith tries an example of each and fails if it
    draws none."""
    for attempt in range(20):
        random.seed(attempt)
        np.random.seed(attempt)
        try:
            return auto_opset(kind, None)
        except InternalError:
            continue
    raise SystemExit("NNSmith did not draw an example of each op in 20 attempts")


def main():
    logging.disable(logging.CRITICAL)
    first, count, seconds, folder = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), pathlib.Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    kind = Model.init("onnx", backend_target="cpu")
    kind.add_seed_setter()
    ops = supported_ops(kind)
    activate_ext(opset=ops, factory=None)
    end, made, refused = time.monotonic() + seconds, 0, collections.Counter()
    for seed in range(first, first + count):
        if time.monotonic() > end:
            break
        try:
            model = model_of(kind, ops, seed)
            inputs = model.make_oracle().input
            model.dump(str(folder / f"{seed}.onnx"))
        except Exception as problem:  # NNSmith can't solve or export some draws
            refused[f"{type(problem).__name__} {str(problem).splitlines()[:1]}"[:100]] += 1
            continue
        (folder / f"{seed}.pkl").write_bytes(pickle.dumps({k: np.asarray(v) for k, v in inputs.items()}))
        made += 1
    for why, count in refused.most_common(5):
        print(f"{count:5} {why}")
    print(f"{made} models, {refused.total()} failed draws, the last seed is {seed}")


main()
