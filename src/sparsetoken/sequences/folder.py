"""Sequences in a folder, read in parts and never as a whole.

A folder holds plain ``.npy`` files: ``tokens.npy`` (total_tokens, dim), ``offsets.npy``, and where
they were given ``labels.npy`` and ``ids.npy``. ``sequences.json`` is written last: a folder without
it is not complete. What is written was checked, so that reading needs no second look at it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sparsetoken.sequences.convert import as_sequences
from sparsetoken.sequences.interop import as_names
from sparsetoken.sequences.sequences import Sequences, describe

__all__ = ["SequenceWriter", "StoredSequences", "is_stored"]

Array = NDArray[Any]

_HEADER, _TOKENS, _OFFSETS, _LABELS, _IDS = (
    "sequences.json",
    "tokens.npy",
    "offsets.npy",
    "labels.npy",
    "ids.npy",
)
_FORMAT = {"format": "sparsetoken sequences", "version": 1}
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


class SequenceWriter:
    """Write sequences to a folder, some at a time, without holding all of them in memory.

    Use it in a ``with`` block; the folder is complete when the block ends.

    Parameters
    ----------
    folder : str or path
        The folder, which must not exist or be empty.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np, sparsetoken as st
    >>> folder = tempfile.TemporaryDirectory()
    >>> with st.Sequences.writer(folder.name) as out:
    ...     for label in (0, 1, 0):
    ...         out.add([np.full((label + 2, 4), label, np.float32)], labels=[label])
    >>> X = st.Sequences.open(folder.name)
    >>> X
    StoredSequences(n_sequences=3, total_tokens=7, dim=4, lengths=2…3, dtype=float32)
    >>> X.labels
    array([0, 1, 0])
    >>> folder.cleanup()
    """

    def __init__(self, folder: Any) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise ValueError(f"folder must be empty or not exist, got {self.folder}")
        self._lengths: list[Array] = []
        self._kept: dict[str, list[Array]] = {_LABELS: [], _IDS: []}
        self._first: Sequences | None = None
        self._file: Any = None

    def add(self, X: Any, labels: Any = None) -> None:
        """Append sequences.

        Parameters
        ----------
        X : as in ``fit``
            Some sequences. The first decide the type, float32 or float64, and the names.
        labels : array-like of shape (n,), optional
            Their labels; all parts have them, or none.
        """
        part = as_sequences(X)
        if self._first is None:
            self._first = part[:0]
            self._file = (self.folder / _TOKENS).open("wb")
            self._write_head(0)
        first = self._first
        if part.dim != first.dim or not np.can_cast(part.dtype, first.dtype):
            raise ValueError(
                f"X must have tokens of {first.dim} features and type {first.dtype} like those "
                f"before, got {part.dim} and {part.dtype}"
            )
        if _names(part) != _names(first):
            raise ValueError("X must have the same names of features as the sequences before")
        for name, values in ((_LABELS, labels), (_IDS, part.ids)):
            held = self._kept[name]
            if len(held) != (len(self._lengths) if values is not None else 0):
                raise ValueError(f"all parts must have {name[:-4]}, or none")
            if values is not None:
                values = np.asarray(values)
                if values.shape != part.shape:
                    raise ValueError(
                        f"labels must have shape {part.shape}, one a sequence, got {values.shape}"
                    )
                held.append(values)
        np.ascontiguousarray(part.tokens, dtype=first.dtype).tofile(self._file)
        self._lengths.append(part.lengths)

    def close(self) -> None:
        """Write what is known when all sequences are there."""
        if self._first is None:
            raise ValueError("at least one sequence must be added before the folder is complete")
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))])
        self._write_head(int(offsets[-1]))
        self._file.close()
        np.save(self.folder / _OFFSETS, offsets)
        for name, parts in self._kept.items():
            if parts:
                values = np.concatenate(parts)
                if values.dtype.kind == "O":  # text of any length, as frames hold it
                    values = values.astype(str)
                np.save(self.folder / name, values, allow_pickle=False)
        header = _FORMAT | {"feature_names": _names(self._first)}
        (self.folder / _HEADER).write_text(json.dumps(header))

    def _write_head(self, count: int) -> None:
        """Write the head of the ``.npy`` file; NumPy leaves room in it for a larger count."""
        assert self._first is not None
        self._file.seek(0)
        shape = (count, self._first.dim)
        descr = np.lib.format.dtype_to_descr(self._first.dtype)
        np.lib.format.write_array_header_1_0(
            self._file, {"descr": descr, "fortran_order": False, "shape": shape}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()
        elif self._file is not None:
            self._file.close()


class _TokenFile(NamedTuple):
    """Where the numbers of an ``.npy`` file are."""

    path: Path
    start: int
    dim: int
    dtype: np.dtype[Any]

    def read(self, spans: list[tuple[int, int]]) -> Array:
        """Return spans of tokens in memory of their own: pages of a mapped file would add up."""
        tokens = np.empty((sum(last - first for first, last in spans), self.dim), self.dtype)
        done = 0
        with self.path.open("rb", buffering=0) as file:
            for first, last in spans:
                file.seek(self.start + first * self.dim * self.dtype.itemsize)
                left = tokens[done : done + last - first].reshape(-1).view(np.uint8)
                done += last - first
                while left.size:
                    count = file.readinto(left.data)
                    if not count:
                        raise ValueError(f"{self.path} is shorter than it was when it was opened")
                    left = left[count:]
        return tokens


class StoredSequences:
    """Sequences in a folder: what :meth:`Sequences.open` returns.

    An integer gives one sequence as an array; a slice gives ``StoredSequences`` again, which reads
    nothing; a mask or an array of integers reads those sequences into ``Sequences``, as
    :meth:`to_memory` does with all. The classifiers read parts of it, pass by pass.

    Attributes
    ----------
    lengths, offsets, ids, feature_names, dim, dtype, shape
        As in :class:`Sequences`; ``offsets`` count from the first token of the folder.
    labels : ndarray or None
        What was written as labels.
    memory_limit : int
        Bytes.
    client : Client or None
        The Dask client whose workers read.
    """

    def __init__(self, folder: Any, memory_limit: float | str, client: Any = None) -> None:
        self.folder = Path(folder).absolute()
        self.memory_limit = _as_bytes(memory_limit)
        self.client = client
        if not is_stored(self.folder):
            raise ValueError(f"{self.folder} holds no complete sequences: no {_HEADER} in it")
        header = json.loads((self.folder / _HEADER).read_text())
        if {name: header.get(name) for name in _FORMAT} != _FORMAT:
            raise ValueError(f"{self.folder / _HEADER} is of an unknown format: {header}")
        names = header["feature_names"]
        self.feature_names = None if names is None else as_names(names)
        tokens = np.load(self.folder / _TOKENS, mmap_mode="r")  # checks that the file is whole
        self._file = _TokenFile(self.folder / _TOKENS, tokens.offset, tokens.shape[1], tokens.dtype)
        self.offsets = np.load(self.folder / _OFFSETS)
        if self.offsets[-1] != len(tokens):
            raise ValueError(
                f"{self.folder} is damaged: {len(tokens)} tokens instead of {self.offsets[-1]}"
            )
        self.labels, self.ids = (self._read_beside(name) for name in (_LABELS, _IDS))

    def _read_beside(self, name: str) -> Array | None:
        path = self.folder / name
        return np.load(path) if path.exists() else None

    @property
    def dim(self) -> int:
        """Number of features per token."""
        return self._file.dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the tokens, float64 or float32."""
        return self._file.dtype

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int]:
        """``(n_sequences,)``."""
        return (len(self),)

    @property
    def size(self) -> int:
        """Numbers in all tokens together."""
        return int(self.offsets[-1] - self.offsets[0]) * self.dim

    @property
    def room(self) -> int:
        """Numbers that may be in memory as a whole: they are copied once or twice in a fit."""
        return self.memory_limit // (4 * self.dtype.itemsize)

    def to_memory(self) -> Sequences:
        """Read all sequences into memory."""
        return self.read(0, len(self))

    def read(self, first: int, last: int) -> Sequences:
        """Read the sequences ``first`` up to ``last`` into memory."""
        offsets = self.offsets[first : last + 1]
        tokens = self._file.read([(int(offsets[0]), int(offsets[-1]))])
        ids = None if self.ids is None else self.ids[first:last]
        return Sequences(tokens, offsets - offsets[0], self.feature_names, ids)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            row = range(len(self))[key]
            return self.read(row, row + 1).tokens
        rows = np.arange(len(self))[key]
        if isinstance(key, slice) and key.step in (None, 1):
            return self._slice(*((rows[0], rows[-1] + 1) if rows.size else (0, 0)))
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        tokens = self._file.read(list(zip(starts.tolist(), ends.tolist(), strict=True)))
        offsets = np.concatenate([[0], np.cumsum(ends - starts)])
        return Sequences(
            tokens, offsets, self.feature_names, None if self.ids is None else self.ids[rows]
        )

    def cut(self, offsets: NDArray[np.int64]) -> "StoredSequences":
        """Return the same tokens cut at other places, without labels and ids."""
        part = object.__new__(StoredSequences)
        part.__dict__ |= self.__dict__
        part.offsets, part.labels, part.ids = offsets, None, None
        return part

    def _slice(self, first: int, last: int) -> "StoredSequences":
        part = self.cut(self.offsets[first : last + 1])
        part.labels = None if self.labels is None else self.labels[first:last]
        part.ids = None if self.ids is None else self.ids[first:last]
        return part

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return describe(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"client": None}  # a worker reads for itself


def is_stored(folder: Path) -> bool:
    """Return whether sequences were written to a folder, completely."""
    return (folder / _HEADER).exists()


def _names(sequences: Sequences) -> Any:
    return None if sequences.feature_names is None else sequences.feature_names.tolist()


def _as_bytes(limit: float | str) -> int:
    size = 0.0
    if not isinstance(limit, str):
        size = float(limit)
    elif text := re.fullmatch(r"\s*([0-9.]+)\s*([kMG]?)B?\s*", limit):
        size = float(text[1]) * _UNITS[text[2]]
    if not size >= 1.0:
        raise ValueError(
            f'memory_limit must be a number of bytes, or text such as "500 MB", got {limit!r}'
        )
    return int(min(size, 2.0**62))
