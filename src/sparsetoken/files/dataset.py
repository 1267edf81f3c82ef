"""What is read from a file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array, Bools, Indices
from sparsetoken.files.formats import shorten
from sparsetoken.sequences.checks import warn_caller
from sparsetoken.sequences.sequences import Sequences, as_sequences

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
        One label per sequence, which is None where it is missing; None if the file has none.
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
    groups: Array | None
    rows: Indices
    coords: Array | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def ids(self) -> list[Any]:
        """Names of the sequences."""
        return [] if self.sequences.ids is None else self.sequences.ids.tolist()

    @property
    def labelled(self) -> Bools:
        """Which sequences have a label."""
        labels = [None] * len(self) if self.labels is None else self.labels.tolist()
        return np.array([label is not None for label in labels])

    def with_labels(self) -> "Dataset":
        """Return the sequences that have a label, or raise ValueError if there are none."""
        if self.labelled.all():
            return self
        if self.labelled.any():
            return self._subset(self.labelled)
        name = self.reading.get("label")
        where = ":" if name is None else f" in {name!r};"
        column = "say which array or column is the label with label=, or "
        hint = "name a table of labels with labels="
        hint = hint if name is not None or self.path.is_dir() else column + hint
        raise ValueError(f"{self.path} has no labels{where} {hint}")

    def labelled_by(self, labels: Any, groups: Any = None) -> "Dataset":
        """Return the same sequences with labels, some of which may be missing, and groups."""
        for name, group in zip(self.ids, () if groups is None else groups, strict=False):
            if is_missing(group):
                raise ValueError(f"sequence {name!r} has no group")
        labels, groups = (None if v is None else _as_labels(v) for v in (labels, groups))
        return replace(self, labels=labels, groups=groups)

    def _subset(self, kept: Bools) -> "Dataset":
        of_token = np.repeat(kept, self.sequences.lengths)
        return replace(
            self,
            sequences=self.sequences[kept],
            labels=None if self.labels is None else _as_labels(self.labels[kept].tolist()),
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
    """Check sequences, and leave out those without tokens."""
    names = np.array(list(ids))
    sequences = Sequences(sequences.tokens, sequences.offsets, sequences.feature_names, names)
    dataset = Dataset(path, sequences, None, None, rows, coords, reading or {})
    dataset = dataset.labelled_by(labels, groups)
    empty = sequences.lengths == 0
    if empty.any() and not empty.all():
        count = f"{empty.sum()} of {len(empty)} sequences"
        left_out = shorten(names[empty].tolist())
        warn_caller(f"{path}: {count} have no tokens and are left out: {left_out}", UserWarning)
        dataset = dataset._subset(~empty)
    as_sequences(dataset.sequences)
    return dataset


def is_missing(value: Any) -> bool:
    """Return whether a cell says that there is no value."""
    return value is None or value != value or (isinstance(value, str) and value.strip() in _MISSING)


def _as_labels(values: Sequence[Any]) -> Array:
    """Return labels as integers if all are whole numbers, also as text, and as they are if not.

    Labels that differ stay different: ``01`` is no 1, and neither are ``1`` and ``1.0`` together.
    Those that are missing become None.
    """
    present = dict.fromkeys(value for value in values if not is_missing(value))
    labels: dict[Any, Any] = {value: _whole(value) for value in present}
    if None in labels.values() or len(set(labels.values())) < len(labels):
        one_type = len({type(value) for value in present}) == 1
        labels = {value: value if one_type else str(value) for value in present}
    listed = [None if is_missing(value) else labels[value] for value in values]
    return np.array(listed, dtype=object if None in listed else None)


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


class TokenRows:
    """Rows of tokens that are put into one growing buffer: hardly anything is held twice."""

    def __init__(self) -> None:
        self.dim, self.dtype, self._buffer = 0, np.dtype(np.float32), bytearray()

    def add(self, tokens: Array) -> None:
        """Append tokens; the type becomes that of the widest."""
        dtype = np.result_type(self.dtype, tokens.dtype)
        if dtype != self.dtype:
            self._buffer = bytearray(np.frombuffer(self._buffer, self.dtype).astype(dtype).data)
        self.dim, self.dtype = tokens.shape[1], dtype
        self._buffer += np.ascontiguousarray(tokens, dtype).data

    def array(self) -> Array:
        """Return all tokens; no more can be added."""
        return np.frombuffer(self._buffer, self.dtype).reshape(-1, self.dim)
