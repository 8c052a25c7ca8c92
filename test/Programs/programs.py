# SPDX-License-Identifier: Apache-2.0
"""Calls packages through their public API. Each function creates the package's objects once and
returns calls by name, which the caller times. A call returns its result as lists, strings and
numbers. No function depends on the engine."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Calls = dict[str, Callable[[], object]]


def drawn(text: str, size: tuple[int, int], height: int) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).multiline_text(
        (16, 12), text, fill=(20, 20, 60), font=ImageFont.load_default(height), spacing=14
    )
    return image


def rapidocr() -> Calls:
    """Detects, rotates and recognizes lines of text: three models, on images that include a
    photograph of a page."""
    from rapidocr_onnxruntime import RapidOCR
    from skimage import data

    reader = RapidOCR()

    def read(picture: np.ndarray) -> Callable[[], object]:
        def call() -> object:
            found, _ = reader(picture)
            return [(text, float(score), box) for box, text, score in found or []]

        return call

    note = drawn("The quick brown fox\njumps over 13 lazy dogs\nhewn 2026-11-25", (640, 200), 32)
    page = np.stack([data.page()] * 3, -1)
    return {"a drawn note": read(np.asarray(note)), "a photographed page": read(page)}


def magika() -> Calls:
    """Classifies the content of files."""
    from magika import Magika

    judge = Magika()
    contents = {
        "shell": b'#!/bin/sh\nset -eu\nfor f in *.txt; do\n  grep -c hewn "$f" || true\ndone\n',
        "python": b"import os\n\n\ndef main() -> None:\n    print(os.getcwd())\n\n\nif __name__ == '__main__':\n    main()\n",
        "json": b'{"a": [1, 2, 3], "b": {"c": null, "d": "text"}}\n' * 4,
        "c": b'#include <stdio.h>\n\nint main(void) {\n  puts("hewn");\n  return 0;\n}\n',
        "noise": np.random.default_rng(0).bytes(3000),
    }

    def call() -> object:
        results = [judge.identify_bytes(content) for content in contents.values()]
        return [(str(result.output.label), float(result.score)) for result in results]

    return {"five files": call}


def faster_whisper() -> Calls:
    """Detects speech in a recording: Silero's voice activity detector, called by faster-whisper."""
    from faster_whisper.vad import get_speech_timestamps, get_vad_model

    rate, model = 16000, get_vad_model()
    rng = np.random.default_rng(0)
    sound = rng.normal(0, 0.01, rate * 60).astype(np.float32)
    time = np.arange(rate * 3) / rate
    for start in (5, 20, 41):  # voiced, in syllables
        tone = sum(np.sin(2 * np.pi * 150 * k * time) / k for k in range(1, 8))
        sound[rate * start : rate * (start + 3)] += (0.1 * tone * (1 + np.sin(2 * np.pi * 4 * time))).astype(np.float32)
    padded = np.pad(sound, (0, -len(sound) % 512))
    return {
        "a minute": lambda: [(each["start"], each["end"]) for each in get_speech_timestamps(sound)],
        "its probabilities": lambda: np.asarray(model(padded)).reshape(-1).tolist(),
    }


def ddddocr() -> Calls:
    """Reads a captcha, and detects the regions in it."""
    from ddddocr import DdddOcr

    reader, finder = DdddOcr(show_ad=False), DdddOcr(det=True, show_ad=False)
    file = io.BytesIO()
    drawn("k7Xp", (160, 64), 38).save(file, "PNG")
    picture = file.getvalue()
    return {"a word": lambda: reader.classification(picture), "its place": lambda: finder.detection(picture)}


def nudenet() -> Calls:
    """Detects faces and bodies in a portrait from NASA."""
    from nudenet import NudeDetector
    from skimage import data

    detector, portrait = NudeDetector(), np.ascontiguousarray(data.astronaut()[:, :, ::-1])

    def call() -> object:
        return [
            (each["class"], float(each["score"]), list(map(int, each["box"]))) for each in detector.detect(portrait)
        ]

    return {"a portrait": call}


PROGRAMS = {
    "rapidocr-onnxruntime": rapidocr,
    "magika": magika,
    "faster-whisper": faster_whisper,
    "ddddocr": ddddocr,
    "nudenet": nudenet,
}
