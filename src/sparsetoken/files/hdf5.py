"""HDF5: ``.h5`` and ``.hdf5`` of extractors for slides and activations, ``.h5ad`` of AnnData."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken._validation import import_extra
from sparsetoken.files.formats import Arrays, StoredArray, UnreadableError, bfloat16_array


def open_hdf5(path: Path) -> Arrays:
    """Open a file; datasets in groups have the names of both."""
    h5py = _import_h5py(path)
    arrays: dict[str, StoredArray] = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = _stored(path, item)

    with h5py.File(path, "r") as file:
        file.visititems(take)
    return arrays


def open_h5ad(path: Path) -> Arrays:
    """Open cells, one a row: X, what is in obsm, and the columns of obs. Anndata is not needed."""
    h5py = _import_h5py(path)
    arrays: dict[str, StoredArray] = {}
    with h5py.File(path, "r") as file:
        obs, var = file["obs"], file.get("var", {})
        if not isinstance(obs, h5py.Group):
            raise UnreadableError("it was written before anndata 0.7: open it and write it again")
        for name, item in {"X": file.get("X"), **file.get("obsm", {}), **obs}.items():
            if not isinstance(name, str):  # h5py gives bytes that are no text as they are
                raise ValueError(f"a column of obs is named {name!r}")
            if isinstance(item, h5py.Dataset):
                arrays[name] = _stored(path, item)
            elif item is not None and "indptr" in item:
                shape = tuple(int(size) for size in item.attrs["shape"])
                read = partial(_read, path, item.name, _sparse)
                arrays[name] = StoredArray(shape, item["data"].dtype, read)
            elif item is not None and "codes" in item:
                read = partial(_read, path, item.name, _categories)
                arrays[name] = StoredArray(item["codes"].shape, np.dtype(object), read)
        index = getattr(var, "attrs", {}).get("_index")
        if index in var:
            arrays["feature_names"] = _stored(path, var[index])
    return arrays


def _import_h5py(path: Path) -> Any:
    return import_extra("h5py", f"{path}: {path.suffix}")


def _stored(path: Path, item: Any) -> StoredArray:
    """Return a dataset that will be read later; one that lies in other files is refused."""
    if item.external or item.is_virtual:
        raise UnreadableError(f"{item.name} lies in other files, which are never opened")
    if item.shape is None or (item.size and not item.id.get_storage_size()):
        raise UnreadableError(f"{item.name} was never written")
    written = str(item.attrs.get("dtype", item.file.attrs.get("dtype", "")))
    read = partial(_read, path, item.name, _values)
    if "bfloat16" in written and item.dtype.kind in "ui" and item.dtype.itemsize == 2:
        return bfloat16_array(item.shape, read)
    return StoredArray(item.shape, item.dtype, read)


def _read(path: Path, name: str, content: Any) -> Array:
    with _import_h5py(path).File(path, "r") as file:
        return np.asarray(content(file[name]))


def _values(item: Any) -> Any:
    text = import_extra("h5py", "HDF5").check_string_dtype(item.dtype) is not None
    return item.asstr()[()] if text else item[()]


def _sparse(item: Any) -> Any:
    from scipy import sparse

    kind = sparse.csc_matrix if "csc" in str(item.attrs["encoding-type"]) else sparse.csr_matrix
    parts = (item["data"][()], item["indices"][()], item["indptr"][()])
    return kind(parts, shape=tuple(item.attrs["shape"])).toarray()


def _categories(item: Any) -> Any:
    values = np.array([*_values(item["categories"]), None], dtype=object)
    return values[item["codes"][()]]  # -1 is a missing value
