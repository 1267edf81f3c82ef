"""Sequences of any length in one array of tokens, without padding."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Sequences", "as_sequences"]

Array = NDArray[Any]


class Sequences:
    """Sequences of any length: all tokens stacked, and where each sequence starts.

    Indexing works as for an array over the sequences: an integer gives one sequence, an array of
    shape (length, dim); a slice, a mask or an array of integers gives ``Sequences`` again. An
    integer or a slice copies nothing. scikit-learn's splitters and searches can therefore cut it.

    Parameters
    ----------
    tokens : array-like of shape (total_tokens, dim)
        All tokens, one sequence after the other; float32 stays float32.
    offsets : array-like of int, shape (n_sequences + 1,)
        Sequence i is ``tokens[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> import numpy as np, sparsetoken as st
    >>> X = st.Sequences(np.arange(10.0).reshape(5, 2), offsets=[0, 2, 5])
    >>> len(X), X.dim, X.lengths
    (2, 2, array([2, 3]))
    >>> X[0]
    array([[0., 1.],
           [2., 3.]])
    >>> X[[1, 1, 0]]
    Sequences(n_sequences=3, total_tokens=8, dim=2)
    """

    def __init__(self, tokens: ArrayLike, offsets: ArrayLike) -> None:
        tokens = _as_floats(tokens, "tokens")
        offsets = np.asarray(offsets)
        if tokens.ndim != 2:
            raise ValueError(f"tokens must have shape (total_tokens, dim), got {tokens.shape}")
        if offsets.ndim != 1 or offsets.size < 1 or not np.issubdtype(offsets.dtype, np.integer):
            raise ValueError(f"offsets must be a one-dimensional array of int, got {offsets!r}")
        if offsets[0] != 0 or offsets[-1] != len(tokens):
            raise ValueError(
                f"offsets must run from 0 to the number of tokens, {len(tokens)}, "
                f"got {offsets[0]} to {offsets[-1]}"
            )
        if (np.diff(offsets) < 0).any():
            raise ValueError("offsets must not decrease")
        self.tokens = tokens
        self.offsets = offsets.astype(np.int64)

    @classmethod
    def from_list(cls, sequences: Sequence[ArrayLike]) -> "Sequences":
        """Stack arrays of shape (length, dim); the only copy ever made.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> st.Sequences.from_list([np.ones((2, 3)), np.zeros((4, 3))])
        Sequences(n_sequences=2, total_tokens=6, dim=3)
        """
        if len(sequences) == 0:
            raise ValueError("X must hold at least one sequence, got an empty list")
        parts = [
            _as_floats(part, f"sequence {i} of X", keep=True) for i, part in enumerate(sequences)
        ]
        dim = parts[0].shape[-1] if parts[0].ndim == 2 else None
        for i, part in enumerate(parts):
            if part.ndim != 2:
                raise ValueError(
                    f"sequence {i} of X must have shape (length, dim), got {part.shape}"
                )
            if part.shape[1] != dim:
                raise ValueError(
                    f"sequence {i} of X has tokens of dimension {part.shape[1]}, "
                    f"but sequence 0 of dimension {dim}"
                )
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        single = all(part.dtype == np.float32 for part in parts)
        dtype = np.float32 if single else np.float64
        return cls(np.concatenate(parts, dtype=dtype, casting="unsafe"), offsets)

    @property
    def dim(self) -> int:
        """Number of features per token."""
        return int(self.tokens.shape[1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int]:
        """``(n_sequences,)``: what scikit-learn asks of anything it indexes."""
        return (len(self),)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the tokens, float64 or float32."""
        return self.tokens.dtype

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn writes X[rows, ...]
        if isinstance(key, int | np.integer):
            row = range(len(self))[key]
            return self.tokens[self.offsets[row] : self.offsets[row + 1]]
        rows = np.arange(len(self))[key]
        if rows.ndim != 1:
            raise IndexError(f"Sequences take one index over the sequences, got {key!r}")
        starts, lengths = self.offsets[:-1][rows], self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        if isinstance(key, slice) and key.step in (None, 1):
            first = int(starts[0]) if rows.size else 0
            return Sequences(self.tokens[first : first + offsets[-1]], offsets)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Sequences(self.tokens[np.repeat(starts, lengths) + within], offsets)

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"Sequences(n_sequences={len(self)}, total_tokens={len(self.tokens)}, dim={self.dim})"
        )


def as_sequences(X: Any, first: int = 0) -> Sequences:
    """Return ``X`` as :class:`Sequences` of finite, non-empty sequences, or raise ValueError.

    Parameters
    ----------
    X : Sequences, array of shape (n, L, d) or (n, d), or list of (L_i, d) arrays
        An array of shape (n, d) is one token per sequence. Arrays are not copied if their tokens
        are contiguous.
    first : int, default=0
        Number of the first sequence in error messages, where ``X`` is part of something larger.
    """
    sequences = _convert(X)
    if len(sequences) == 0:
        raise ValueError("X must hold at least one sequence, got none")
    lengths = sequences.lengths
    if lengths.min() == 0:
        raise ValueError(f"sequence {first + int(np.argmin(lengths))} of X has no tokens")
    if sequences.dim == 0:
        raise ValueError("X must have tokens of at least one feature, got dimension 0")
    _check_finite(sequences, first)
    return sequences


def _convert(X: Any) -> Sequences:
    if isinstance(X, Sequences):
        return X
    if isinstance(X, np.ndarray) and not (X.dtype == object and X.ndim == 1):
        array = _as_floats(X, "X")
        if array.ndim == 2:
            array = array[:, np.newaxis]
        if array.ndim != 3:
            raise ValueError(
                "X must be an array of shape (n, L, d) or (n, d), a list of arrays of shape "
                f"(L_i, d), or Sequences, got an array of shape {array.shape}. Reshape your data"
            )
        n, length, dim = array.shape
        tokens = np.ascontiguousarray(array.reshape(n * length, dim))
        return Sequences(tokens, np.arange(n + 1) * length)
    if isinstance(X, str) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise ValueError(
            "X must be an array of shape (n, L, d) or (n, d), a list of arrays of shape "
            f"(L_i, d), or Sequences, got {type(X).__name__}"
        )
    if len(X) and np.ndim(X[0]) < 2:
        return _convert(_as_floats(X, "X"))  # a list of vectors: one token each
    return Sequences.from_list(X)


def _as_floats(value: Any, name: str, *, keep: bool = False) -> Array:
    """Return an array of float32 as it is and any other numbers as float64.

    ``keep`` leaves numbers of other types as they are, for a caller who converts them in one go.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # vectors of different lengths
        raise ValueError(f"{name} must be an array of numbers, got rows of unequal shape") from None
    if np.iscomplexobj(array):
        raise ValueError(f"Complex data not supported: {name} has type {array.dtype}")
    if array.dtype == np.float32 or array.dtype == np.float64:
        return array
    if array.dtype.kind in "USO":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers, got {array.dtype}: {error}") from None
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} must hold numbers, got type {array.dtype}")
    return array if keep else array.astype(np.float64)


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
            raise ValueError(
                f"X contains {kind} in sequence {first + which}, token {token}, feature {feature}"
            )
