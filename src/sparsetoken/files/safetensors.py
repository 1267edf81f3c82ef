"""``.safetensors``: a JSON header with types, shapes and places, then the bytes."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.formats import Arrays, StoredArray, UnreadableError, bfloat16_array

_TYPES = {"BOOL": "?", "BF16": "<u2"} | {
    f"{kind.upper()}{bits}": f"<{kind}{bits // 8}"
    for kind, sizes in (("f", (16, 32, 64)), ("i", (8, 16, 32, 64)), ("u", (8, 16, 32, 64)))
    for bits in sizes
}


def open_safetensors(path: Path) -> Arrays:
    """Open a file; its package is not needed."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise ValueError("its header is longer than the file")
        header = json.loads(file.read(length))
    arrays = {}
    for name in sorted(set(header) - {"__metadata__"}):
        kind, shape = header[name]["dtype"], tuple(header[name]["shape"])
        first, last = header[name]["data_offsets"]
        if kind not in _TYPES:
            raise UnreadableError(f"{name} has type {kind}, which NumPy does not have")
        dtype = np.dtype(_TYPES[kind])
        if not 0 <= first <= last <= size - 8 - length:
            raise ValueError(f"{name} is not inside the file")
        if math.prod(shape) * dtype.itemsize != last - first:
            raise ValueError(f"{name} of shape {shape} does not fill its place")
        read = partial(_read, path, 8 + length + first, dtype, shape)
        halves = kind == "BF16"
        arrays[name] = bfloat16_array(shape, read) if halves else StoredArray(shape, dtype, read)
    return arrays


def _read(path: Path, start: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    return np.fromfile(path, dtype, math.prod(shape), offset=start).reshape(shape)
