"""HDF5: ``.h5`` and ``.hdf5`` of extractors for slides and activations, ``.h5ad`` of AnnData.

Nothing outside the file is ever opened: links, external storage and virtual datasets are refused.
Texts of an ``.h5ad`` file are first read by a process of its own: damage there can crash it.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken._validation import import_extra
from sparsetoken.files import hdf5_process
from sparsetoken.files.guards import (
    Arrays,
    Delayed,
    UnreadableError,
    check_size,
    from_bfloat16,
    run_apart,
)

_PATIENCE = 120.0  # seconds for the texts of a file


def open_hdf5(path: Path) -> Arrays:
    """Open a file; datasets in groups have the names of both."""
    return {name: _delayed(item) for name, item in _datasets(path).items()}


def open_h5ad(path: Path) -> Arrays:
    """Open cells, one a row: X, what is in obsm, the columns of obs, and the names in var."""
    io = import_extra("anndata.io", f"{path}: .h5ad", None)
    sizes = _datasets(path)
    check_size(path, sum(item.size for name, item in sizes.items() if "obs/" in name), 1, None)
    run_apart(hdf5_process, str(path), seconds=_PATIENCE)
    file = next(iter(sizes.values())).file
    arrays: dict[str, Any] = {}
    for name in ["X", *(f"obsm/{key}" for key in file.get("obsm", ()))]:
        if name in file:
            shape = tuple(int(n) for n in file[name].attrs.get("shape", ())) or file[name].shape
            kind = file[f"{name}/data"].dtype if f"{name}/data" in sizes else file[name].dtype
            read = partial(_dense, io.read_elem, file[name])
            arrays[name.removeprefix("obsm/")] = Delayed(shape, kind, read)
    obs = io.read_elem(file["obs"])
    if not hasattr(obs, "columns"):
        raise UnreadableError("it was written before anndata 0.7: open it and write it again")
    for name in obs.columns:
        column = obs[name].astype(object)
        arrays[name] = column.where(column.notna(), None).to_numpy()
    if "var" in file:
        arrays["feature_names"] = io.read_elem(file["var"]).index.to_numpy(dtype=object)
    return arrays


def _datasets(path: Path) -> dict[str, Any]:
    """Return the datasets of a file by name, all of which lie in it."""
    h5py = import_extra("h5py", f"{path}: {path.suffix}")
    file, datasets = h5py.File(path, "r"), dict[str, Any]()

    def check(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise UnreadableError(f"{item.name} lies in other files, which are never opened")
            if item.shape is None or (item.size and not item.id.get_storage_size()):
                raise UnreadableError(f"{item.name} was never written")
            datasets[name] = item
        else:
            for key in item:
                if not isinstance(item.get(key, getlink=True), h5py.HardLink):
                    raise UnreadableError(f"{key} is a link, and links are never followed")

    check("/", file)
    file.visititems(check)
    return datasets


def _delayed(item: Any) -> Delayed:
    """Return a dataset that will be read later, text as text and bfloat16 as float32."""
    h5py = import_extra("h5py", "HDF5")
    if h5py.check_string_dtype(item.dtype) is not None:
        return Delayed(item.shape, np.dtype(object), lambda: np.asarray(item.asstr()[()]))
    written = str(item.attrs.get("dtype", item.file.attrs.get("dtype", "")))
    if "bfloat16" in written and item.dtype.kind in "ui" and item.dtype.itemsize == 2:
        return Delayed(item.shape, np.dtype(np.float32), lambda: from_bfloat16(item[()]))
    return Delayed(item.shape, item.dtype, lambda: np.asarray(item[()]))


def _dense(read_elem: Any, item: Any) -> Array:
    matrix = read_elem(item)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # toarray believes all indices
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
