"""Tensors that torch has saved, ``.pt`` and ``.pth``, without torch.

Such a file is a zip archive with a pickle that says which bytes are which tensor. A pickle may
run anything; this one is read by an interpreter that knows tensors, their storage, containers and
plain values, and refuses everything else before it is looked at.
"""

import math
import pickle
import pickletools
import re
import zipfile
from collections import OrderedDict
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.formats import Arrays, StoredArray, UnreadableError, bfloat16_array

_STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}
_LARGEST = 2**24  # bytes of a pickle: it only lists tensors
# What tensors, containers and plain values are written with. No BUILD, no NEWOBJ, no EXT.
_OPCODES = re.compile(
    "PROTO|STOP|MARK|GLOBAL|REDUCE|BINPERSID|NONE|NEWTRUE|NEWFALSE|BININT[12]?|LONG1|BINFLOAT|"
    "(SHORT_)?BINUNICODE|(EMPTY_)?TUPLE|TUPLE[123]|EMPTY_LIST|APPENDS?|EMPTY_DICT|SETITEMS?|"
    "(LONG_)?BIN(PUT|GET)"
)


class _Storage(NamedTuple):
    member: str
    kind: str
    size: int


def open_torch(path: Path) -> Arrays:
    """Open a tensor as X, or a dict or list of tensors and plain values by their names."""
    if not zipfile.is_zipfile(path):
        raise UnreadableError("it is not as torch writes since 1.6; load it with torch and save it")
    with zipfile.ZipFile(path) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        listing = next((name for name in sizes if name.endswith("/data.pkl")), None)
        if listing is None or sizes[listing] > _LARGEST:
            raise ValueError("it has no list of tensors (data.pkl)")
        home = listing.removesuffix("data.pkl")
        order = f"{home}byteorder"
        if order in sizes and archive.read(order) != b"little":
            raise UnreadableError("its numbers are big-endian")
        content = archive.read(listing)
    for code, argument, _ in pickletools.genops(content):
        if not _OPCODES.fullmatch(code.name):
            raise UnreadableError(f"it holds more than tensors and plain values ({code.name})")
        if "PUT" in code.name and int(argument or 0) > len(content):
            raise ValueError("its list of tensors counts wrongly")
    return _name_all(_Unpickler(path, home, sizes, content).load())


class _Unpickler(pickle.Unpickler):
    """Knows the names that tensors are written with, and gives each a harmless meaning."""

    def __init__(self, path: Path, home: str, sizes: dict[str, int], content: bytes) -> None:
        super().__init__(BytesIO(content))
        self.path, self.home, self.sizes = path, home, sizes

    def find_class(self, module: str, name: str) -> Any:
        meanings = {
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
            "collections.OrderedDict": OrderedDict,
        } | {f"torch.{kind}": partial(_Storage, kind=kind) for kind in _STORAGES}
        if f"{module}.{name}" in meanings:
            return meanings[f"{module}.{name}"]
        raise UnreadableError(f"it holds {module}.{name}; only tensors, dicts and lists are read")

    def persistent_load(self, pid: Any) -> Any:
        _, storage, key, _, size = pid
        return storage(f"{self.home}data/{key}", size=size)

    def _tensor(self, storage: Any, start: Any, shape: Any, strides: Any, *_: Any) -> StoredArray:
        """Return a view of a storage, which must hold it."""
        whole = all(isinstance(n, int) and n >= 0 for n in (start, *shape, *strides))
        if not isinstance(storage, _Storage) or not whole or len(shape) != len(strides):
            raise ValueError("a tensor is described wrongly")
        last = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if math.prod(shape) and (last >= storage.size or math.prod(shape) > storage.size):
            raise ValueError(f"a tensor of shape {tuple(shape)} is larger than its storage")
        dtype, shape = np.dtype(_STORAGES[storage.kind]), tuple(shape)
        if self.sizes.get(storage.member, -1) != storage.size * dtype.itemsize:
            raise ValueError(f"the numbers of a tensor of shape {shape} are not there")

        def read() -> Array:
            with zipfile.ZipFile(self.path) as archive:
                flat = np.frombuffer(archive.read(storage.member), dtype)[start:]
            steps = [step * dtype.itemsize for step in strides]
            return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat, shape, steps))

        halves = storage.kind == "BFloat16Storage"
        return bfloat16_array(shape, read) if halves else StoredArray(shape, dtype, read)


def _name_all(content: Any) -> Arrays:
    """Return tensors and plain values; those inside others are named ``outer/inner``."""
    arrays: dict[str, StoredArray] = {}
    waiting, seen = [("", content)], set()
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, StoredArray):
            arrays[name or "X"] = value
            continue
        if isinstance(value, list | tuple) and not all(map(_is_plain, value)):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            if id(value) not in seen:  # one that holds itself is looked at once
                inside = [(f"{name}/{key}" if name else str(key), v) for key, v in value.items()]
                waiting += inside[::-1]
            seen.add(id(value))
        elif _is_plain(value) or isinstance(value, list | tuple):
            plain = np.array(value)
            arrays[name] = StoredArray(plain.shape, plain.dtype, partial(np.copy, plain))
    return arrays


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)
