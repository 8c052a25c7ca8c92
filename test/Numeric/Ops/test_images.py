# SPDX-License-Identifier: Apache-2.0
"""Tests ImageDecoder on valid and corrupt files, which this test writes. ONNX's node tests have one
file per format."""

import io
import resource
import struct
import time
import zlib

import hewn
import numpy as np
import PIL.Image
import pytest
from onnx import TensorProto, helper

HEIGHT, WIDTH = 5, 11
random = np.random.default_rng(7)
PIXELS = random.integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
GRAYS = PIXELS[..., 0]
BITS = GRAYS > 100


def model(**attributes):
    node = helper.make_node("ImageDecoder", ["x"], ["y"], **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, [None, None, None])
    graph = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.fixture(scope="module")
def rgb():
    return hewn.compile(model())


def decode(module, data):
    return module.run({"x": np.frombuffer(data, np.uint8)})["y"]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, color, depth, width=WIDTH, height=HEIGHT, extra=b"", interlaced=0):
    raw = b"".join(b"\0" + row for row in rows)
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    body = chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def bmp(rows, bits, palette=b"", flipped=False, width=WIDTH):
    padded = [row + bytes(-len(row) % 4) for row in rows]
    body = b"".join(padded if flipped else padded[::-1])
    start = 54 + len(palette)
    height = -len(rows) if flipped else len(rows)
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, len(body), 0, 0, len(palette) // 4, 0)
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + head + palette + body


def tiff(order, pixels=PIXELS):
    entries = [(256, 3, pixels.shape[1]), (257, 3, pixels.shape[0]), (258, 3, 8), (259, 3, 1), (262, 3, 2)]
    entries += [(273, 4, 200), (277, 3, 3), (278, 3, pixels.shape[0]), (279, 4, pixels.size)]
    made = (
        (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8) + struct.pack(order + "H", len(entries))
    )
    for tag, kind, value in entries:
        made += struct.pack(order + "HHI", tag, kind, 1)
        made += struct.pack(order + ("HH" if kind == 3 else "I"), *([value, 0] if kind == 3 else [value]))
    made += struct.pack(order + "I", 0)
    return made.ljust(200, b"\0") + pixels.tobytes()


def text(header, values):
    return f"{header}\n# made by hand\n{WIDTH} {HEIGHT}\n".encode() + " ".join(str(v) for v in values).encode()


def gray(values):
    return np.repeat(values[..., None], 3, axis=2)


