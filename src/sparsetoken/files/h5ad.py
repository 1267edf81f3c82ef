"""AnnData: ``.h5ad``, one token per row. Arrays are X, what is in obsm, and the columns of obs."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.formats import Arrays, StoredArray, UnreadableError
from sparsetoken.files.hdf5 import import_h5py, read_item, stored_dataset


def open_h5ad(path: Path) -> Arrays:
    """Open a file; anndata is not needed."""
    h5py = import_h5py(path)
    arrays: dict[str, StoredArray] = {}
    with h5py.File(path, "r") as file:
        items = [("X", file.get("X")), *dict(file.get("obsm", {})).items()]
        for name, item in items:
            if isinstance(item, h5py.Dataset):
                arrays[name] = stored_dataset(path, item)
            elif item is not None and "indptr" in item:
                shape = tuple(int(size) for size in item.attrs["shape"])
                arrays[name] = StoredArray(
                    shape, item["data"].dtype, partial(_read_sparse, path, item.name)
                )
        obs, var = file["obs"], file.get("var", {})
        if not isinstance(obs, h5py.Group):
            raise UnreadableError("it was written before anndata 0.7: open it and write it again")
        for name, item in obs.items():
            if not isinstance(name, str):  # h5py gives bytes that are no text as they are
                raise ValueError(f"a column of obs is named {name!r}")
            if isinstance(item, h5py.Dataset):
                arrays[name] = stored_dataset(path, item)
            elif "codes" in item:
                shape = item["codes"].shape
                read = partial(_read_categories, path, item.name)
                arrays[name] = StoredArray(shape, np.dtype(object), read)
        index = getattr(var, "attrs", {}).get("_index")
        if index in var:
            arrays["feature_names"] = stored_dataset(path, var[index])
    return arrays


def _read_sparse(path: Path, name: str) -> Array:
    from scipy import sparse

    with import_h5py(path).File(path, "r") as file:
        item = file[name]
        kind = sparse.csc_matrix if "csc" in str(item.attrs["encoding-type"]) else sparse.csr_matrix
        parts = (item["data"][()], item["indices"][()], item["indptr"][()])
        matrix = kind(parts, shape=tuple(item.attrs["shape"]))
    return np.asarray(matrix.toarray())


def _read_categories(path: Path, name: str) -> Array:
    with import_h5py(path).File(path, "r") as file:
        codes = file[name]["codes"][()]
        values: list[Any] = [*read_item(file[name]["categories"]), None]
    column = np.empty(len(codes), dtype=object)
    column[:] = [values[code] for code in codes]  # -1 is a missing value
    return column
