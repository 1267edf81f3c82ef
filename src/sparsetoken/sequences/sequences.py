"""Sequences of any length in one array of tokens, without padding."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Array, Indices
from sparsetoken.sequences import forms
from sparsetoken.sequences.checks import check_sequences, warn_caller, warn_of_empty
from sparsetoken.sequences.folder import SequenceWriter, open_folder
from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.grouping import Grouping, is_row_number


class Sequences:
    """Sequences of any length: all tokens stacked, and where each sequence starts.

    Indexing works as for an array over the sequences, so scikit-learn can cut them: an integer
    gives one sequence, an array of shape (length, dim); a slice, a mask or an array of integers
    gives ``Sequences`` again. An integer or a slice copies nothing.

    Make one by :meth:`from_frame`, :meth:`from_stacked`, :meth:`from_padded`, :meth:`from_offsets`
    or :meth:`from_list`. What is larger than memory: :meth:`writer` puts it into a folder, and
    :meth:`open` maps it.

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
    labels : array-like of shape (n_sequences,), optional
        Their labels, as :meth:`open` finds them. ``fit`` does not look at them: pass ``X.labels``.

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
        labels: ArrayLike | None = None,
    ) -> None:
        tokens, names = forms.named_tokens(tokens, "tokens")
        offsets = np.asarray(offsets)
        if tokens.ndim != 2:
            raise ValueError(f"tokens must have shape (total_tokens, dim), got {tokens.shape}")
        if offsets.ndim != 1 or offsets.size < 1 or not np.issubdtype(offsets.dtype, np.integer):
            raise ValueError(f"offsets must be a one-dimensional array of int, got {offsets!r}")
        if offsets[0] != 0 or offsets[-1] != len(tokens):
            ends = f"{len(tokens)}, got {offsets[0]} to {offsets[-1]}"
            raise ValueError(f"offsets must run from 0 to the number of tokens, {ends}")
        self.offsets = offsets.astype(np.int64)  # differences of unsigned ones are never negative
        if (np.diff(self.offsets) < 0).any():
            raise ValueError("offsets must not decrease")
        self.tokens, self.dim, self.dtype = tokens, int(tokens.shape[1]), tokens.dtype
        self.feature_names = names if feature_names is None else forms.as_names(feature_names)
        self.ids, self.labels = (None if v is None else np.asarray(v) for v in (ids, labels))
        if self.feature_names is not None and len(self.feature_names) != self.dim:
            wrong = f"one a feature, got {len(self.feature_names)}"
            raise ValueError(f"feature_names must hold {self.dim} names, {wrong}")
        for name, values in (("ids", self.ids), ("labels", self.labels)):
            if values is not None and values.shape != self.shape:
                raise ValueError(f"{name} must have shape {self.shape}, got {values.shape}")

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
        return cls(*forms.stack_list(sequences))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        by: str,
        features: str | Sequence[str] | None = None,
        ignore: str | Sequence[str] = (),
        *,
        label: str | None = None,
        groups: str | None = None,
    ) -> Any:
        """Group the rows of a pandas, polars or Arrow table: one token per row.

        Sequences come in the order in which they first appear; their rows need not be together.

        Parameters
        ----------
        frame : DataFrame
            The table.
        by : str
            The column, or level of the index, that names the sequence of each row.
        features : str or sequence of str, optional
            The columns that are features; by default all others but an index that was saved as a
            column ("Unnamed: 0"). A column with one value in each sequence, as a label has, is then
            refused: it would give the answer away.
        ignore : str or sequence of str
            Columns that are no features.
        label, groups : str, optional
            The columns with the label and the group (such as the patient) of each sequence.

        Returns
        -------
        X : Sequences
            The sequences; with ``label`` or ``groups`` a tuple of X and one array for each of them.

        Examples
        --------
        >>> import pandas as pd, sparsetoken as st
        >>> df = pd.DataFrame({"bag": ["b", "a", "b"], "x": [1.0, 2.0, 3.0], "ill": [1, 0, 1]})
        >>> X, y = st.Sequences.from_frame(df, by="bag", label="ill")
        >>> X.ids, X[0]
        (array(['b', 'a'], dtype=object), array([[1.],
               [3.]]))
        >>> y
        array([1, 0])
        """
        if not forms.is_frame(frame):
            raise ValueError(f"frame must be a table with columns, got {type(frame).__name__}")
        if by in getattr(getattr(frame, "index", None), "names", ()):
            frame = frame.reset_index(by)
        columns = forms.column_names(frame)
        named = [features] if isinstance(features, str) else features
        one_each = [name for name in (label, groups) if name is not None]
        left_out = [by, *one_each, *([ignore] if isinstance(ignore, str) else ignore)]
        for name in [*left_out, *(named or ())]:
            forms.find_name(name, columns, "the frame")
        left_out += filter(is_row_number, columns)
        names = [n for n in columns if n not in left_out] if named is None else list(named)
        tokens = forms.frame_tokens(frame, names)
        bags = Grouping(frame[by], by)
        if named is None:
            bags.refuse_labels(tokens, names)
        values = [bags.shared(frame[name]) for name in one_each]
        sequences = cls(bags.sort(tokens), bags.offsets, names, bags.ids)
        return (sequences, *values) if values else sequences

    @classmethod
    def from_stacked(cls, tokens: Any, bag: Any) -> "Sequences":
        """Group tokens of shape (total_tokens, dim) by the name or number of each one's sequence.

        Sequences come in the order in which they first appear; nothing is copied if the tokens of
        each are together.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> X = st.Sequences.from_stacked(np.arange(6.0).reshape(3, 2), bag=["b", "a", "b"])
        >>> X.ids.tolist(), X.lengths.tolist()
        (['b', 'a'], [2, 1])
        """
        array, names = forms.named_tokens(tokens, "tokens")
        bags = Grouping(bag)
        if array.ndim != 2 or len(array) != len(bags.codes):
            raise ValueError(f"tokens must have shape ({len(bags.codes)}, dim), got {array.shape}")
        return cls(bags.sort(array), bags.offsets, names, bags.ids)

    @classmethod
    def from_padded(cls, array: Any, mask: Any = None) -> "Sequences":
        """Leave out the padding of an array of shape (n, L, d).

        Parameters
        ----------
        array : array-like of shape (n, L, d)
            Padded sequences, from NumPy, torch, jax…
        mask : array-like of bool or 0/1, shape (n, L), optional
            Where there is a token, as in the attention masks of language models (torch's
            ``key_padding_mask`` says the opposite: pass ``~mask``). A masked array has its own.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> st.Sequences.from_padded(np.ones((2, 3, 4)), [[1, 1, 0], [1, 1, 1]])
        Sequences(n_sequences=2, total_tokens=5, dim=4, lengths=2…3, dtype=float64)
        """
        return cls(*forms.stack_padded(array, mask))

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
    def concatenate(cls, parts: Iterable["Sequences"]) -> "Sequences":
        """Put several ``Sequences`` together; features with names are matched by them.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> X = st.Sequences.from_list([np.ones((2, 3)), np.zeros((4, 3))])
        >>> st.Sequences.concatenate([X, X[:1]]).lengths
        array([2, 4, 2])
        """
        parts = list(parts)
        if not parts:
            raise ValueError("parts must hold at least one Sequences, got none")
        tokens = forms.join_tokens([(part.tokens, part.feature_names) for part in parts], "part")
        offsets = offsets_of(np.concatenate([part.lengths for part in parts]))
        ids = [part.ids for part in parts if part.ids is not None]
        every = np.concatenate(ids) if len(ids) == len(parts) else None
        return cls(tokens, offsets, parts[0].feature_names, every)

    @staticmethod
    def writer(folder: Any) -> SequenceWriter:
        """Return a writer that takes sequences some at a time, and puts them into a folder.

        See :class:`SequenceWriter <sparsetoken.estimators.SequenceWriter>` for an example.
        """
        return SequenceWriter(folder, as_sequences)

    @staticmethod
    def open(folder: Any, memory_limit: Any = None) -> "Sequences":
        """Map sequences that :meth:`writer` or :meth:`save` put into a folder into memory.

        A folder may be larger than memory: classifiers pass over it, and the system reads tokens as
        they are needed. Do not change its files while it is open. ``memory_limit`` has no effect
        since 0.4, and will go in 0.6.

        Examples
        --------
        >>> import tempfile, numpy as np, sparsetoken as st
        >>> folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        >>> X = st.Sequences.from_list([np.ones((2, 3)), np.full((4, 3), 2.0)])
        >>> X.save(folder.name, labels=[0, 1])
        >>> mapped = st.Sequences.open(folder.name)
        >>> mapped[0].shape, mapped.labels
        ((2, 3), array([0, 1]))
        >>> folder.cleanup()
        """
        if memory_limit is not None:
            text = "memory_limit has no effect, and will go in 0.6: a folder is mapped into memory"
            warn_caller(text, FutureWarning)
        sequences: Sequences = open_folder(Path(folder), Sequences)
        return sequences

    def save(self, folder: Any, labels: ArrayLike | None = None) -> None:
        """Write the sequences, and labels if given, to a folder that is empty or does not exist."""
        with Sequences.writer(folder) as out:
            out.add(self, self.labels if labels is None else labels)

    def select(self, tokens: Any) -> "Sequences":
        """Return the same sequences with some of their tokens.

        Parameters
        ----------
        tokens : slice, or array-like of bool
            A slice cuts each sequence: ``slice(-5, None)`` keeps the last five tokens. A mask has
            one entry a token: of shape (total_tokens,), of shape (n, L) if all sequences have L
            tokens, or a list with one mask a sequence.

        Examples
        --------
        >>> import numpy as np, sparsetoken as st
        >>> X = st.Sequences(np.arange(10.0).reshape(5, 2), offsets=[0, 2, 5])
        >>> X.select(slice(-1, None)).tokens
        array([[2., 3.],
               [8., 9.]])
        >>> role = np.array(["user", "assistant", "user", "assistant", "assistant"])
        >>> X.select(role == "assistant").lengths
        array([1, 2])
        """
        total = len(self.tokens)
        mask: Array
        if isinstance(tokens, slice):
            mask = np.zeros(total, dtype=bool)
            for start, end in pairwise(self.offsets.tolist()):
                mask[start:end][tokens] = True
        else:
            one_each = len(tokens) and np.ndim(tokens[0]) == 1
            if one_each and [len(mask) for mask in tokens] != self.lengths.tolist():
                raise ValueError("tokens must have one mask a sequence, with an entry a token")
            mask = np.concatenate(tokens) if one_each else np.asarray(tokens)
            if mask.dtype != bool or mask.shape != (total,):
                wrong = f"got shape {mask.shape} and type {mask.dtype}"
                raise ValueError(f"tokens must be a slice, or {total} times True or False, {wrong}")
        kept = np.concatenate([[0], np.cumsum(mask)])[self.offsets]
        warn_of_empty(np.diff(kept), "tokens")
        return self._with(self.tokens[mask], kept)

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
        offsets = offsets_of(lengths)
        if isinstance(key, slice) and key.step in (None, 1):
            first = int(starts[0]) if rows.size else 0
            tokens = self.tokens[first : first + offsets[-1]]
        else:
            within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
            tokens = self.tokens[np.repeat(starts, lengths) + within]
        return self._with(tokens, offsets, rows)

    def _with(self, tokens: Array, offsets: Indices, rows: Any = slice(None)) -> "Sequences":
        """Return these tokens as the sequences ``rows``, with all that is known of them."""
        ids, labels = (None if v is None else v[rows] for v in (self.ids, self.labels))
        return Sequences(tokens, offsets, self.feature_names, ids, labels)

    @property
    def lengths(self) -> Indices:
        """Number of tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int]:
        """``(n_sequences,)``: what scikit-learn asks of anything it indexes."""
        return (len(self),)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        parts = [f"n_sequences={len(self)}", f"total_tokens={len(self.tokens)}", f"dim={self.dim}"]
        if len(self):
            low, high = self.lengths.min(), self.lengths.max()
            parts.append(f"lengths={low}" if low == high else f"lengths={low}…{high}")
        parts.append(f"dtype={self.dtype}")
        for name, held in (("features", self.feature_names), ("ids", self.ids)):
            if held is not None:
                shown = ", ".join(str(value) for value in held[:3])
                parts.append(f"{name}=[{shown}{', …' if len(held) > 3 else ''}]")
        return f"{type(self).__name__}({', '.join(parts)})"


def as_sequences(X: Any, first: int = 0, *, finite: bool = True) -> Sequences:
    """Return ``X`` as :class:`Sequences` of finite, non-empty sequences, or raise ValueError.

    ``first`` is the number of the first sequence in error messages. Only with ``finite`` are
    missing values and infinities refused.
    """
    sequences = X if isinstance(X, Sequences) else Sequences(*forms.stack(X))
    check_sequences(sequences, first, finite=finite)
    return sequences
