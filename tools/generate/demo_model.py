#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of `hewn demo` and writes it with three images to python/hewn/demo.

The data are the handwritten digits of scikit-learn (8x8 pixels, 1,797 images, from UCI).

The files are committed, because training gives other weights with each version of scikit-learn.
Requires scikit-learn.

    python tools/generate/demo_model.py python/hewn/demo
"""

import json
import pathlib
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HEAD = """<ir_version: 8, opset_import: ["" : 17], producer_name: "hewn">
digits (float[batch, 64] image) => (float[batch, 10] scores)
<"""
BODY = """>
{
  scaled = Mul (image, scale)
  hidden = Gemm (scaled, weights0, bias0)
  active = Relu (hidden)
  logits = Gemm (active, weights1, bias1)
  scores = Softmax (logits)
}
"""


def initializer(name: str, values: np.ndarray) -> str:
    """Returns a float initializer in ONNX's text format."""
    numbers = ", ".join(f"{value:.3g}" for value in values.flatten())
    return f"float[{', '.join(map(str, values.shape))}] {name} = {{{numbers}}}"


def main() -> None:
    """Trains the model and writes it and its images into the folder that the command line names."""
    folder = pathlib.Path(sys.argv[1])
    digits = load_digits()
    images, held_out, labels, expected = train_test_split(
        digits.data / 16, digits.target, test_size=0.2, random_state=1
    )
    model = MLPClassifier((32,), alpha=1e-2, max_iter=2000, random_state=1).fit(images, labels)
    print(f"accuracy on {len(expected)} images that were held out: {model.score(held_out, expected):.3f}")
    tensors = {"scale": np.array([1 / 16])}
    for i, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_)):
        tensors |= {f"weights{i}": weights, f"bias{i}": bias}
    text = HEAD + ",\n ".join(initializer(name, values) for name, values in tensors.items()) + BODY
    (folder / "digits.onnxtxt").write_text(text)
    shown = [int(np.flatnonzero(expected == digit)[0]) for digit in (3, 7, 8)]
    samples = [{"digit": int(expected[i]), "image": (held_out[i] * 16).astype(int).tolist()} for i in shown]
    (folder / "samples.json").write_text("[\n" + ",\n".join(json.dumps(sample) for sample in samples) + "\n]\n")


if __name__ == "__main__":
    main()
