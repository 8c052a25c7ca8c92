# SPDX-License-Identifier: Apache-2.0
"""Recognizes the text of an image with a compiled PP-OCRv4 recognizer.

hewn compile ch_PP-OCRv4_rec_infer.onnx -o libread_text.so --dim ...    (see examples/read_text/run)
read_text.py libread_text.so ch_PP-OCRv4_rec_infer.onnx line.png
"""

import sys
import time

import hewn
import numpy as np
import onnx
from PIL import Image


def picture(path: str, height: int, width: int) -> np.ndarray:
    """Returns the image as the recognizer's input: BGR in [-1, 1], scaled to the height, padded on the right."""
    image = Image.open(path).convert("RGB")
    image = image.resize((min(width, round(image.width * height / image.height)), height))
    pixels = np.asarray(image, np.float32)[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1
    line = np.zeros((1, 3, height, width), np.float32)
    line[0, :, :, : pixels.shape[2]] = pixels
    return line


def decode(scores: np.ndarray, characters: list[str]) -> str:
    """Decodes CTC: the best class of each column; equal neighbors are one character, class 0 is blank."""
    best = scores[0].argmax(axis=1)
    keep = (best != 0) & np.append(True, best[1:] != best[:-1])
    return "".join(characters[i] for i in best[keep])


def main() -> None:
    """Prints the text that the model recognizes in an image."""
    library, model, image = sys.argv[1:]
    metadata = {entry.key: entry.value for entry in onnx.load(model).metadata_props}
    characters = ["", *metadata["character"].splitlines(), " "]

    module = hewn.load(library)
    (given,) = module.inputs
    (result,) = module.outputs
    line = picture(image, given.shape[2], given.shape[3])
    text = decode(module.run({given.name: line})[result.name], characters)

    rounds = 20
    start = time.perf_counter()
    for _ in range(rounds):
        module.run({given.name: line})
    print(f"text:        {text}")
    print(f"a run takes: {(time.perf_counter() - start) / rounds * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
