"""Sequences that cannot be learned from are refused; what looks like a mistake gives a warning."""

import sys
import warnings
from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices

_PADDING = 0.1  # fraction of tokens that are exactly zero, from which on it is padding


class OneTokenWarning(UserWarning):
    """A table without a grouping was taken as sequences of one token, one per row."""


class PaddingWarning(UserWarning):
    """Sequences begin or end with tokens that are exactly zero, as padding is."""


class EmptySequenceWarning(UserWarning):
    """Sequences are left without tokens."""


def check_sequences(X: Any, first: int = 0, *, finite: bool = True) -> None:
    """Refuse what cannot be learned from, and warn of what looks like padding."""
    if len(X) == 0:
        raise ValueError("X must hold at least one sequence, got none")
    lengths = np.diff(X.offsets)
    if lengths.min() == 0:
        raise ValueError(f"{_called(X, int(np.argmin(lengths)), first)} of X has no tokens")
    if X.tokens.shape[1] == 0:
        raise ValueError("X must have tokens of at least one feature, got dimension 0")
    if finite:
        _check_finite(X, first)
    _warn_of_padding(X.tokens, X.offsets)


def warn_of_empty(lengths: Array, argument: str, hint: str = "") -> None:
    """Warn of sequences that an argument leaves without tokens."""
    if empty := int((lengths == 0).sum()):
        left = f"{argument} leaves {empty} of {len(lengths)} sequences without tokens{hint}"
        warn_caller(left, EmptySequenceWarning)


def warn_caller(text: str, kind: type[Warning]) -> None:
    """Warn at the line that called us, or scikit-learn."""
    frame, level = sys._getframe(1), 2
    inner = ("sparsetoken.", "sklearn.", "joblib.")
    while frame.f_back and frame.f_globals["__name__"].startswith(inner):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)


def _called(X: Any, which: int, first: int) -> str:
    if X.ids is None:
        return f"sequence {first + which}"
    return f"sequence {X.ids[which : which + 1].tolist()[0]!r}"


def _check_finite(X: Any, first: int) -> None:
    """Name the first token that is not finite. A finite total proves that all of them are."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.tokens.sum()):
            return
    for start in range(0, len(X.tokens), 4096):  # in blocks: no mask as large as the data
        block = np.isfinite(X.tokens[start : start + 4096])
        if not block.all():
            row, feature = np.argwhere(~block)[0]
            value = X.tokens[start + row, feature]
            which = int(np.searchsorted(X.offsets, start + row, side="right")) - 1
            token = start + int(row) - int(X.offsets[which])
            kind = "NaN" if np.isnan(value) else "infinity"
            name = feature if X.feature_names is None else repr(str(X.feature_names[feature]))
            where = f"{_called(X, which, first)}, token {token}, feature {name}"
            fill = "estimators.PerToken(SimpleImputer()) before the classifier fills missing values"
            raise ValueError(f"X contains {kind} in {where}{f'; {fill}' if kind == 'NaN' else ''}")


def _warn_of_padding(tokens: Array, offsets: Indices) -> None:
    """Warn if many tokens are exactly zero; only the ends are looked at, until one is found."""
    long = np.flatnonzero(np.diff(offsets) > 1)
    ends = np.concatenate([offsets[long], offsets[long + 1] - 1])
    if tokens.shape[1] < 2 or tokens[ends].any(axis=1).all():
        return
    zero = int((~tokens.any(axis=1)).sum())
    if zero >= _PADDING * len(tokens):
        counted = f"{zero} of {len(tokens)} tokens are exactly zero ({zero / len(tokens):.0%})"
        remedy = "is that padding? Leave it out with Sequences.from_padded(X, mask)"
        warn_caller(f"{counted}: {remedy}", PaddingWarning)
