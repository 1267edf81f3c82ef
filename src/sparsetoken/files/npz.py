"""Arrays of NumPy: ``.npz`` and ``.npy``."""

import zipfile
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.formats import Arrays, StoredArray, UnreadableError


def open_npy(path: Path) -> Arrays:
    """Open an ``.npy`` file as the array X."""
    with path.open("rb") as file:
        shape, dtype = _head(file)
        if file.tell() + dtype.itemsize * int(np.prod(shape, dtype=object)) > path.stat().st_size:
            raise ValueError(f"its head says {shape} {dtype}, which is more than there is")
    return {"X": StoredArray(shape, dtype, partial(np.load, path, allow_pickle=False))}


def open_npz(path: Path) -> Arrays:
    """Open an archive."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if b"PK\x01\x02" in entry.extra + entry.comment:  # zipfile takes no notice
                raise ValueError("its list of arrays is damaged")
            with archive.open(entry) as file:
                shape, dtype = _head(file)
            name = entry.filename.removesuffix(".npy")
            arrays[name] = StoredArray(shape, dtype, partial(_read_member, path, entry.filename))
    return arrays


def _head(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    if dtype.hasobject:
        raise UnreadableError("it holds Python objects, which are never read")
    return shape, dtype


def _read_member(path: Path, name: str) -> Array:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array
