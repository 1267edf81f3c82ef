"""Sequences of any length in one array of tokens, without padding."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsetoken.sequences.grouping import constant_columns, group_rows, one_per_group
from sparsetoken.sequences.interop import (
    as_floats,
    as_names,
    column_names,
    find_name,
    frame_column,
    frame_tokens,
    is_frame,
    named_tokens,
)

if TYPE_CHECKING:
    from sparsetoken.sequences.folder import SequenceWriter, StoredSequences

__all__ = ["Sequences", "describe"]

Array = NDArray[Any]


class Sequences:
    """Sequences of any length: all tokens stacked, and where each sequence starts.

    Indexing works as for an array over the sequences: an integer gives one sequence, an array of
    shape (length, dim); a slice, a mask or an array of integers gives ``Sequences`` again. An
    integer or a slice copies nothing. scikit-learn's splitters and searches can therefore cut it.

    Make one from what you have: :meth:`from_frame` (a table with a column that names the
    sequence), :meth:`from_stacked`, :meth:`from_padded`, :meth:`from_offsets`, :meth:`from_list`.
    What is larger than memory: :meth:`writer` puts it into a folder, :meth:`open` reads it there.

    Parameters
    ----------
    tokens : array-like or frame of shape (total_tokens, dim)
        All tokens, one sequence after the other; float32 stays float32.
    offsets : array-like of int, shape (n_sequences + 1,)
        Sequence i is ``tokens[offsets[i]:offsets[i + 1]]``.
    feature_names : sequence of str, optional
        Names of the features; those of a frame by default.
    ids : array-like of shape (n_sequences,), optional
        Names of the sequences.

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
    Sequences(n_sequences=3, total_tokens=8, dim=2, lengths=2…3, dtype=float64)
    """

    def __init__(
        self,
        tokens: Any,
        offsets: ArrayLike,
        feature_names: Iterable[str] | None = None,
        ids: ArrayLike | None = None,
    ) -> None:
        tokens, names = named_tokens(tokens, "tokens")
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
        self.feature_names = names if feature_names is None else as_names(feature_names)
        self.ids = None if ids is None else np.asarray(ids)
        if self.feature_names is not None and len(self.feature_names) != self.dim:
            raise ValueError(
                f"feature_names must have one name per feature, {self.dim}, "
                f"got {len(self.feature_names)}"
            )
        if self.ids is not None and self.ids.shape != self.shape:
            raise ValueError(f"ids must have shape {self.shape}, got {self.ids.shape}")

    @classmethod
    def from_list(cls, sequences: Sequence[Any]) -> "Sequences":
        """Stack arrays or frames of shape (length, dim); the only copy ever made.

        The columns of frames are matched by name, in the order of the first.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> st.Sequences.from_list([np.ones((2, 3)), np.zeros((4, 3))])
        Sequences(n_sequences=2, total_tokens=6, dim=3, lengths=2…4, dtype=float64)
        """
        if len(sequences) == 0:
            raise ValueError("X must hold at least one sequence, got an empty list")
        named = [
            named_tokens(part, f"sequence {i} of X", keep=True) for i, part in enumerate(sequences)
        ]
        for i, (part, _) in enumerate(named):
            if part.ndim != 2:
                raise ValueError(
                    f"sequence {i} of X must have shape (length, dim), got {part.shape}"
                )
        offsets = np.concatenate([[0], np.cumsum([len(part) for part, _ in named])])
        return cls(_join(named, "sequence"), offsets, named[0][1])

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        by: str,
        features: str | Sequence[str] | None = None,
        ignore: str | Sequence[str] = (),
    ) -> "Sequences":
        """Group the rows of a pandas, polars or Arrow table: one token a row.

        Sequences come in the order in which they first appear, and tokens in the order of their
        rows; the rows of a sequence need not be together.

        Parameters
        ----------
        frame : DataFrame
            The table.
        by : str
            The column that names the sequence of each row; its values become ``ids``.
        features : str or sequence of str, optional
            The columns that are features; by default all but ``by`` and ``ignore``. A column with
            one value in each sequence, as a label has, is then refused: it would give the answer
            away. If it is a feature, name the features.
        ignore : str or sequence of str
            Columns that are no features: the label, for one.

        Examples
        --------
        >>> import pandas as pd, sparsetoken as st
        >>> df = pd.DataFrame({"bag": ["b", "a", "b"], "x": [1.0, 2.0, 3.0], "ill": [1, 0, 1]})
        >>> X = st.Sequences.from_frame(df, by="bag", ignore="ill")
        >>> X.ids, X[0]
        (array(['b', 'a'], dtype=object), array([[1.],
               [3.]]))
        >>> st.Sequences.per_sequence(df["ill"], df["bag"])
        array([1, 0])
        """
        if not is_frame(frame):
            raise ValueError(f"frame must be a table with columns, got {type(frame).__name__}")
        known = column_names(frame)
        features = [features] if isinstance(features, str) else features
        left_out = [by, *([ignore] if isinstance(ignore, str) else ignore)]
        for name in [*left_out, *(features or ())]:
            find_name(name, known, "the frame")
        chosen = [n for n in known if n not in left_out] if features is None else list(features)
        tokens = frame_tokens(frame, chosen)
        ids, codes = group_rows(frame_column(frame, by), by)
        if features is None:
            told = constant_columns(tokens, codes)
            if told.size:
                raise ValueError(
                    f"column {chosen[told[0]]!r} has one value in each sequence, as a label has: "
                    "leave it out by 'ignore', or name the features in 'features' if it is one"
                )
        return _grouped(tokens, ids, codes, as_names(chosen))

    @classmethod
    def from_stacked(cls, tokens: Any, bag: Any) -> "Sequences":
        """Group stacked tokens by the name or number of each token's sequence.

        Sequences come in the order in which they first appear; nothing is copied if the tokens of
        each are together.

        Parameters
        ----------
        tokens : array-like or frame of shape (total_tokens, dim)
            The tokens.
        bag : array-like of shape (total_tokens,)
            The sequence of each token.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> X = st.Sequences.from_stacked(np.arange(6.0).reshape(3, 2), bag=["b", "a", "b"])
        >>> X.ids.tolist(), X.lengths.tolist()
        (['b', 'a'], [2, 1])
        """
        array, names = named_tokens(tokens, "tokens")
        ids, codes = group_rows(bag, "bag")
        if array.ndim != 2 or len(array) != len(codes):
            raise ValueError(
                f"tokens must have shape ({len(codes)}, dim), one row per entry of bag, "
                f"got {array.shape}"
            )
        return _grouped(array, ids, codes, names)

    @classmethod
    def from_padded(cls, array: Any, mask: Any = None) -> "Sequences":
        """Leave out the padding of an array of shape (n, L, d).

        Parameters
        ----------
        array : array-like of shape (n, L, d)
            Padded sequences, from NumPy, torch, jax…
        mask : array-like of bool or 0/1, shape (n, L), optional
            Where there is a token, as in the attention masks of language models (masks of torch's
            ``key_padding_mask`` say the opposite: pass ``~mask``). A masked array has its own.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> st.Sequences.from_padded(np.ones((2, 3, 4)), [[1, 1, 0], [1, 1, 1]])
        Sequences(n_sequences=2, total_tokens=5, dim=4, lengths=2…3, dtype=float64)
        """
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
        there = as_floats(mask, "mask", keep=True)
        if there.shape != padded.shape[:2] or not np.isin(there, (0, 1)).all():
            raise ValueError(
                f"mask must hold True or False, 1 or 0, of shape {padded.shape[:2]}, "
                f"got shape {there.shape} and values {np.unique(there)[:4]}"
            )
        there = there.astype(bool)
        return cls(padded[there], np.concatenate([[0], np.cumsum(there.sum(axis=1))]))

    @classmethod
    def from_offsets(cls, tokens: Any, offsets: ArrayLike) -> "Sequences":
        """Take stacked tokens and where each sequence starts, without a copy.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> st.Sequences.from_offsets(np.ones((5, 2)), [0, 2, 5]).lengths
        array([2, 3])
        """
        return cls(tokens, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence["Sequences"]) -> "Sequences":
        """Put several ``Sequences`` together; features with names are matched by them.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> X = st.Sequences.from_list([np.ones((2, 3)), np.zeros((4, 3))])
        >>> st.Sequences.concatenate([X, X[:1]]).lengths
        array([2, 4, 2])
        """
        named = [(part.tokens, part.feature_names) for part in parts]
        if not named:
            raise ValueError("parts must hold at least one Sequences, got none")
        lengths = np.concatenate([part.lengths for part in parts])
        ids = [part.ids for part in parts if part.ids is not None]
        return cls(
            _join(named, "part"),
            np.concatenate([[0], np.cumsum(lengths)]),
            named[0][1],
            np.concatenate(ids) if len(ids) == len(parts) else None,
        )

    @staticmethod
    def writer(folder: Any) -> "SequenceWriter":
        """Return a writer that takes sequences some at a time, and puts them into a folder.

        See :class:`SequenceWriter <sparsetoken.estimators.SequenceWriter>` for an example.
        """
        from sparsetoken.sequences.folder import SequenceWriter

        return SequenceWriter(folder)

    @staticmethod
    def open(
        folder: Any, memory_limit: float | str = "1 GB", client: Any = None
    ) -> "StoredSequences":
        """Open sequences that :meth:`writer` or :meth:`save` put into a folder; read nothing yet.

        Classifiers fit and predict them in passes that read a part at a time.

        Parameters
        ----------
        folder : str or path
            The folder.
        memory_limit : float or str, default="1 GB"
            Bytes for tokens in memory, a number or text such as "500 MB". Sequences that fit into
            a quarter are read at once. Larger ones are read in passes of a few megabytes; ``fit``
            also holds a random part that fits into a quarter, and a scaled copy of it. A few
            numbers a sequence are not counted.
        client : distributed.Client, optional
            A Dask client. The passes are then run by its workers, which read the folder under the
            same path; a task whose worker dies is run by another.

        Examples
        --------
        >>> import tempfile, numpy as np, sparsetoken as st
        >>> folder = tempfile.TemporaryDirectory()
        >>> X = st.Sequences.from_list([np.ones((2, 3)), np.zeros((4, 3))])
        >>> X.save(folder.name, labels=[0, 1])
        >>> stored = st.Sequences.open(folder.name, memory_limit="200 MB")
        >>> stored[0].shape, stored.labels
        ((2, 3), array([0, 1]))
        >>> folder.cleanup()
        """
        from sparsetoken.sequences.folder import StoredSequences

        return StoredSequences(folder, memory_limit, client)

    def save(self, folder: Any, labels: ArrayLike | None = None) -> None:
        """Write the sequences, and labels if given, to a folder that is empty or does not exist."""
        with Sequences.writer(folder) as out:
            out.add(self, labels)

    @staticmethod
    def per_sequence(values: Any, bag: Any) -> Array:
        """Return one value a sequence from one a token: labels, or groups.

        They come in the order of :meth:`from_frame` and :meth:`from_stacked`. A sequence with two
        values is an error.

        Parameters
        ----------
        values, bag : array-like of shape (total_tokens,)
            The value and the sequence of each token.

        Examples
        --------
        >>> import sparsetoken as st
        >>> st.Sequences.per_sequence([1, 0, 1], bag=["b", "a", "b"])
        array([1, 0])
        """
        ids, codes = group_rows(bag, "bag")
        return one_per_group(values, ids, codes)

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
            tokens = self.tokens[first : first + offsets[-1]]
        else:
            within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
            tokens = self.tokens[np.repeat(starts, lengths) + within]
        ids = None if self.ids is None else self.ids[rows]
        return Sequences(tokens, offsets, self.feature_names, ids)

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return describe(self)


def describe(X: Any) -> str:
    """Return what sequences hold, in a line."""
    total = int(X.offsets[-1] - X.offsets[0])
    parts = [f"n_sequences={len(X)}", f"total_tokens={total}", f"dim={X.dim}"]
    if len(X):
        low, high = X.lengths.min(), X.lengths.max()
        parts.append(f"lengths={low}" if low == high else f"lengths={low}…{high}")
    parts.append(f"dtype={X.dtype}")
    for name, held in (("features", X.feature_names), ("ids", X.ids)):
        if held is not None:
            shown = ", ".join(str(value) for value in held[:3])
            parts.append(f"{name}=[{shown}{', …' if len(held) > 3 else ''}]")
    return f"{type(X).__name__}({', '.join(parts)})"


def _join(parts: list[tuple[Array, Array | None]], what: str) -> Array:
    """Concatenate tokens, with the features of each part in the order of the first."""
    tokens, names = parts[0]
    aligned = []
    for i, (part, own) in enumerate(parts):
        where = f"{what} {i} of X"
        if (own is None) != (names is None):
            lacks = where if own is None else f"{what} 0 of X"
            raise ValueError(f"{lacks} has no names of features, but others have")
        if own is not None and names is not None and own.tolist() != names.tolist():
            if set(own) != set(names):
                odd = sorted(set(own) ^ set(names))[0]
                has = "has" if odd in own else "lacks"
                raise ValueError(f"{where} {has} the feature {odd!r}, unlike {what} 0")
            place = {name: j for j, name in enumerate(own)}
            part = part[:, [place[name] for name in names]]
        if part.shape[1] != tokens.shape[1]:
            raise ValueError(
                f"{where} has tokens of dimension {part.shape[1]}, "
                f"but {what} 0 of dimension {tokens.shape[1]}"
            )
        aligned.append(part)
    single = all(part.dtype == np.float32 for part in aligned)
    dtype = np.float32 if single else np.float64
    return np.concatenate(aligned, dtype=dtype, casting="unsafe")


def _grouped(tokens: Array, ids: Array, codes: NDArray[np.int64], names: Array | None) -> Sequences:
    if (np.diff(codes) < 0).any():
        tokens = tokens[np.argsort(codes, kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
    return Sequences(tokens, offsets, names, ids)
