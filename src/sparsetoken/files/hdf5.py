"""HDF5: ``.h5`` and ``.hdf5``, as extractors for slides and activations write them."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken._validation import import_extra
from sparsetoken.files.formats import Arrays, StoredArray, UnreadableError, bfloat16_array


def open_hdf5(path: Path) -> Arrays:
    """Open a file; datasets in groups have the names of both."""
    h5py = import_h5py(path)
    arrays: dict[str, StoredArray] = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = stored_dataset(path, item)

    with h5py.File(path, "r") as file:
        file.visititems(take)
    return arrays


def import_h5py(path: Path) -> Any:
    """Return h5py, or say what needs it."""
    return import_extra("h5py", f"{path}: {path.suffix}")


def stored_dataset(path: Path, item: Any) -> StoredArray:
    """Return a dataset that will be read later; one that lies in other files is refused."""
    if item.external or item.is_virtual:
        raise UnreadableError(f"{item.name} lies in other files, which are never opened")
    if item.shape is None or (item.size and not item.id.get_storage_size()):
        raise UnreadableError(f"{item.name} was never written")
    written = str(item.attrs.get("dtype", item.file.attrs.get("dtype", "")))
    halves = "bfloat16" in written and item.dtype.kind in "ui" and item.dtype.itemsize == 2
    read = partial(_read, path, item.name)
    if halves:
        return bfloat16_array(item.shape, read)
    return StoredArray(item.shape, item.dtype, read)


def read_item(item: Any) -> Array:
    """Read a dataset, also of text."""
    h5py = import_extra("h5py", "HDF5")
    text = h5py.check_string_dtype(item.dtype) is not None
    return np.asarray(item.asstr()[()] if text else item[()])


def _read(path: Path, name: str) -> Array:
    with import_h5py(path).File(path, "r") as file:
        return read_item(file[name])
