"""Rows of a table grouped into sequences, in the order in which these first appear."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.sequences.forms import column_values, offsets_of

_ROW_NUMBERS = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # as pandas and R write them


class Grouping:
    """Rows of a table grouped into sequences, in the order in which these first appear.

    ``ids`` names the sequences, ``codes`` has the sequence of each row, ``offsets`` says where each
    sequence starts once the tokens are in ``order``. A row holds one token, or ``lengths`` says how
    many. Errors name a row by its place, or by ``rows``.
    """

    def __init__(self, bag: Any, name: str = "bag", lengths: Any = 1, rows: Any = None) -> None:
        bag = _column(bag)
        self._rows = range(len(bag)) if rows is None else rows
        for row, value in enumerate(bag.tolist() if bag.dtype.kind in "OfcMm" else ()):
            if value is None or value != value:
                where = f"row {self._rows[row]} has none"
                raise ValueError(f"{name} must name the sequence of each row, {where}")
        try:
            names, first, codes = np.unique(bag, return_index=True, return_inverse=True)
        except TypeError:
            raise ValueError(f"{name} must hold names of one type, got a mixture") from None
        appearance = np.argsort(first)
        self.ids, self._first = names[appearance], first[appearance]
        self.codes = np.argsort(appearance)[codes]
        of_token = np.repeat(self.codes, lengths)
        self.order = np.argsort(of_token, kind="stable")
        self.offsets = offsets_of(np.bincount(of_token, minlength=len(self.ids)))

    def sort(self, tokens: Array) -> Array:
        """Return the tokens of each sequence together; nothing is copied if they are."""
        together = (np.diff(self.order) > 0).all()
        return tokens if together else tokens[self.order]

    def shared(self, values: Any) -> Array:
        """Return the value that all rows of each sequence share; values that are NaN are alike."""
        values = _column(values)
        if values.shape != self.codes.shape:
            raise ValueError(f"values must have shape {self.codes.shape}, got {values.shape}")
        each = values[self._first]
        same = each[self.codes]
        differs = np.array((values != same) & ((values == values) | (same == same)), dtype=bool)
        if differs.any():
            row = int(differs.argmax())
            value, before = values[[row, self._first[self.codes[row]]]].tolist()
            where = f"before in sequence {self.ids.tolist()[self.codes[row]]!r}"
            raise ValueError(f"row {self._rows[row]} has {value!r}, but {before!r} {where}")
        return each

    def refuse_labels(self, tokens: Array, names: Sequence[str]) -> None:
        """Refuse columns that have one value in each sequence but differ between them.

        That is how a label looks. To tell it from chance, at least two of its values must be shared
        by two sequences of two tokens or more.
        """
        long = np.bincount(self.codes) > 1
        for name, values in zip(names, tokens.T, strict=True):
            each = values[self._first]
            if not np.array_equal(each[self.codes], values):
                continue
            if (np.unique(each[long], return_counts=True)[1] > 1).sum() > 1:
                raise ValueError(
                    f"column {name!r} has one value in each sequence, as a label has: leave it out "
                    "with 'ignore', or name the features with 'features' if it is one"
                )


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


def is_row_number(name: Any) -> bool:
    """Return whether a column has the name of an index that was written beside the columns."""
    return isinstance(name, str) and _ROW_NUMBERS.fullmatch(name) is not None


def _column(values: Any) -> Array:
    array = column_values(values)
    if array.ndim != 1:
        raise ValueError(f"one value per token is needed, got an array of shape {array.shape}")
    return array
