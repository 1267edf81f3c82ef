"""Whatever holds sequences, as :class:`Sequences` that were checked."""

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken.sequences.interop import as_floats, is_frame, named_tokens, split_lists
from sparsetoken.sequences.sequences import Sequences

__all__ = ["OneTokenWarning", "as_sequences"]

Array = NDArray[Any]


class OneTokenWarning(UserWarning):
    """A table without a grouping was taken as sequences of one token, one a row."""


def as_sequences(X: Any, first: int = 0) -> Sequences:
    """Return ``X`` as :class:`Sequences` of finite, non-empty sequences, or raise ValueError.

    Parameters
    ----------
    X : Sequences, array of shape (n, L, d) or (n, d), or list of (L_i, d) arrays or frames
        Arrays and tensors of any library, Arrow columns of lists, awkward arrays. An array or a
        frame of shape (n, d) is one token per sequence, which a warning says. Arrays are not
        copied if their tokens are contiguous.
    first : int, default=0
        Number of the first sequence in error messages, where ``X`` is part of something larger.
    """
    sequences = _convert(X)
    if len(sequences) == 0:
        raise ValueError("X must hold at least one sequence, got none")
    lengths = sequences.lengths
    if lengths.min() == 0:
        raise ValueError(f"{_called(sequences, int(np.argmin(lengths)), first)} of X has no tokens")
    if sequences.dim == 0:
        raise ValueError("X must have tokens of at least one feature, got dimension 0")
    _check_finite(sequences, first)
    return sequences


def _convert(X: Any) -> Sequences:
    if isinstance(X, Sequences):
        return X
    if hasattr(X, "to_memory"):  # sequences in a folder
        stored: Sequences = X.to_memory()
        return stored
    if is_frame(X):
        tokens, names = named_tokens(X, "X")
        return _one_token_each(tokens, names)
    lists = split_lists(X)
    if lists is not None:
        return Sequences(lists[0], np.concatenate([[0], np.cumsum(lists[1])]))
    whole = any(hasattr(X, name) for name in ("__array__", "__dlpack__", "toarray"))
    if whole and getattr(X, "ndim", None) == 1 and str(X.dtype) == "object":
        X, whole = list(X), False  # arrays of different shapes
    if whole:
        return _from_array(as_floats(X, "X"))
    if isinstance(X, str) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise ValueError(
            "X must be an array of shape (n, L, d) or (n, d), a list of arrays of shape "
            f"(L_i, d), or Sequences, got {type(X).__name__}"
        )
    if len(X) and not is_frame(X[0]) and np.ndim(X[0]) < 2:
        return _from_array(as_floats(X, "X"))  # a list of vectors: one token each
    return Sequences.from_list(X)


def _from_array(array: Array) -> Sequences:
    if array.ndim == 2:
        return _one_token_each(array, None)
    if array.ndim != 3:
        raise ValueError(
            "X must be an array of shape (n, L, d) or (n, d), a list of arrays of shape "
            f"(L_i, d), or Sequences, got an array of shape {array.shape}. Reshape your data"
        )
    n, length, dim = array.shape
    tokens = np.ascontiguousarray(array.reshape(n * length, dim))
    return Sequences(tokens, np.arange(n + 1) * length)


def _one_token_each(tokens: Array, names: Array | None) -> Sequences:
    warnings.warn(
        f"each of the {len(tokens)} rows of X was taken as a sequence of its own, with one token. "
        "If rows are tokens, group them by Sequences.from_frame or Sequences.from_stacked; if one "
        "token each is meant, X[:, None] of an array says so",
        OneTokenWarning,
        stacklevel=_level_of_caller(),
    )
    return Sequences(np.ascontiguousarray(tokens), np.arange(len(tokens) + 1), names)


def _level_of_caller() -> int:
    """Return the ``stacklevel`` of a warning at the line that called us, or scikit-learn."""
    frame, level = sys._getframe(1), 1
    inner = ("sparsetoken.", "sklearn.", "joblib.")
    while frame.f_back and frame.f_globals["__name__"].startswith(inner):
        frame, level = frame.f_back, level + 1
    return level


def _called(sequences: Sequences, which: int, first: int) -> str:
    if sequences.ids is None:
        return f"sequence {first + which}"
    return f"sequence {sequences.ids[which : which + 1].tolist()[0]!r}"


def _check_finite(sequences: Sequences, first: int) -> None:
    """Name the first token that is not finite. A finite total proves that all of them are."""
    tokens = sequences.tokens
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(tokens.sum()):
            return
    for start in range(0, len(tokens), 4096):  # in blocks: no mask as large as the data
        block = np.isfinite(tokens[start : start + 4096])
        if not block.all():
            row, feature = np.argwhere(~block)[0]
            value = tokens[start + row, feature]
            which = int(np.searchsorted(sequences.offsets, start + row, side="right")) - 1
            token = start + int(row) - int(sequences.offsets[which])
            kind = "NaN" if np.isnan(value) else "infinity"
            names = sequences.feature_names
            called = feature if names is None else repr(names[feature])
            raise ValueError(
                f"X contains {kind} in {_called(sequences, which, first)}, token {token}, "
                f"feature {called}"
            )
