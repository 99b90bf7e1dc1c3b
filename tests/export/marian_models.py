"""The recorded Marian models, and folders made from them with something changed."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import yaml

GOLDEN = Path(__file__).parents[1] / "golden" / "marian"
OPTIONS = "special:model.yml"
FLOAT32, BYTES, INTGEMM8, FIREFOX_INTGEMM8, INTGEMM16 = 0x404, 0x101, 0x10001, 0x4101, 0x10002


def cases(name):
    """What Marian answered with one model."""
    lines = (GOLDEN / f"{name}.cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def changed(name, folder, *, options=None, tensors=None, without=(), files=None):
    """A copy of an .npz model; options, tensors and files are added or replaced, None removes one of the files."""
    shutil.copytree(GOLDEN / name, folder)
    (path,) = folder.glob("*.npz")
    content = dict(np.load(path))
    stored = yaml.safe_load(content.pop(OPTIONS).tobytes().rstrip(b"\0").decode())
    content = {key: value for key, value in content.items() if key not in without} | (tensors or {})
    text = yaml.safe_dump(stored | (options or {})).encode()
    np.savez(path, **content, **{OPTIONS: np.frombuffer(text, np.int8)})
    for file, text in (files or {}).items():
        if text is None:
            (folder / file).unlink()
        else:
            (folder / file).write_text(text, encoding="utf-8")
    return folder


def binary_file(path, items):
    """Writes (name, type, shape, bytes) in Marian's binary layout."""
    head = struct.pack("<QQ", 1, len(items))
    padded = [content + b"\xee" * (-len(content) % 256) for *_, content in items]
    for (name, kind, shape, _), content in zip(items, padded, strict=True):
        head += struct.pack("<QQQQ", len(name.encode()) + 1, kind, len(shape), len(content))
    head += b"".join(name.encode() + b"\0" for name, *_ in items)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    gap = 256 - (len(head) + 8) % 256
    path.write_bytes(head + struct.pack("<Q", gap) + b"\0" * gap + b"".join(padded))
    return path
