# SPDX-License-Identifier: Apache-2.0
"""weights_files.py FOLDER: writes files of weights with one error each, and a correct one, good,
which has the weight `w` of 16384 bytes."""

import json
import pathlib
import sys

SIZE = 16384
folder = pathlib.Path(sys.argv[1])


def write(name: str, tensors: object, data: bytes = bytes(SIZE)) -> None:
    header = tensors if isinstance(tensors, bytes) else json.dumps(tensors).encode()
    (folder / name).write_bytes(len(header).to_bytes(8, "little") + header + data)


def tensor(begin: int, end: int, size: int | None = None, dtype: str = "U8") -> dict:
    return {"dtype": dtype, "shape": [end - begin if size is None else size], "data_offsets": [begin, end]}


write("good", {"__metadata__": {"format": "pt"}, "w": tensor(0, SIZE)})
write("other", {"w": tensor(0, SIZE)}, bytes([1]) * SIZE)
write("short", {"w": tensor(0, 8192)}, bytes(8192))
write("unrelated", {"v": tensor(0, SIZE)})
(folder / "empty").write_bytes(b"")
(folder / "truncated").write_bytes((folder / "good").read_bytes()[:20])
(folder / "huge").write_bytes(bytes([255] * 8) + b"{}")
write("cut", {"w": tensor(0, SIZE)}, bytes(100))
write("overlap", {"v": tensor(0, 8200), "w": tensor(8192, SIZE)})
write("gap", {"v": tensor(0, 8000), "w": tensor(8192, SIZE)})
write("rest", {"w": tensor(0, 8192)})
write("backwards", {"w": {"dtype": "U8", "shape": [8], "data_offsets": [16, 8]}})
write("negative", {"w": {"dtype": "U8", "shape": [8], "data_offsets": [-8, 0]}})
write("wrapped", {"w": {"dtype": "U8", "shape": [8], "data_offsets": [2**64 - 8, 2**64]}})
write("size", {"w": tensor(0, SIZE, size=64)})
write("foreign", {"w": tensor(0, SIZE, dtype="F32")})
write("shapeless", {"w": 1})
write("list", [])
write("text", b"not a header")
