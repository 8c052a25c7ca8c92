# SPDX-License-Identifier: Apache-2.0
"""corpus.py FOLDER [EVERY]: writes the seed corpus of the fuzz targets. FOLDER/models gets ONNX's
node tests and FOLDER/texts the lit tests. With EVERY, keeps every EVERY-th model and every (EVERY /
4)-th text."""

import hashlib
import pathlib
import re
import sys
import warnings

import onnx

ROOT = pathlib.Path(__file__).parents[1]
LARGEST = 16 << 10  # maximum size of a seed in bytes; small inputs are mutated faster


def models():
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load_model_tests(kind="node"):
            model = case.model if case.model is not None else onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
            yield model.SerializeToString()


def texts():
    for path in sorted(ROOT.glob("**/*.mlir")):
        for part in re.split(r"(?m)^// -----.*$", path.read_text()):
            yield "\n".join(line for line in part.splitlines() if not line.lstrip().startswith("//")).strip().encode()


def write(folder, every, contents):
    folder.mkdir(parents=True, exist_ok=True)
    small = [content for content in contents if 0 < len(content) <= LARGEST]
    for content in small[::every]:
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)
    print(f"{folder}: {len(small[::every])} of {len(small)}")


if __name__ == "__main__":
    folder, every = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    write(folder / "models", every, list(models()))
    write(folder / "texts", max(1, every // 4), list(texts()))
