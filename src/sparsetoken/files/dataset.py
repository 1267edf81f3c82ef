"""What is read from a file."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.sequences import Sequences, as_sequences

Array = NDArray[Any]

_MISSING = {"", "NA", "N/A", "NaN", "nan", "NULL", "null"}
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,17}))(?:\.0*)?")  # within the range of int64


@dataclass(frozen=True)
class Dataset:
    """Sequences of a file, with the labels and groups that it has.

    Attributes
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
    coords : ndarray or None
        The coordinates of each token, where the file has them.
    reading : dict
        Which columns or arrays were used. ``read_dataset(other, like=reading)`` reads a file of
        the same kind.
    """

    path: Path
    sequences: Sequences
    labels: Array | None
    labelled: NDArray[np.bool_]
    groups: Array | None
    rows: NDArray[np.int64]
    coords: Array | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def ids(self) -> list[Any]:
        """Names of the sequences."""
        return [] if self.sequences.ids is None else self.sequences.ids.tolist()

    def with_labels(self) -> "Dataset":
        """Return the sequences that have a label, or raise ValueError if there are none."""
        if self.labels is None or not self.labelled.any():
            name = self.reading.get("label")
            table = "name a table of labels with labels="
            if name is not None:
                raise ValueError(f"{self.path} has no labels in {name!r}; {table}")
            remedy = f"say which array or column is the label with label=, or {table}"
            raise ValueError(
                f"{self.path} has no labels: {table if self.path.is_dir() else remedy}"
            )
        return self if self.labelled.all() else self._subset(self.labelled)

    def _subset(self, kept: NDArray[np.bool_]) -> "Dataset":
        of_token = np.repeat(kept, self.sequences.lengths)
        labels = None if self.labels is None else self.labels[kept]
        if labels is not None and self.labelled[kept].all():
            labels = _as_labels(labels.tolist())
        return replace(
            self,
            sequences=self.sequences[kept],
            labels=labels,
            labelled=self.labelled[kept],
            groups=None if self.groups is None else self.groups[kept],
            rows=self.rows[of_token],
            coords=None if self.coords is None else self.coords[of_token],
        )


def make_dataset(
    path: Path,
    sequences: Sequences,
    ids: Iterable[Any],
    rows: Array,
    labels: Any = None,
    groups: Any = None,
    coords: Array | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Dataset:
    """Check sequences, and leave out those without tokens.

    Labels that are missing are told from others, and labels that are numbers from text.
    """
    ids = np.array(list(ids))
    labelled = np.zeros(len(sequences), dtype=bool)
    if labels is not None:
        labelled = np.array([not is_missing(label) for label in labels])
        labels = _labels(labels, labelled)
    if groups is not None:
        lacking = [i for i, group in enumerate(groups) if is_missing(group)]
        if lacking:
            raise ValueError(f"{path}: sequence {ids.tolist()[lacking[0]]!r} has no group")
        groups = _as_labels(groups)
    try:
        sequences = Sequences(sequences.tokens, sequences.offsets, sequences.feature_names, ids)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    dataset = Dataset(
        path,
        sequences,
        labels,
        labelled,
        groups,
        rows,
        coords,
        dict(reading or {}),
    )
    empty = sequences.lengths == 0
    if empty.any() and not empty.all():
        warnings.warn(
            f"{path}: {empty.sum()} of {len(empty)} sequences have no tokens and are left out: "
            f"{shorten(ids[empty].tolist())}",
            stacklevel=4,
        )
        dataset = dataset._subset(~empty)
    try:
        as_sequences(dataset.sequences)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return dataset


def is_missing(value: Any) -> bool:
    """Return whether a cell says that there is no value."""
    return value is None or value != value or (isinstance(value, str) and value.strip() in _MISSING)


def shorten(names: Sequence[Any], most: int = 6) -> str:
    """Return names for a message, not all of them."""
    return ", ".join(str(name) for name in names[:most]) + (", …" if len(names) > most else "")


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


def _as_labels(values: Sequence[Any]) -> Array:
    """Return labels as integers if all are whole numbers, also as text, and as they are if not.

    Labels that differ stay different: ``01`` is no 1, and neither are ``1`` and ``1.0`` together.
    """
    distinct = dict.fromkeys(values)
    numbers = {value: _whole(value) for value in distinct}
    if None not in numbers.values() and len(set(numbers.values())) == len(distinct):
        return np.array([numbers[value] for value in values])
    kinds = {type(value) for value in distinct}
    return np.array(values if len(kinds) == 1 else [str(value) for value in values])


def _whole(value: Any) -> int | None:
    """Return a value as the whole number that it is, or None."""
    if isinstance(value, str):
        digits = _WHOLE.fullmatch(value)
        return None if digits is None else int(digits[1])
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    exact = isinstance(value, float | np.floating) and float(value).is_integer()
    return int(value) if exact and abs(value) < 2**53 else None


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


def stack_sequences(path: Path, named: Iterable[tuple[str, Array]]) -> tuple[list[str], Sequences]:
    """Put arrays of shape (L_i, d) together, one after the other, and return their names too."""
    tokens = Rows()
    names: list[str] = []
    lengths: list[int] = []
    for name, sequence in named:
        if tokens.array is not None and sequence.shape[1] != tokens.array.shape[1]:
            raise ValueError(
                f"{path}: sequence {name!r} has {sequence.shape[1]} features per token, "
                f"{names[0]!r} has {tokens.array.shape[1]}"
            )
        tokens.add(sequence)
        names.append(name)
        lengths.append(len(sequence))
    return names, Sequences(tokens.whole(), offsets_of(lengths))
