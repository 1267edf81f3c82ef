"""Arrays of NumPy: ``.npz`` and ``.npy``."""

import zipfile
from functools import partial
from pathlib import Path

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.guards import Arrays, Delayed, UnreadableError, check_zip


def open_npy(path: Path) -> Arrays:
    """Open an ``.npy`` file as the array X."""
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    return {"X": Delayed(mapped.shape, mapped.dtype, partial(np.array, mapped))}


def open_npz(path: Path) -> Arrays:
    """Open an archive; an array is read when it is needed."""
    arrays = {}
    for entry in check_zip(path):
        with zipfile.ZipFile(path) as archive, archive.open(entry) as file:
            first = np.lib.format.read_magic(file) == (1, 0)
            head = "read_array_header_1_0" if first else "read_array_header_2_0"
            shape, _, dtype = getattr(np.lib.format, head)(file)
        if dtype.hasobject:
            raise UnreadableError(
                f"{entry} holds Python objects, which are never read: save an array for each "
                "sequence, or all tokens stacked, with 'offsets'"
            )
        name = entry.removesuffix(".npy")
        arrays[name] = Delayed(shape, dtype, partial(_read, path, name))
    return arrays


def _read(path: Path, name: str) -> Array:
    with np.load(path, allow_pickle=False) as archive:
        array: Array = archive[name]
    return array
