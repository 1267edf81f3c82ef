"""Files of arrays, each format by a function that returns its arrays by name.

Nothing is run and no other file is opened: objects, links, external storage and virtual datasets
are refused. What can crash a library is first read by a process of its own (``apart``).
"""

import pickle
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken._validation import import_extra
from sparsetoken.files import guards
from sparsetoken.files.apart import run_apart
from sparsetoken.files.guards import Arrays, Delayed, UnreadableError

_MOST, _DEEPEST = 10**6, 20  # values, and levels: of a list that holds itself there is no end
_PLAIN = str | int | float
_TENSORS = {"BOOL": "?", "BF16": "f4", "F16": "f2", "F32": "f4", "F64": "f8"} | {
    f"{kind}{8 * size}": f"{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)
}


def open_arrays(path: Path) -> Arrays:
    """Open a file by its ending."""
    path.open("rb").close()  # a file that is missing or forbidden is not a damaged one
    with guards.report_damage(path):
        return ARRAYS[path.suffix](path)


def open_npy(path: Path) -> Arrays:
    """Open an ``.npy`` file as the array X."""
    mapped = np.lib.format.open_memmap(path, mode="r")
    return {"X": Delayed(mapped.shape, mapped.dtype, partial(np.array, mapped))}


def open_npz(path: Path) -> Arrays:
    """Open an archive of NumPy; an array is read when it is needed."""
    arrays, heads, entries = {}, np.lib.format, guards.check_zip(path)
    archive = np.load(path, allow_pickle=False)
    for entry in entries:
        with archive.zip.open(entry) as file:
            first = heads.read_magic(file) == (1, 0)
            read_head = heads.read_array_header_1_0 if first else heads.read_array_header_2_0
            shape, _, dtype = read_head(file)
        if dtype.hasobject:
            raise UnreadableError(
                f"{entry} holds Python objects, which are never read: save an array for each "
                "sequence, or all tokens stacked, with 'offsets'"
            )
        name = entry.removesuffix(".npy")
        arrays[name] = Delayed(shape, dtype, partial(archive.__getitem__, name))
    return arrays


def open_safetensors(path: Path) -> Arrays:
    """Open a file of tensors; one is read when it is needed."""
    package = import_extra("safetensors", f"{path}: .safetensors")
    file, arrays = package.safe_open(path, framework="np"), dict[str, Delayed]()

    def read_halves(name: str) -> Array:
        return np.frombuffer(dict(package.deserialize(path.read_bytes()))[name]["data"], np.uint16)

    for name in sorted(file.keys()):
        tensor = file.get_slice(name)
        kind, shape = str(tensor.get_dtype()), tuple(tensor.get_shape())
        if kind not in _TENSORS:
            raise UnreadableError(f"{name} has type {kind}, which NumPy does not have")
        read = partial(read_halves if kind == "BF16" else file.get_tensor, name)
        arrays[name] = Delayed(shape, np.dtype(_TENSORS[kind]), read, kind == "BF16")
    return arrays


def open_torch(path: Path) -> Arrays:
    """Open what torch has saved: a tensor as X, or tensors and plain values by their names."""
    torch = import_extra("torch", f"{path}: {path.suffix}", "torch")
    if not zipfile.is_zipfile(path):
        raise UnreadableError("it is not as torch writes since 1.6; load it with torch and save it")
    sizes = set(guards.check_zip(path).values())
    with zipfile.ZipFile(path) as archive:
        if damaged := archive.testzip():  # torch does not look
            raise ValueError(f"the numbers in {damaged} have changed")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError) as error:
        if "weights_only" not in str(error):
            raise
        objects = "it holds objects other than tensors, containers and plain values"
        raise UnreadableError(f"{objects}, which are never read: save tensors alone") from None
    arrays = dict[str, Any]()
    for name, value in _leaves(content):
        if name in arrays:  # 1 and "1", or a/b and b in a
            raise UnreadableError(f"it holds two values named {name!r}")
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided:
                raise UnreadableError(f"{name or 'it'} is not a dense tensor")
            if value.untyped_storage().nbytes() not in sizes:  # torch believes what the file says
                raise ValueError(f"the numbers of {name or 'its tensor'} are not there")
            value, halves = value.detach(), value.dtype == torch.bfloat16
            longer = Delayed(tuple(value.shape), np.dtype(np.float32), value.float)
            arrays[name or "X"] = longer if halves else value.numpy()
        elif isinstance(value, list | tuple | _PLAIN):
            arrays[name] = np.array(value)
    return arrays