PALETTE = random.integers(0, 256, (16, 3)).astype(np.uint8)
INDICES = random.integers(0, 16, (HEIGHT, WIDTH)).astype(np.uint8)
NIBBLES = [bytes(int(a) << 4 | int(b) for a, b in zip([*row, 0][::2], [*row, 0][1::2])) for row in INDICES]
MADE = {
    "png": (png([row.tobytes() for row in PIXELS], 2, 8), PIXELS),
    "png-gray": (png([row.tobytes() for row in GRAYS], 0, 8), gray(GRAYS)),
    "png-16": (png([row.astype(">u2").tobytes() for row in PIXELS.astype(np.uint16) * 256 + 77], 2, 16), PIXELS),
    "png-bits": (png([np.packbits(row).tobytes() for row in BITS], 0, 1), gray(np.where(BITS, 255, 0))),
    "png-palette": (png(NIBBLES, 3, 4, extra=chunk(b"PLTE", PALETTE.tobytes())), PALETTE[INDICES]),
    "png-alpha": (png([np.insert(row, 3, 9, axis=1).tobytes() for row in PIXELS], 6, 8), PIXELS),
    "bmp-24": (bmp([row[:, ::-1].tobytes() for row in PIXELS], 24), PIXELS),
    "bmp-flipped": (bmp([row[:, ::-1].tobytes() for row in PIXELS], 24, flipped=True), PIXELS),
    "bmp-palette": (bmp(NIBBLES, 4, np.insert(PALETTE[:, ::-1], 3, 0, axis=1).tobytes()), PALETTE[INDICES]),
    "tiff": (tiff("<"), PIXELS),
    "tiff-big": (tiff(">"), PIXELS),
    "P1": (text("P1", BITS.ravel().astype(int)), gray(np.where(BITS, 0, 255))),
    "P2": (text("P2", [15, *(GRAYS.ravel() // 16)]), gray(GRAYS // 16 * 17)),
    "P3": (text("P3", [255, *PIXELS.ravel()]), PIXELS),
    "P4": (b"P4 11 5\n" + b"".join(np.packbits(row).tobytes() for row in BITS), gray(np.where(BITS, 0, 255))),
    "P5": (b"P5\n11 5 255\n" + GRAYS.tobytes(), gray(GRAYS)),
    "P6": (b"P6 #\n11\t5 65535\n" + (PIXELS.astype(">u2") * 257).tobytes(), PIXELS),
}


@pytest.mark.parametrize("name", MADE)
def test_formats(rgb, name):
    data, want = MADE[name]
    np.testing.assert_array_equal(decode(rgb, data), want)


def test_order_of_channels():
    data = MADE["png"][0]
    np.testing.assert_array_equal(decode(hewn.compile(model(pixel_format="BGR")), data), PIXELS[..., ::-1])
    weighed = PIXELS.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32) + 0x8000 >> 16
    np.testing.assert_array_equal(decode(hewn.compile(model(pixel_format="Grayscale")), data), weighed[..., None])
    with pytest.raises(hewn.CompileError, match="pixel_format 'HSV' is not supported"):
        hewn.compile(model(pixel_format="HSV"))


@pytest.mark.parametrize("data", [b"", b"no picture at all", png([b""], 2, 8, 0, 9), b"P6 99999 99999 255\n"])
def test_no_picture(rgb, data):
    assert decode(rgb, data).shape == (0, 0, 3)


SMOOTH = np.clip(np.add.outer(np.arange(40) * 4, np.arange(56) * 2)[..., None] + [0, 40, 90], 0, 255).astype(np.uint8)
WRITTEN = {
    "jpeg": ("JPEG", {"quality": 90}, "RGB"),
    "jpeg-progressive": ("JPEG", {"quality": 70, "progressive": True}, "RGB"),
    "jpeg-whole-chroma": ("JPEG", {"subsampling": 0}, "RGB"),
    "jpeg-gray": ("JPEG", {}, "L"),
    "webp": ("WEBP", {"quality": 80}, "RGB"),
    "webp-lossless": ("WEBP", {"lossless": True}, "RGB"),
    "jpeg2000": ("JPEG2000", {"irreversible": False}, "RGB"),
    "jpeg2000-gray": ("JPEG2000", {"irreversible": False}, "L"),
    "tiff-lzw": ("TIFF", {"compression": "tiff_lzw"}, "RGB"),
    "tiff-deflate": ("TIFF", {"compression": "tiff_adobe_deflate"}, "RGB"),
    "tiff-lzma": ("TIFF", {"compression": "lzma"}, "RGB"),
    "tiff-zstd": ("TIFF", {"compression": "zstd"}, "RGB"),
    "tiff-fax": ("TIFF", {"compression": "group4"}, "1"),
}


def written(name):
    """Returns a file written by Pillow, and the pixels to which Pillow decodes it, as ONNX's
    reference does."""
    form, options, mode = WRITTEN[name]
    file = io.BytesIO()
    PIL.Image.fromarray(SMOOTH).convert(mode).save(file, form, **options)
    return file.getvalue(), np.asarray(PIL.Image.open(io.BytesIO(file.getvalue())).convert("RGB"))


@pytest.mark.parametrize("name", WRITTEN)
def test_formats_that_others_write(rgb, name):
    data, want = written(name)
    np.testing.assert_array_equal(decode(rgb, data), want)


@pytest.mark.parametrize("name", ["jpeg", "jpeg-progressive", "webp", "jpeg2000", "tiff-lzw"])
def test_half_a_file_is_no_picture(rgb, name):
    data, _ = written(name)
    assert decode(rgb, data[: len(data) // 2]).shape == (0, 0, 3)


def jpeg_of(width, height, progressive):
    """Returns a small JPEG file whose header declares this width and height."""
    file = io.BytesIO()
    PIL.Image.fromarray(SMOOTH).save(file, "JPEG", progressive=progressive)
    data = bytearray(file.getvalue())
    frame = data.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    struct.pack_into(">HH", data, frame + 5, height, width)
    return bytes(data)


def jpeg2000_of(width, height):
    file = io.BytesIO()
    PIL.Image.fromarray(SMOOTH).save(file, "JPEG2000")
    data = bytearray(file.getvalue())
    struct.pack_into(">II", data, data.index(b"ihdr") + 4, height, width)
    at = data.index(b"\xff\x51")  # SIZ marker (the image has one tile)
    struct.pack_into(">II", data, at + 6, width, height)
    struct.pack_into(">II", data, at + 22, width, height)
    return bytes(data)


def tiff_of(width, height):
    """Returns a TIFF file with PackBits compression and one strip of no bytes."""
    data = bytearray(tiff("<", np.zeros((1, 1, 3), np.uint8)))
    for at, tag in ((10, 256), (22, 257), (46, 259)):
        assert struct.unpack_from("<H", data, at) == (tag,)
        struct.pack_into("<HII", data, at + 2, 4, 1, {256: width, 257: height, 259: 32773}[tag])
    return bytes(data)


def webp_of(width, height):
    head = b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14)
    body = b"VP8L" + struct.pack("<I", 10) + head.ljust(10, b"\0")
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


# Small compressed files whose headers declare these sizes.
CLAIMED = {
    "png": lambda width, height: png([b""], 2, 8, width, height),
    "png-interlaced": lambda width, height: png([b""], 2, 8, width, height, interlaced=1),
    "jpeg": lambda width, height: jpeg_of(width, height, False),
    "jpeg-progressive": lambda width, height: jpeg_of(width, height, True),
    "jpeg2000": jpeg2000_of,
    "tiff": tiff_of,
    "webp": webp_of,
}
PIXELS_OF_SMALL_FILES, PIXELS_A_BYTE = 1 << 24, 1 << 10


@pytest.mark.parametrize("form", CLAIMED)
def test_a_header_that_claims_too_much(rgb, form):
    """For a file whose header declares a huge image, the run fails with a message that names the
    sizes, before it allocates memory for the image. The allowed number of pixels depends on the
    length of the file."""
    data = CLAIMED[form](16000, 16000)
    assert len(data) < 4000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(hewn.RunError, match="declares an image of 16000 x 16000 pixels, too many for its length"):
        decode(rgb, data)
    # The peak memory of the process may grow by less than this limit in KiB, which is far below the
    # 768 MB that the image would take.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 16 << 10
    side = int((PIXELS_OF_SMALL_FILES + PIXELS_A_BYTE * len(data)) ** 0.5)
    # The file has no pixels. The result is empty or, where libjpeg tolerates the damage, gray.
    assert decode(rgb, CLAIMED[form](side, side)).shape in ((0, 0, 3), (side, side, 3))
    with pytest.raises(hewn.RunError, match=f"{side + 1} x {side + 1} pixels"):
        decode(rgb, CLAIMED[form](side + 1, side + 1))


def precincts_of(width, height, exponents):
    """Returns a JPEG 2000 file with 4 x 4 code blocks and precincts of 2^exponents: each takes some
    hundred bytes of the decoder's memory."""
    file = io.BytesIO()
    PIL.Image.fromarray(SMOOTH).save(file, "JPEG2000", no_jp2=True, codeblock_size=(4, 4))
    data = bytearray(file.getvalue())
    size, style = data.index(b"\xff\x51"), data.index(b"\xff\x52")
    struct.pack_into(">II", data, size + 6, width, height)
    struct.pack_into(">II", data, size + 22, width, height)
    levels = data[style + 9] + 1
    struct.pack_into(">H", data, style + 2, 12 + levels)
    data[style + 4] |= 1
    data[style + 14 : style + 14] = bytes([exponents]) * levels
    return bytes(data)


def test_memory_that_no_picture_needs(rgb):
    """The decoder limits its memory, not only the number of pixels: without that limit, a file of 2
    KB made it allocate 4.9 GB."""
    data = precincts_of(2000, 2000, 0x11)
    assert len(data) < 4000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(hewn.RunError, match="exceeds the memory limit for an image of this size"):
        decode(rgb, data)
    # The peak memory of the process may grow by less than this limit in KiB: 48 bytes per pixel of
    # the image, plus 128 MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 600 << 10
    assert decode(rgb, precincts_of(*SMOOTH.shape[1::-1], 0x33)).shape in ((0, 0, 3), SMOOTH.shape)
    data, want = written("jpeg2000")
    np.testing.assert_array_equal(decode(rgb, data), want)


def test_a_picture_that_needs_its_bytes(rgb):
    """An image of 17 million pixels exceeds the limit for short files. The decoder accepts this
    file, because the limit depends on the length of the file."""
    height, width = 4200, 4100
    assert height * width > PIXELS_OF_SMALL_FILES
    data = png([bytes(width)] * height, 0, 8, width, height)
    y = decode(rgb, data)
    assert y.shape == (height, width, 3) and not y.any()


CLAIMS = {
    "bmp": lambda width, height: bmp([b""] * height, 24, width=width),
    "bmp-flipped": lambda width, height: bmp([b""] * height, 32, flipped=True, width=width),
    "P3": lambda width, height: f"P3 {width} {height} 255 1 2 3".encode(),
    "P4": lambda width, height: f"P4 {width} {height}\n123".encode(),
    "P6": lambda width, height: f"P6 {width} {height} 255\n123".encode(),
    "tiff": lambda width, height: tiff("<", np.broadcast_to(np.uint8(0), (height, width, 0))),
}


@pytest.mark.parametrize("form", CLAIMS)
def test_pixels_that_the_file_does_not_have(rgb, form):
    """The length of an uncompressed file follows from its header. The decoder rejects a shorter
    file before it allocates memory."""
    data = CLAIMS[form](16384, 16384)
    assert len(data) < 1000
    begin = time.process_time()
    for _ in range(20):  # allocating the image would take 800 MB each time
        assert decode(rgb, data).shape == (0, 0, 3)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("name", [*MADE, *WRITTEN])
def test_broken_files(rgb, name):
    """Truncated files and files with changed bytes decode to an image or to an empty result."""
    data, whole = MADE[name] if name in MADE else written(name)
    for cut in range(0, len(data), max(1, len(data) // 40)):
        assert decode(rgb, data[:cut]).shape in ((0, 0, 3), whole.shape)
    for _ in range(60):
        changed = bytearray(data)
        for place in random.integers(0, len(data), 1 + random.integers(0, 4)):
            changed[place] = random.integers(0, 256)
        y = decode(rgb, bytes(changed))
        assert y.ndim == 3 and y.shape[2] == 3
