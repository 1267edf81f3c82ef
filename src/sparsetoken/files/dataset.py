"""What is read from a file, and what of the file is what."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken.sequences.interop import find_name
from sparsetoken.sequences.sequences import Sequences

__all__ = [
    "Dataset",
    "Rows",
    "Selection",
    "ending",
    "find_names",
    "is_missing",
    "make_dataset",
]

Array = NDArray[Any]

_MISSING = {"", "NA", "N/A", "NaN", "nan", "NULL", "null"}


@dataclass(frozen=True)
class Selection:
    """Which columns of a table, or arrays of an archive, are what.

    Parameters
    ----------
    by : str, optional
        The sequence of each token; by default "bag" or "sequence".
    label : str, optional
        The label; by default "label", or "y" among arrays.
    group : str, optional
        What sequences belong together, for instance the patient; by default there is none.
    features : tuple of str, optional
        Columns of features, by name or by pattern (``px*``); by default all that are nothing else.
        Among arrays: the one that holds the tokens, by default "X".
    ignore : tuple of str
        Columns that are no features, by name or by pattern.
    remembered : frozenset of str
        Which of these a model remembers from its training: they need not be in another file.
    """

    by: str | None = None
    label: str | None = None
    group: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    remembered: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Dataset:
    """Sequences of a file, with the labels and groups that it has.

    Parameters
    ----------
    path : Path
        The file.
    sequences : Sequences
        The sequences; ``sequences.ids`` are their names in the file.
    labels : ndarray or None
        One label a sequence; None if the file has none. Where ``labelled`` is False it is void.
    labelled : ndarray of bool
        Which sequences have a label.
    groups : ndarray or None
        The group of each sequence.
    rows : ndarray of int
        The row of the file, counted from 0, that each token was in.
    selection : Selection
        Which columns or arrays were used.
    """

    path: Path
    sequences: Sequences
    labels: Array | None
    labelled: NDArray[np.bool_]
    groups: Array | None
    rows: NDArray[np.int64]
    selection: Selection

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def ids(self) -> list[Any]:
        """Names of the sequences."""
        return [] if self.sequences.ids is None else self.sequences.ids.tolist()

    def with_labels(self) -> "Dataset":
        """Return the sequences that have a label, or raise ValueError if there are none."""
        if self.labels is None or not self.labelled.any():
            name = self.selection.label
            raise ValueError(
                f"{self.path} has no labels: an array 'y', a column 'label', or what --label names"
                if name is None
                else f"{self.path} has no labels in {name!r}"
            )
        if self.labelled.all():
            return self
        kept = np.flatnonzero(self.labelled)
        of_token = np.repeat(self.labelled, self.sequences.lengths)
        return replace(
            self,
            sequences=self.sequences[kept],
            labels=_as_labels(self.labels[kept].tolist()),
            labelled=self.labelled[kept],
            groups=None if self.groups is None else self.groups[kept],
            rows=self.rows[of_token],
        )


def ending(path: Path) -> str:
    """Return how the name of a file ends, without ``.gz``."""
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def find_names(patterns: Iterable[str], known: Sequence[str], where: str) -> list[str]:
    """Return the names that patterns stand for, each once; every pattern must stand for some."""
    found: dict[str, None] = {}
    exact = set(known)
    for pattern in patterns:
        matched = [pattern] if pattern in exact else [n for n in known if fnmatchcase(n, pattern)]
        found.update(dict.fromkeys(matched or [find_name(pattern, known, where)]))
    return list(found)


def is_missing(value: Any) -> bool:
    """Return whether a cell says that there is no value."""
    return value is None or value != value or (isinstance(value, str) and value.strip() in _MISSING)


def _as_labels(values: Sequence[Any]) -> Array:
    """Return labels as integers if all are whole numbers, also as text, and as they are if not."""
    try:
        numbers = [float(value) for value in values]
        if all(number.is_integer() for number in numbers) and not isinstance(values[0], bool):
            return np.array([int(number) for number in numbers])
    except (TypeError, ValueError):
        pass
    kinds = {type(value) for value in values}
    return np.array(values if len(kinds) == 1 else [str(value) for value in values])


class Rows:
    """Rows that are put into one growing array: hardly anything is held twice."""

    def __init__(self) -> None:
        self.array: Array | None = None
        self.count = 0

    def add(self, block: Array) -> None:
        """Append a block; the type becomes that of the widest."""
        if self.array is None:
            self.array = np.empty((len(block), *block.shape[1:]), block.dtype)
        dtype = np.result_type(self.array, block)
        if dtype != self.array.dtype:
            self.array = self.array.astype(dtype)
        needed = self.count + len(block)
        if needed > len(self.array):
            room = max(needed, len(self.array) * 5 // 4)
            self.array.resize((room, *block.shape[1:]), refcheck=False)
        self.array[self.count : needed] = block
        self.count = needed

    def whole(self) -> Array:
        """Return the array; no more can be added."""
        if self.array is None:
            raise ValueError("there are no rows")
        self.array.resize((self.count, *self.array.shape[1:]), refcheck=False)
        return self.array


def make_dataset(
    path: Path,
    sequences: Sequences,
    labels: Sequence[Any] | None,
    groups: Sequence[Any] | None,
    rows: Array,
    selection: Selection,
) -> Dataset:
    """Tell labels that are missing from others, and labels that are numbers from text."""
    labelled = np.zeros(len(sequences), dtype=bool)
    if labels is not None:
        labelled = np.array([not is_missing(label) for label in labels])
    return Dataset(
        path,
        sequences,
        None if labels is None else _labels(labels, labelled),
        labelled,
        None if groups is None else _as_labels(groups),
        rows,
        selection,
    )


def _labels(labels: Sequence[Any], labelled: NDArray[np.bool_]) -> Array:
    """Return labels of one type; those that are missing stay None."""
    if not labelled.any():
        return np.full(len(labels), None, dtype=object)
    known = _as_labels([label for label, there in zip(labels, labelled, strict=True) if there])
    if labelled.all():
        return known
    mixed = np.full(len(labels), None, dtype=object)
    mixed[labelled] = known.tolist()
    return mixed
