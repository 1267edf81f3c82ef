"""``.safetensors``, read by its package."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken._validation import import_extra
from sparsetoken.files.guards import Arrays, Delayed, UnreadableError, from_bfloat16

_TYPES = {"BOOL": "?", "BF16": "f4"} | {
    f"{kind.upper()}{bits}": f"<{kind}{bits // 8}"
    for kind, sizes in (("f", (16, 32, 64)), ("i", (8, 16, 32, 64)), ("u", (8, 16, 32, 64)))
    for bits in sizes
}


def open_safetensors(path: Path) -> Arrays:
    """Open a file; a tensor is read when it is needed."""
    package = import_extra("safetensors", f"{path}: .safetensors")
    file, arrays = package.safe_open(path, framework="np"), {}
    for name in sorted(file.keys()):
        tensor = file.get_slice(name)
        kind, shape = str(tensor.get_dtype()), tuple(tensor.get_shape())
        if kind not in _TYPES:
            raise UnreadableError(f"{name} has type {kind}, which NumPy does not have")
        whole = partial(file.get_tensor, name)
        read = partial(_halves, package, path, name, shape) if kind == "BF16" else whole
        arrays[name] = Delayed(shape, np.dtype(_TYPES[kind]), read)
    return arrays


def _halves(package: Any, path: Path, name: str, shape: tuple[int, ...]) -> Array:
    """Return a tensor of bfloat16, which the package does not give to NumPy."""
    tensors = dict(package.deserialize(path.read_bytes()))
    return from_bfloat16(np.frombuffer(tensors[name]["data"], np.uint16)).reshape(shape)
