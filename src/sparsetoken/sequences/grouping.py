"""Rows of a table grouped into sequences, in the order in which these first appear."""

import re
from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices

_ROW_NUMBERS = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # as pandas and R write them


def group_rows(bag: Any, name: str = "bag") -> tuple[Array, Indices]:
    """Return the names of sequences in the order of first appearance, and the code of each row."""
    bag = _column(bag)
    for row, value in enumerate(bag.tolist() if bag.dtype.kind in "Of" else ()):
        if value is None or value != value:
            raise ValueError(f"{name} must name the sequence of each row, row {row} has none")
    try:
        names, first, codes = np.unique(bag, return_index=True, return_inverse=True)
    except TypeError:
        raise ValueError(f"{name} must hold names of one type, got a mixture") from None
    order = np.argsort(first)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return names[order], rank[codes]


def one_per_group(values: Any, ids: Array, codes: Indices) -> Array:
    """Return the value that all rows of each sequence share, or raise ValueError."""
    values = _column(values)
    if values.shape != codes.shape:
        raise ValueError(f"values must have shape {codes.shape}, got {values.shape}")
    first, row = first_rows(codes), differing_row(values, codes)
    if row is not None:
        rows = (int(first[codes[row]]), row)
        both = " and ".join(f"{values.tolist()[i]!r} in row {i}" for i in rows)
        raise ValueError(f"sequence {ids.tolist()[codes[row]]!r} has two values: {both}")
    return values[first]


def differing_row(values: Array, codes: Indices) -> int | None:
    """Return the first row whose value is not that of its sequence before, None if there is none.

    Values that are NaN are alike.
    """
    first = first_rows(codes)
    missing = np.array(values != values, dtype=bool)
    differs = np.array(values[first][codes] != values, dtype=bool)
    differs &= ~(missing & missing[first][codes])
    return int(differs.argmax()) if differs.any() else None


def align_labels(sequences: Any, values: Any, name: str = "y") -> Any:
    """Return values of a pandas Series in the order of the sequences that its index names.

    Anything else comes back as it is: values without an index, or with one that has nothing to do
    with ``sequences.ids``, are in the order of the sequences already. Errors call them ``name``.
    """
    index: Any = getattr(values, "index", None)
    ids = getattr(sequences, "ids", None)
    if ids is None or not hasattr(index, "get_indexer") or len(index) != len(ids):
        return values
    if type(index).__name__ == "RangeIndex" and index.name is None:
        return values  # numbered rows
    if index.nlevels > 1 or not index.is_unique or len(np.unique(ids)) < len(ids):
        return values
    places = index.get_indexer(ids.tolist())
    if (places >= 0).all():
        return values.iloc[places]
    if (places >= 0).any() and index.dtype.kind not in "iuf":
        nameless = ids[places < 0].tolist()[0]
        lacks = f"{name} is indexed by names, but has none for sequence {nameless!r}"
        raise ValueError(f"{lacks}; if it is in the order of X, pass {name}.to_numpy()")
    return values


def constant_columns(tokens: Array, codes: Indices) -> Indices:
    """Return the columns that have one value in each sequence but differ between them.

    That is how a label looks. To tell it from chance, at least two of its values must be shared
    by two sequences of two tokens or more.
    """
    first, long = first_rows(codes), np.bincount(codes) > 1

    def like_a_label(values: Array) -> bool:
        shared = values[first]
        if not np.array_equal(shared[codes], values):
            return False
        return bool((np.unique(shared[long], return_counts=True)[1] > 1).sum() > 1)

    return np.flatnonzero([like_a_label(values) for values in tokens.T])


def is_row_number(name: Any) -> bool:
    """Return whether a column has the name of an index that was written beside the columns."""
    return isinstance(name, str) and _ROW_NUMBERS.fullmatch(name) is not None


def first_rows(codes: Indices) -> Indices:
    """Return the first row of each sequence: they are numbered as they appear."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))


def _column(values: Any) -> Array:
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"one value per token is needed, got an array of shape {array.shape}")
    return array
