"""One function for every kind of file."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.files.arrays import read_archive
from sparsetoken.files.arrow import is_saved_to_disk, open_ipc, open_parquet, open_saved_to_disk
from sparsetoken.files.csv import open_csv
from sparsetoken.files.dataset import Dataset, make_dataset
from sparsetoken.files.folders import read_folder
from sparsetoken.files.formats import Arrays, Table, check_size, damage, naming
from sparsetoken.files.hdf5 import open_h5ad, open_hdf5
from sparsetoken.files.mat import open_mat
from sparsetoken.files.names import Wanted
from sparsetoken.files.npz import open_npy, open_npz
from sparsetoken.files.safetensors import open_safetensors
from sparsetoken.files.tables import read_table, with_table
from sparsetoken.files.torch import open_torch
from sparsetoken.sequences.folder import is_stored
from sparsetoken.sequences.sequences import Sequences

# A format is a function in a file of its own, and a line here.
TABLES: dict[str, Callable[[Path], Table]] = {
    ".csv": open_csv,
    ".tsv": open_csv,
    ".parquet": open_parquet,
    ".arrow": open_ipc,
    ".feather": open_ipc,
}
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


def read_dataset(
    path: str | Path,
    by: str | None = None,
    label: str | None = None,
    labels: str | Path | None = None,
    features: str | Iterable[str] | None = None,
    layer: int | None = None,
    *,
    group: str | None = None,
    ignore: str | Iterable[str] = (),
    max_numbers: int | None = None,
    like: Mapping[str, Any] | None = None,
) -> Dataset:
    r"""Read sequences from a file or a folder, by its ending, as the command line does.

    Parameters
    ----------
    path : str or path
        A table with one token per row (``.csv``, ``.tsv``, also with ``.gz``; ``.parquet``,
        ``.arrow``, ``.feather``), an archive of arrays (``.npz``, ``.npy``, ``.h5``, ``.h5ad``,
        ``.safetensors``, ``.pt``, ``.mat``), a folder with one such file per sequence, or one that
        Hugging Face datasets has saved or ``Sequences.writer`` has written.
    by : str, optional
        The column or array that names the sequence of each token; by default "bag" or "sequence".
    label : str, optional
        The column or array with the label; by default "label" or "labels", among arrays also "y".
    labels : str or path, optional
        A table with the label of each sequence, and its group. The column that names sequences is
        found by what it holds, unless ``by`` names it. By default ``labels.csv`` (or ``.tsv``,
        ``.parquet``…) in a folder.
    features : str or sequence of str, optional
        Columns of features, by name or by pattern (``px*``); by default all that are nothing else.
        Among arrays: the one that holds the tokens, by default "X", "features", "feats",
        "embeddings", "hidden_states" or "activations".
    layer : int, optional
        Which layer, if there is one array per layer, or one with several layers.
    group : str, optional
        What sequences belong together, for instance the patient; by default there is none.
    ignore : str or sequence of str
        Columns that are no features, by name or by pattern.
    max_numbers : int, optional
        Refuse files with more numbers than that before they are read.
    like : dict, optional
        ``Dataset.reading`` of another file: its columns are looked for before those of usual
        names, but need not be there.

    Returns
    -------
    dataset : Dataset
        ``sequences``, ``labels``, ``labelled``, ``groups``, ``rows`` and ``coords``.

    Examples
    --------
    >>> import pathlib, tempfile, sparsetoken as st
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "bags.csv")
    ...     _ = path.write_text("bag,label,x\nb,ill,1\na,well,2\nb,ill,3\n")
    ...     data = st.read_dataset(path)
    >>> data.sequences
    Sequences(n_sequences=2, total_tokens=3, dim=1, lengths=1…2, dtype=float32, features=[x],
    ids=[b, a])
    >>> data.labels.tolist(), data.rows.tolist()
    (['ill', 'well'], [0, 2, 1])
    """
    path = Path(path)
    columns = None if features is None else _listed(features)
    wanted = Wanted(by, label, group, columns, _listed(ignore), layer, max_numbers, like or {})
    if path.is_dir() and labels is None and not is_saved_to_disk(path):
        tables = [path / f"labels{suffix}" for suffix in TABLES]
        labels = next((table for table in tables if table.exists()), None)
    if labels is None:
        return _read(path, wanted)
    inside = replace(wanted, label=None, group=None)
    if not is_table(path):  # the name of a column may be that of the table
        inside = replace(inside, by=None, like={**wanted.like, **({"by": by} if by else {})})
    dataset = _read(path, inside)
    table = open_table(labels, "labels")
    with naming(labels):
        return with_table(dataset, table, wanted)


def is_table(path: str | Path) -> bool:
    """Return whether a file has columns, not arrays."""
    return _ending(Path(path)) in TABLES


def open_table(path: str | Path, what: str = "path") -> Table:
    """Open a file that has columns."""
    if not is_table(path):
        raise ValueError(f"{what} must end in {', '.join(TABLES)}, got {Path(path).name!r}")
    return TABLES[_ending(Path(path))](Path(path))


def _read(path: Path, wanted: Wanted) -> Dataset:
    """Read a file or a folder by what it is; whatever is wrong is said with its name."""
    if path.suffix and not path.is_dir() and not is_table(path) and path.suffix not in ARRAYS:
        endings = ", ".join([*TABLES, *ARRAYS])
        raise ValueError(
            f"data must be a folder or a file ending in {endings}, got {path.name!r}; save other "
            "arrays with numpy.savez"
        )
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file or folder", str(path))
    with naming(path):
        if is_stored(path):
            return _read_stored(path, wanted)
        if is_saved_to_disk(path):
            return read_table(path, open_saved_to_disk(path), wanted)
        if path.is_dir():
            return read_folder(path, wanted, ARRAYS, _open_arrays)
        if is_table(path):
            return read_table(path, open_table(path), wanted)
        return read_archive(path, _open_arrays(path), wanted)


def _open_arrays(path: Path) -> Arrays:
    path.open("rb").close()  # a file that is missing or forbidden is not a damaged one
    with damage(path):
        return ARRAYS[path.suffix](path)


def _read_stored(folder: Path, wanted: Wanted) -> Dataset:
    """Map a folder that ``Sequences.writer`` has written."""
    sequences = Sequences.open(folder)
    check_size(folder, sequences.tokens.size, 0, wanted.max_numbers)
    ids = range(len(sequences)) if sequences.ids is None else sequences.ids.tolist()
    labels = None if sequences.labels is None else sequences.labels.tolist()
    return make_dataset(folder, sequences, ids, np.arange(len(sequences.tokens)), labels)


def _listed(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _ending(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
