"""Sequences in a folder, read in parts and never as a whole.

A folder holds plain ``.npy`` files: ``tokens.npy`` (total_tokens, dim), ``offsets.npy``, and where
they were given ``labels.npy`` and ``ids.npy``. ``digests.npy`` has a digest of each 64 kB of
tokens. ``sequences.json`` is written last, with the lengths and digests of the other files: a
folder without it is not complete, and one that was changed afterwards is refused.
"""

import re
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.digests import BlockDigests, TokenFile
from sparsetoken.sequences.forms import Container, check_sequences, offsets_of
from sparsetoken.sequences.header import check_file, read_header, write_header
from sparsetoken.sequences.interop import as_names

_TOKENS, _OFFSETS, _DIGESTS = "tokens.npy", "offsets.npy", "digests.npy"
_LABELS, _IDS = "labels.npy", "ids.npy"
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


class SequenceWriter:
    """Write sequences to a folder, some at a time, without holding all of them in memory.

    ``Sequences.writer`` makes one. Use it in a ``with`` block; the folder is complete when the
    block ends. An ``add`` that fails, because the disk is full for instance, can be repeated.

    Parameters
    ----------
    folder : str or path
        The folder, which must not exist or be empty.
    convert : function
        Makes checked ``Sequences`` of what is added.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np, sparsetoken as st
    >>> folder = tempfile.TemporaryDirectory()
    >>> with st.Sequences.writer(folder.name) as out:
    ...     for label in (0, 1, 0):
    ...         out.add([np.full((label + 2, 4), label + 1, np.float32)], labels=[label])
    >>> X = st.Sequences.open(folder.name)
    >>> X
    StoredSequences(n_sequences=3, total_tokens=7, dim=4, lengths=2…3, dtype=float32)
    >>> X.labels
    array([0, 1, 0])
    >>> folder.cleanup()
    """

    def __init__(self, folder: Any, convert: Callable[[Any], Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise ValueError(f"folder must be empty or not exist, got {self.folder}")
        (self.folder / _TOKENS).open("xb").close()  # from here on there is no second writer
        self._convert = convert
        self._file: Any = None
        self._lengths: list[Array] = []
        self._beside: dict[str, list[Array]] = {_LABELS: [], _IDS: []}
        self._digests = BlockDigests()
        self._first: Any = None
        self._end = 0

    def add(self, X: Any, labels: Any = None) -> None:
        """Append sequences.

        Parameters
        ----------
        X : as in ``fit``
            Some sequences. The first decide the type, float32 or float64, and the names.
        labels : array-like of shape (n,), optional
            Their labels; all parts have them, or none.
        """
        added = self._convert(X)
        first = added[:0] if self._first is None else self._first
        if added.dim != first.dim or not np.can_cast(added.dtype, first.dtype):
            raise ValueError(
                f"X must have tokens of {first.dim} features and type {first.dtype} like those "
                f"before, got {added.dim} and {added.dtype}"
            )
        if _names(added) != _names(first):
            raise ValueError("X must have the same names of features as the sequences before")
        beside = {_LABELS: labels, _IDS: added.ids}
        for name, values in beside.items():
            if len(self._beside[name]) != (len(self._lengths) if values is not None else 0):
                raise ValueError(f"all parts must have {name[:-4]}, or none")
            if values is not None and np.shape(values) != added.shape:
                raise ValueError(
                    f"labels must have shape {added.shape}, one per sequence, "
                    f"got {np.shape(values)}"
                )
        if self._file is None:
            self._file = (self.folder / _TOKENS).open("r+b", buffering=0)
        if self._first is None:
            self._end = self._write_head(0, first)
        content = np.ascontiguousarray(added.tokens, first.dtype).reshape(-1).data.cast("B")
        self._write(content, self._end)
        # All of it is in the file: only now does it count.
        self._first, self._end = first, self._end + len(content)
        self._digests.update(content)
        self._lengths.append(added.lengths)
        for name, values in beside.items():
            if values is not None:
                self._beside[name].append(np.asarray(values))

    def close(self) -> None:
        """Write what is known when all sequences are there."""
        if self._first is None:
            raise ValueError("at least one sequence must be added before the folder is complete")
        offsets = offsets_of(np.concatenate(self._lengths))
        self._write_head(int(offsets[-1]), self._first)
        self._file.truncate(self._end)
        self._file.close()
        arrays: dict[str, Array] = {_OFFSETS: offsets, _DIGESTS: self._digests.values()}
        arrays |= {name: np.concatenate(held) for name, held in self._beside.items() if held}
        for name, values in arrays.items():
            if values.dtype.kind == "O":  # text of any length, as frames hold it
                values = values.astype(str)
            np.save(self.folder / name, values, allow_pickle=False)
        write_header(self.folder, _names(self._first), list(arrays))

    def _write_head(self, count: int, like: Any) -> int:
        """Write the head of the ``.npy`` file; NumPy leaves room in it for a larger count."""
        self._file.seek(0)
        descr = np.lib.format.dtype_to_descr(like.dtype)
        shape = (count, like.dim)
        np.lib.format.write_array_header_1_0(
            self._file, {"descr": descr, "fortran_order": False, "shape": shape}
        )
        return int(self._file.tell())

    def _write(self, content: memoryview, place: int) -> None:
        self._file.seek(place)
        while len(content):
            content = content[self._file.write(content) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()
            return
        if self._file is not None:
            self._file.close()
        if self._first is None:
            (self.folder / _TOKENS).unlink()  # nothing was added: the folder is free again


class StoredSequences(Container):
    """Sequences in a folder: what :meth:`Sequences.open` returns.

    An integer gives one sequence as an array; a slice gives ``StoredSequences`` again, which reads
    nothing; a mask or an array of integers reads those sequences into ``Sequences``, as
    :meth:`to_memory` does with all. The classifiers read parts of it, pass by pass. Whatever is
    read is compared with the digests of the folder.

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

    def __init__(
        self, folder: Any, memory_limit: float | str, client: Any, container: Callable[..., Any]
    ) -> None:
        self.folder = Path(folder).absolute()
        self.memory_limit = _as_bytes(memory_limit)
        self.client = client
        self._container = container
        header = read_header(self.folder)
        names = header["feature_names"]
        self.feature_names = None if names is None else as_names(names)
        try:
            tokens = np.load(self.folder / _TOKENS, mmap_mode="r")  # checks that the file is whole
            arrays = {
                name: np.load(self.folder / name)
                if check_file(self.folder / name, header)
                else None
                for name in (_OFFSETS, _LABELS, _IDS, _DIGESTS)
            }
        except (ValueError, OSError, tokenize.TokenError) as error:
            raise ValueError(f"{self.folder} is damaged: {error}") from None
        self.offsets = _checked_offsets(arrays[_OFFSETS], tokens, self.folder)
        self.labels, self.ids = arrays[_LABELS], arrays[_IDS]
        self.dim, self.dtype = tokens.shape[1], tokens.dtype
        place = self.folder / _TOKENS, tokens.offset
        self._file = TokenFile(*place, len(tokens), self.dim, self.dtype, arrays[_DIGESTS])

    @property
    def size(self) -> int:
        """Numbers in all tokens together."""
        return int(self.offsets[-1] - self.offsets[0]) * self.dim

    @property
    def room(self) -> int:
        """Numbers that may be in memory as a whole: they are copied once or twice in a fit."""
        return self.memory_limit // (4 * self.dtype.itemsize)

    def to_memory(self) -> Any:
        """Read all sequences into memory."""
        return self.read(0, len(self))

    def read(self, first: int, last: int) -> Any:
        """Read the sequences ``first`` up to ``last`` into memory."""
        offsets = self.offsets[first : last + 1]
        ids = None if self.ids is None else self.ids[first:last]
        spans = [(int(offsets[0]), int(offsets[-1]))]
        return self._read(spans, offsets - offsets[0], ids, first)

    def _read(self, spans: list[tuple[int, int]], offsets: Array, ids: Any, first: int) -> Any:
        tokens, as_written = self._file.read(spans)
        sequences = self._container(tokens, offsets, self.feature_names, ids)
        if not as_written:
            if len(sequences):
                check_sequences(sequences, first)  # names the token if one is no number
            if self._file.digests is not None:
                raise ValueError(
                    f"{self._file.path} is damaged, or was changed since it was written"
                )
        return sequences

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            row = range(len(self))[key]
            return self.read(row, row + 1).tokens
        rows = np.arange(len(self))[key]
        if isinstance(key, slice) and key.step in (None, 1):
            return self._slice(*((rows[0], rows[-1] + 1) if rows.size else (0, 0)))
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
        ids = None if self.ids is None else self.ids[rows]
        return self._read(spans, offsets_of(ends - starts), ids, 0)

    def cut(self, offsets: Indices) -> "StoredSequences":
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

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"client": None}  # a worker reads for itself


def _checked_offsets(offsets: Array | None, tokens: Array, folder: Path) -> Array:
    if offsets is None or offsets.ndim != 1 or offsets.dtype.kind != "i" or offsets.size < 2:
        raise ValueError(f"{folder} is damaged: {_OFFSETS} does not say where sequences start")
    if tokens.ndim != 2 or offsets[0] != 0 or offsets[-1] != len(tokens):
        raise ValueError(f"{folder} is damaged: {len(tokens)} tokens instead of {offsets[-1]}")
    if (np.diff(offsets) < 1).any():
        raise ValueError(f"{folder} is damaged: {_OFFSETS} does not increase")
    return offsets


def _names(sequences: Any) -> Any:
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
