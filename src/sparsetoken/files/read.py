"""One function for every kind of file."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.files.array_files import ARRAYS, open_arrays
from sparsetoken.files.arrays import NamedArrays, read_archive, read_folder
from sparsetoken.files.dataset import Dataset, checked
from sparsetoken.files.frames import TABLES, is_table, open_table
from sparsetoken.files.guards import check_size, prefix_errors
from sparsetoken.files.labels import look_up_labels
from sparsetoken.files.roles import Roles
from sparsetoken.files.tables import read_table
from sparsetoken.sequences.folder import is_stored
from sparsetoken.sequences.sequences import Sequences


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
    like: Roles | Mapping[str, Any] | None = None,
    rows_alone: bool = False,
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
        A table with the label of each sequence, and its group; by default ``labels.csv`` (or
        ``.parquet``…) in a folder. Its column ``by`` names the sequences, or one with a usual name
        ("id", "bag", "slide_id", "file"…), or the only one that holds exactly their names.
    features : str or sequence of str, optional
        Columns of features, by name or by pattern (``px*``); by default all that are nothing else.
        Among arrays: the one with the tokens, by default "X", "features", "hidden_states"…
    layer : int, optional
        Which layer, if there is one array per layer, or one with several layers.
    group : str, optional
        What sequences belong together, for instance the patient; by default there is none.
    ignore : str or sequence of str
        Columns that are no features, by name or by pattern.
    max_numbers : int, optional
        Refuse files with more numbers than that before they are read.
    like : Roles or dict, optional
        ``Dataset.roles`` of another file, used where they fit, before usual names are.
    rows_alone : bool, default=False
        Take each row of a table as a sequence of one token if no column names sequences.

    Returns
    -------
    dataset : Dataset
        ``sequences``, ``labels``, ``labelled``, ``groups``, ``rows``, ``coords`` and ``roles``.

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
    columns, ignored = (
        (names,) if isinstance(names, str) else None if names is None else tuple(names)
        for names in (features, ignore)
    )
    known = like if isinstance(like, Roles) else Roles(**(like or {}))
    roles = Roles(by, label, group, columns, ignored or (), layer, like=known)
    if path.is_dir() and labels is None and not is_table(path):
        tables = [path / f"labels{suffix}" for suffix in TABLES]
        tables = [table for table in tables if table.exists()]
        if len(tables) > 1:
            listed = " and ".join(table.name for table in tables)
            raise ValueError(f"{path} holds {listed}; say which with 'labels'")
        labels = tables[0] if tables else None
    if labels is None:
        return _read(path, roles, max_numbers, rows_alone)
    inside = replace(roles, label=None, group=None)
    if path.is_dir() or not is_table(path):  # the name of a column may be that of the table
        inside = replace(inside, by=None, like=replace(roles.before, by=by or roles.before.by))
    dataset = _read(path, inside, max_numbers)
    table = open_table(labels, "labels")
    with prefix_errors(labels):
        return look_up_labels(dataset, table, roles)


def _read(path: Path, roles: Roles, max_numbers: int | None, rows_alone: bool = False) -> Dataset:
    """Read a file or a folder by what it is; whatever is wrong is said with its name."""
    if not (path.is_dir() or is_table(path) or path.suffix in ("", *ARRAYS)):
        wrong = f"{', '.join([*TABLES, *ARRAYS])}, got {path.name!r}"
        other = "save other arrays with numpy.savez"
        raise ValueError(f"data must be a folder or a file ending in {wrong}; {other}")
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file or folder", str(path))
    with prefix_errors(path):
        if is_stored(path):
            dataset = _read_stored(path, max_numbers)
        elif is_table(path):
            dataset = read_table(open_table(path), roles, max_numbers, rows_alone)
        elif path.is_dir():
            dataset = read_folder(NamedArrays(path, {}, roles, max_numbers))
        else:
            dataset = read_archive(NamedArrays(path, open_arrays(path), roles, max_numbers))
        return checked(dataset)


def _read_stored(folder: Path, max_numbers: int | None) -> Dataset:
    """Map a folder that ``Sequences.writer`` has written."""
    sequences = Sequences.open(folder)
    check_size(folder, 0, sequences.tokens.size, max_numbers)
    rows = np.arange(len(sequences.tokens))
    labels: Any = None if sequences.labels is None else sequences.labels.tolist()
    source = None if labels is None else "labels.npy"
    return Dataset(folder, sequences, labels, None, rows, None, Roles(), source)