def _leaves(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is in dicts and lists by the names on the way; a list of plain values is whole."""
    waiting = [("", content)]
    for _ in range(_MOST):  # of a list that holds itself there is no end
        if not waiting:
            return
        name, value = waiting.pop()
        if name.count("/") > _DEEPEST:
            break
        if isinstance(value, list | tuple) and not all(isinstance(one, _PLAIN) for one in value):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            prefix = f"{name}/" if name else ""
            waiting += [(f"{prefix}{key}", inner) for key, inner in value.items()][::-1]
        else:
            yield name, value
    raise UnreadableError("it holds millions of values, or itself")


def open_mat(path: Path) -> Arrays:
    """Open matrices of MATLAB, also sparse ones; a row or a column is a vector."""
    with path.open("rb") as file:
        hdf5 = b"MATLAB 7.3" in file.read(128)  # behind a head, with all axes in reverse
    if not hdf5:
        with tempfile.TemporaryDirectory() as folder:
            run_apart(path, f"{folder}/arrays.npz", guards.believable(path))
            with np.load(f"{folder}/arrays.npz") as archive:
                return dict(archive)
    arrays = {}
    for name, array in open_hdf5(path).items():
        shape = array.shape[::-1]
        shape = (max(shape),) if len(shape) == 2 and 1 in shape else shape
        arrays[name] = Delayed(shape, array.dtype, partial(np.transpose, array))
    return arrays


def open_hdf5(path: Path) -> Arrays:
    """Open an HDF5 file; datasets in groups have the names of both, text is text."""
    text_type = import_extra("h5py", f"{path}: {path.suffix}").check_string_dtype
    arrays = {}
    for name, item in _datasets(path).items():
        kind, source = item.dtype, item.asstr() if text_type(item.dtype) else item
        written = str(item.attrs.get("dtype", item.file.attrs.get("dtype", "")))
        halves = "bfloat16" in written and kind.kind in "ui" and kind.itemsize == 2
        kind = np.dtype(np.float32) if halves else kind
        arrays[name] = Delayed(item.shape, kind, partial(source.__getitem__, ()), halves)
    return arrays


def open_h5ad(path: Path) -> Arrays:
    """Open cells of AnnData, one a row: X, what is in obsm, the columns of obs, names in var."""
    io = import_extra("anndata.io", f"{path}: .h5ad", None)
    datasets = _datasets(path)
    file, arrays = next(iter(datasets.values())).file, dict[str, Any]()
    for column in datasets.values():
        if "categories" in column.attrs:  # until anndata 0.7 a reference, to whatever it may be
            place = str(column.parent[column.attrs["categories"]].name)
            if place[1:] not in datasets:
                raise UnreadableError(f"{column.name} refers to what is not among its datasets")

    def read(name: str) -> Any:
        inside = (item.nbytes for n, item in datasets.items() if f"{n}/".startswith(f"{name}/"))
        guards.check_size(path, sum(inside))
        return io.read_elem(file[name])

    def read_matrix(name: str) -> Array:
        matrix = read(name)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # toarray believes all indices
        return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)

    for name in ["X", *(f"obsm/{key}" for key in file.get("obsm", ()))]:
        if name in file:
            shape = tuple(int(n) for n in file[name].attrs.get("shape", ())) or file[name].shape
            kind = datasets[f"{name}/data" if f"{name}/data" in datasets else name].dtype
            arrays[name.removeprefix("obsm/")] = Delayed(shape, kind, partial(read_matrix, name))
    if "obs" in datasets:
        raise UnreadableError("it was written before anndata 0.7: open it and write it again")
    obs = read("obs")
    for name in obs.columns:
        column = obs[name].astype(object)
        arrays[name] = column.where(column.notna(), None).to_numpy()
    if "var" in file:
        arrays["feature_names"] = read("var").index.to_numpy(dtype=object)
    return arrays


def _datasets(path: Path) -> dict[str, Any]:
    """Return the datasets of an HDF5 file by name, all of which lie in it."""
    h5py = import_extra("h5py", f"{path}: {path.suffix}")
    file, datasets = h5py.File(path, "r"), dict[str, Any]()

    def check(name: str, item: Any) -> None:
        if name.count("/") > _DEEPEST:
            raise UnreadableError(f"its groups are more than {_DEEPEST} deep")
        if isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise UnreadableError(f"{item.name} lies in other files, which are never opened")
            if item.shape is None or (item.size and not item.id.get_storage_size()):
                raise UnreadableError(f"{item.name} was never written")
            datasets[name] = item
        elif isinstance(item, h5py.Group):
            for key in item:
                if not isinstance(item.get(key, getlink=True), h5py.HardLink):
                    raise UnreadableError(f"{key} is a link, and links are never followed")

    check("/", file)
    file.visititems(check)
    texts = [item for item in datasets.values() if item.dtype.kind == "O"]
    guards.check_size(path, sum(item.nbytes for item in texts))
    notes = [item.attrs for item in (file, *datasets.values()) if "dtype" in item.attrs]
    kinds = [note.get_id("dtype").dtype for note in notes]
    if texts or np.dtype(object) in kinds or path.suffix == ".h5ad":
        run_apart(path)  # where text is damaged HDF5 may crash, or never end
    return datasets


ARRAYS: dict[str, Callable[[Path], Arrays]] = {
    ".npz": open_npz,
    ".npy": open_npy,
    ".h5": open_hdf5,
    ".hdf5": open_hdf5,
    ".h5ad": open_h5ad,
    ".safetensors": open_safetensors,
    ".pt": open_torch,
    ".pth": open_torch,
    ".mat": open_mat,
}
