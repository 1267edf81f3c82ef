"""One function for every kind of file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._validation import import_extra
from sparsetoken.files.arrays import OPENERS, read_archive, read_folder
from sparsetoken.files.dataset import (
    Dataset,
    Selection,
    ending,
    is_missing,
    make_dataset,
)
from sparsetoken.files.tables import read_csv, read_parquet
from sparsetoken.files.text import read_rows
from sparsetoken.sequences.folder import StoredSequences, is_stored
from sparsetoken.sequences.interop import find_name

__all__ = ["is_table", "read_dataset"]

_TABLES: dict[str, Callable[[Path, Selection], Dataset]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
}
_FILES = _TABLES | {suffix: read_archive for suffix in OPENERS if suffix != ".npy"}


def read_dataset(
    path: str | Path, selection: Selection | None = None, labels: str | Path | None = None
) -> Dataset:
    r"""Read sequences from a file or a folder, by its ending.

    Parameters
    ----------
    path : str or path
        A table with one token a row (``.csv``, ``.tsv``, also with ``.gz``; ``.parquet``), an
        archive of arrays (``.npz``, ``.h5``, ``.safetensors``), a folder with one such file, or
        one ``.npy``, a sequence, or a folder that ``Sequences.writer`` has written.
    selection : Selection, optional
        What each column or array is, where the usual names do not tell.
    labels : str or path, optional
        A table (``.csv``, ``.tsv``, ``.parquet``) with the label of each sequence, and its group.
        The first column names the sequence, unless ``selection.by`` is another. By default
        ``labels.csv`` (or ``.tsv``, ``.parquet``) in a folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sparsetoken.files import read_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "bags.csv")
    ...     _ = path.write_text("bag,label,x\nb,ill,1\na,well,2\nb,ill,3\n")
    ...     data = read_dataset(path)
    >>> data.sequences
    Sequences(n_sequences=2, total_tokens=3, dim=1, lengths=1…2, dtype=float32, features=[x],
    ids=[b, a])
    >>> data.labels.tolist(), data.rows.tolist()
    (['ill', 'well'], [0, 2, 1])
    """
    path, selection = Path(path), selection or Selection()
    if is_stored(path):
        dataset = _read_stored(path, selection)
    elif path.is_dir():
        dataset = read_folder(path, _ending(path), selection)
        found = [path / f"labels{suffix}" for suffix in _TABLES]
        labels = labels or next((table for table in found if table.exists()), None)
    else:
        read = _FILES.get(ending(path))
        if read is None:
            raise ValueError(
                f"data must be a folder or a file ending in {', '.join(_FILES)}, got {path.name!r}"
            )
        dataset = read(path, selection if labels is None else _without_label(selection))
    return dataset if labels is None else _with_table(dataset, Path(labels), selection)


def is_table(path: str | Path) -> bool:
    """Return whether a file has columns, not arrays."""
    return ending(Path(path)) in _TABLES


def _read_stored(folder: Path, selection: Selection) -> Dataset:
    """Read all of a folder that was written to be read in parts."""
    stored = StoredSequences(folder, np.inf)
    sequences = stored.to_memory()
    if sequences.ids is None:
        sequences.ids = np.arange(len(sequences))
    labels = None if stored.labels is None else stored.labels.tolist()
    rows = np.arange(len(sequences.tokens))
    return make_dataset(folder, sequences, labels, None, rows, selection)


def _ending(folder: Path) -> str:
    """Return the one ending of the files of a folder that hold arrays."""
    found = sorted({file.suffix for file in folder.iterdir()} & set(OPENERS))
    if len(found) != 1:
        listed = " and ".join(found) or "none"
        raise ValueError(
            f"{folder} must hold files of one kind, {', '.join(OPENERS)}; it holds {listed}"
        )
    return found[0]


def _without_label(selection: Selection) -> Selection:
    return replace(selection, label=None, group=None)


def _with_table(dataset: Dataset, table: Path, selection: Selection) -> Dataset:
    """Look the label and the group of each sequence up in a table."""
    rows = _read_rows(table)
    if not rows:
        raise ValueError(f"{table} has no rows")
    names = list(rows[0])
    by = selection.by if selection.by in names else names[0]
    label = selection.label if selection.label in names else "label"
    if "label" not in selection.remembered:
        label = selection.label or "label"
    label = find_name(str(label), names, str(table))
    group = None if selection.group is None else find_name(selection.group, names, str(table))
    own = {str(name): i for i, name in enumerate(dataset.ids)}
    found: dict[int, dict[str, Any]] = {}
    for number, row in enumerate(rows):
        name = str(row[by])
        place = own.get(name, own.get(Path(name).stem))
        if place is None:
            continue
        before = found.setdefault(place, row)
        if any(row[key] != before[key] for key in (label, group) if key is not None):
            raise ValueError(f"{table}, row {number}: another label or group for {name!r}")
    if not found:
        raise ValueError(
            f"{table} names none of the sequences: it has {str(rows[0][by])!r} in {by!r}, "
            f"{dataset.path} has {dataset.ids[0]!r}"
        )
    empty = dict.fromkeys(names)
    matched = [found.get(i, empty) for i in range(len(dataset))]
    if group is not None and any(is_missing(row[group]) for row in matched):
        lacking = next(i for i, row in enumerate(matched) if is_missing(row[group]))
        raise ValueError(f"{table}: sequence {dataset.ids[lacking]!r} has no {group!r}")
    return make_dataset(
        dataset.path,
        dataset.sequences,
        [row[label] for row in matched],
        None if group is None else [row[group] for row in matched],
        dataset.rows,
        replace(selection, by=by, label=label),
    )


def _read_rows(table: Path) -> list[dict[str, Any]]:
    if ending(table) not in _TABLES:
        raise ValueError(f"--labels must end in {', '.join(_TABLES)}, got {table.name!r}")
    if table.suffix != ".parquet":
        header, *rows = list(read_rows(table)) or [[]]
        return [dict(zip(header, cells, strict=True)) for cells in rows]
    parquet = import_extra("pyarrow.parquet", f"{table}: Parquet")
    return list(parquet.read_table(table).to_pylist())
