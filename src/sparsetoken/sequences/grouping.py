"""Rows of a table grouped into sequences, in the order in which these first appear."""

from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices


def group_rows(bag: Any, name: str = "bag") -> tuple[Array, Indices]:
    """Return the sequences' names in the order of first appearance, and the number of each row's.

    ``bag`` has the name of each row's sequence; a missing one is an error, which calls it ``name``.
    """
    bag = _column(bag)
    missing = (
        np.array([value is None or value != value for value in bag.tolist()])
        if bag.dtype.kind in "Of"
        else np.zeros(len(bag), dtype=bool)
    )
    if missing.any():
        raise ValueError(
            f"{name} must name the sequence of each row, row {missing.argmax()} has none"
        )
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
    first = first_rows(codes)
    shared = values[first]
    missing = np.array(values != values, dtype=bool)
    differs = np.array(shared[codes] != values, dtype=bool) & ~(missing & missing[first][codes])
    if differs.any():
        row = int(differs.argmax())
        before = int(first[codes[row]])
        raise ValueError(
            f"sequence {ids.tolist()[codes[row]]!r} has two values: {values.tolist()[before]!r} in "
            f"row {before} and {values.tolist()[row]!r} in row {row}"
        )
    return shared


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
        unknown = ids.tolist()[int(np.argmin(places))]
        raise ValueError(
            f"{name} is indexed by names of sequences, but has none for sequence {unknown!r}; "
            f"if it is in the order of X, pass {name}.to_numpy()"
        )
    return values


def constant_columns(tokens: Array, codes: Indices) -> Indices:
    """Return the columns that have one value in each sequence but differ between them.

    That is how a label looks. To tell it from chance, at least two of its values must be shared
    by two sequences of two tokens or more.
    """
    first = first_rows(codes)
    long = np.bincount(codes) > 1
    constant = []
    for column in range(tokens.shape[1]):
        values = tokens[:, column]
        shared = values[first]
        if not np.array_equal(shared[codes], values):
            continue
        counts = np.unique(shared[long], return_counts=True)[1]
        if (counts > 1).sum() > 1:
            constant.append(column)
    return np.array(constant, dtype=np.int64)


def first_rows(codes: Indices) -> Indices:
    """Return the first row of each sequence: they are numbered as they appear."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))


def _column(values: Any) -> Array:
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"one value per token is needed, got an array of shape {array.shape}")
    return array
