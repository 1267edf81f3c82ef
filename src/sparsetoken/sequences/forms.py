"""Whatever holds sequences, as stacked tokens with the places where sequences start."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.checks import OneTokenWarning, warn_caller, warn_of_empty
from sparsetoken.sequences.interop import (
    as_floats,
    column_names,
    is_frame,
    named_tokens,
    split_lists,
)

Stacked = tuple[Array, Indices, Array | None]  # tokens, offsets, names of the features

_FORMS = "X must be an array of shape (n, L, d) or (n, d), a list of (L_i, d) arrays, or Sequences"


def stack(X: Any) -> Stacked:
    """Stack arrays and tensors of any library, frames, lists, Arrow and awkward columns."""
    if is_frame(X):
        check_frame(X)
        return _one_token_each(*named_tokens(X, "X"))
    lists = split_lists(X)
    if lists is not None:
        return lists[0], offsets_of(lists[1]), None
    whole = any(hasattr(X, name) for name in ("__array__", "__dlpack__", "toarray"))
    if whole and getattr(X, "ndim", None) == 1 and str(X.dtype) == "object":
        X, whole = list(X), False  # arrays of different shapes
    if whole:
        return _stack_array(as_floats(X, "X"))
    if isinstance(X, str) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise ValueError(f"{_FORMS}, got {type(X).__name__}")
    if len(X) and not is_frame(X[0]) and np.ndim(X[0]) < 2:
        return _stack_array(as_floats(X, "X"))  # a list of vectors: one token each
    return stack_list(X)


def check_frame(frame: Any) -> None:
    """Refuse a table whose rows are the tokens of named sequences: say how to group them."""
    index: Any = getattr(frame, "index", None)
    by = getattr(index, "name", None)
    if by is not None and not index.is_unique:
        reason = f"its index {by!r} names several rows alike"
    else:
        texts = [name for name in column_names(frame) if _is_text(frame[name])]
        if not texts:
            return
        by, reason = texts[0], f"column {texts[0]!r} holds text"
    call = f"X, y = Sequences.from_frame(df, by={by!r}, label=...)"
    raise ValueError(f"X is a table, and {reason}: group its rows into sequences with {call}")


def _is_text(column: Any) -> bool:
    """Return whether a column begins with a text that is no number."""
    if not len(column):
        return False
    first = column.to_numpy()[0]
    try:
        return isinstance(first, str) and not np.isfinite(float(first))
    except ValueError:
        return True


def stack_list(sequences: Sequence[Any]) -> Stacked:
    """Stack arrays or frames of shape (length, dim)."""
    if len(sequences) == 0:
        raise ValueError("X must hold at least one sequence, got an empty list")
    named = [
        named_tokens(part, f"sequence {i} of X", keep=True) for i, part in enumerate(sequences)
    ]
    for i, (tokens, _) in enumerate(named):
        if tokens.ndim != 2:
            raise ValueError(f"sequence {i} of X must have shape (length, dim), got {tokens.shape}")
    lengths = [len(tokens) for tokens, _ in named]
    return join_tokens(named, "sequence"), offsets_of(lengths), named[0][1]


def stack_padded(array: Any, mask: Any) -> Stacked:
    """Return the tokens of an array of shape (n, L, d) where a mask, or its own, is true."""
    if mask is None and isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        if (hidden.any(axis=-1) != hidden.all(axis=-1)).any():
            raise ValueError("a token of array has some features masked and others not")
        mask = ~hidden.all(axis=-1)
    padded = as_floats(np.ma.getdata(array) if np.ma.is_masked(array) else array, "array")
    if padded.ndim != 3:
        raise ValueError(f"array must have shape (n, L, d), got {padded.shape}")
    if mask is None:
        raise ValueError("mask must say where array has tokens, got None")
    present = as_floats(mask, "mask", keep=True)
    if present.shape != padded.shape[:2] or not np.isin(present, (0, 1)).all():
        wrong = f"got shape {present.shape} and values {np.unique(present)[:4]}"
        raise ValueError(f"mask must hold True or False of shape {padded.shape[:2]}, {wrong}")
    present = present.astype(bool)
    lengths = present.sum(axis=1)
    warn_of_empty(lengths, "mask", "; a mask that is true at the padding must be inverted: ~mask")
    return padded[present], offsets_of(lengths), None


def offsets_of(lengths: Any) -> Indices:
    """Return where sequences of these lengths start, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def join_tokens(parts: Sequence[tuple[Array, Array | None]], what: str) -> Array:
    """Concatenate tokens, with the features of each part in the order of the first."""
    tokens, names = parts[0]
    aligned = []
    for i, (part, part_names) in enumerate(parts):
        where = f"{what} {i} of X"
        if (part_names is None) != (names is None):
            lacks = where if part_names is None else f"{what} 0 of X"
            raise ValueError(f"{lacks} has no names of features, but others have")
        if part_names is not None and names is not None and part_names.tolist() != names.tolist():
            for odd in sorted(set(part_names) ^ set(names)):
                has = "has" if odd in part_names else "lacks"
                raise ValueError(f"{where} {has} the feature {odd!r}, unlike {what} 0")
            place = {name: j for j, name in enumerate(part_names)}
            part = part[:, [place[name] for name in names]]
        dim, expected = part.shape[1], tokens.shape[1]
        if dim != expected:
            raise ValueError(f"{where} has tokens of dimension {dim}, {what} 0 of {expected}")
        aligned.append(part)
    single = all(part.dtype == np.float32 for part in aligned)
    return np.concatenate(aligned, dtype=np.float32 if single else np.float64, casting="unsafe")


def _stack_array(array: Array) -> Stacked:
    if array.ndim == 2:
        return _one_token_each(array, None)
    if array.ndim != 3:
        raise ValueError(f"{_FORMS}, got shape {array.shape}. Reshape your data")
    n, length, dim = array.shape
    tokens = np.ascontiguousarray(array.reshape(n * length, dim))
    return tokens, np.arange(n + 1) * length, None


def _one_token_each(tokens: Array, names: Array | None) -> Stacked:
    warn_caller(
        f"each of the {len(tokens)} rows of X was taken as a sequence of one token: group tokens "
        "by Sequences.from_frame or from_stacked, or pass X[:, None] if one token each is meant",
        OneTokenWarning,
    )
    return np.ascontiguousarray(tokens), np.arange(len(tokens) + 1), names
