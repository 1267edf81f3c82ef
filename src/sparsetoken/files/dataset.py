"""What is read from a file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array, Bools, Indices
from sparsetoken.files.guards import shorten
from sparsetoken.files.roles import Roles
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
    labels, groups : ndarray or None
        One label, which is None where it is missing, and one group per sequence.
    rows : ndarray of int
        The row of the file, counted from 0, that each token was in.
    coords : ndarray or None
        The coordinates of each token, where the file has them.
    roles : Roles
        Which columns or arrays were used: ``read_dataset(other, like=roles)``.
    label_source : str or None
        Where the labels come from, in words.
    """

    path: Path
    sequences: Sequences
    labels: Array | None
    groups: Array | None
    rows: Indices
    coords: Array | None
    roles: Roles
    label_source: str | None

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

    @property
    def label_summary(self) -> str:
        """How many sequences have a label, and where it comes from."""
        source = "" if self.label_source is None else f", from {self.label_source}"
        rest = "" if self.labelled.all() else "; the others are left out of a fit"
        return f"{self.labelled.sum()} of {len(self)} sequences have a label{source}{rest}"

    def with_labels(self) -> "Dataset":
        """Return the sequences that have a label, or raise ValueError if there are none."""
        if self.labelled.any():
            return self._subset(self.labelled)
        name, hint = self.roles.label, "name a table of labels with 'labels'"
        if name is None and not self.path.is_dir():
            hint = f"say which array or column is the label with 'label', or {hint}"
        where = ":" if name is None else f" in {name!r};"
        raise ValueError(f"{self.path} has no labels{where} {hint}")

    def labelled_by(self, labels: Any, groups: Any, **about: Any) -> "Dataset":
        """Return the same sequences with labels, some of which may be missing, and groups."""
        labels, groups = (None if v is None else _as_labels(v) for v in (labels, groups))
        if groups is not None and None in (named := groups.tolist()):
            raise ValueError(f"sequence {self.ids[named.index(None)]!r} has no group")
        return replace(self, labels=labels, groups=groups, **about)

    def _subset(self, kept: Bools) -> "Dataset":
        if kept.all():
            return self
        of_token = np.repeat(kept, self.sequences.lengths)
        return replace(
            self,
            sequences=self.sequences[kept],
            labels=None if self.labels is None else _as_labels(self.labels[kept].tolist()),
            groups=None if self.groups is None else self.groups[kept],
            rows=self.rows[of_token],
            coords=None if self.coords is None else self.coords[of_token],
        )


def checked(dataset: Dataset) -> Dataset:
    """Check sequences and labels, number those without names, leave out those without tokens."""
    X = dataset.sequences
    if X.ids is None:
        X = Sequences(X.tokens, X.offsets, X.feature_names, np.arange(len(X)))
    dataset = dataset.labelled_by(dataset.labels, dataset.groups, sequences=X)
    empty = X.lengths == 0
    if empty.any() and not empty.all():
        count = f"{empty.sum()} of {len(X)} sequences have no tokens and are left out"
        left_out = shorten(np.array(dataset.ids)[empty].tolist())
        warn_caller(f"{dataset.path}: {count}: {left_out}", UserWarning)
        dataset = dataset._subset(~empty)
    as_sequences(dataset.sequences)
    return dataset


def without_missing(values: Iterable[Any]) -> list[Any]:
    """Return values, with None for those which say that there is none."""
    return [
        None if v is None or v != v or (isinstance(v, str) and v.strip() in _MISSING) else v
        for v in values
    ]


def _as_labels(values: Iterable[Any]) -> Array:
    """Return labels as integers if all are whole numbers, also as text, and None where missing.

    Labels that differ stay different: ``01`` is no 1, and neither are ``1`` and ``1.0`` together.
    """
    listed = without_missing(values)
    labels: dict[Any, Any] = {value: _whole(value) for value in listed if value is not None}
    if None in labels.values() or len(set(labels.values())) < len(labels):
        one_type = len(set(map(type, labels))) == 1
        labels = {value: value if one_type else str(value) for value in labels}
    return np.array(list(map(labels.get, listed)), dtype=object if None in listed else None)


def _whole(value: Any) -> int | None:
    """Return a value as the whole number that it is, or None."""
    digits = _WHOLE.fullmatch(str(value))
    return None if digits is None else int(digits[1])
