"""Sequences in a folder, read in parts and never as a whole.

A folder holds plain ``.npy`` files: ``tokens.npy`` (total_tokens, dim), ``offsets.npy``, the digest
of each sequence in ``digests.npy``, and where they were given ``feature_names.npy``, ``labels.npy``
and ``ids.npy``. ``sequences.json`` is written last, with the digests of the other files: a folder
without it is not complete, and one that was changed afterwards is refused.
"""

import json
import os
import re
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.forms import Container, offsets_of

_HEADER, _TOKENS = "sequences.json", "tokens.npy"
_HEAD = 128  # bytes of the head of an .npy file with two axes
_FORMAT, _VERSION = "sparsetoken sequences", 3
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
        self._first: Any = None  # the type and the names of what was added first
        self._n_tokens = 0
        names = ("lengths", "digests", "labels", "ids")
        self._added: dict[str, list[Array]] = {name: [] for name in names}

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
            forms = f"{first.dim} features and type {first.dtype}, got {added.dim}, {added.dtype}"
            raise ValueError(f"X must be like the sequences before, tokens of {forms}")
        if not np.array_equal(added.feature_names, first.feature_names):
            raise ValueError("X must have the same names of features as the sequences before")
        named = {"labels": labels, "ids": added.ids}
        for name, values in named.items():
            if len(self._added[name]) != (0 if values is None else len(self._added["lengths"])):
                raise ValueError(f"all parts must have {name}, or none")
            if values is not None and np.shape(values) != added.shape:
                shape = f"shape {added.shape}, got {np.shape(values)}"
                raise ValueError(f"{name} must have one entry per sequence, {shape}")
        tokens = np.ascontiguousarray(added.tokens, first.dtype)
        self._write(first, 0, tokens)
        # All of it is in the file: only now does it count.
        self._first, self._n_tokens = first, self._n_tokens + len(tokens)
        named |= {"lengths": added.lengths, "digests": _digests(tokens, added.offsets)}
        for name, values in named.items():
            if values is not None:
                self._added[name].append(np.asarray(values))

    def close(self) -> None:
        """Complete the folder."""
        if self._first is None:
            raise ValueError("at least one sequence must be added before the folder is complete")
        arrays = {name: np.concatenate(parts) for name, parts in self._added.items() if parts}
        arrays["offsets"] = offsets_of(arrays.pop("lengths"))
        if self._first.feature_names is not None:
            arrays["feature_names"] = self._first.feature_names
        self._write(self._first, self._n_tokens, np.empty(0))
        files = {_TOKENS: _file_digest(self.folder / _TOKENS)}
        for name, values in arrays.items():
            path = self.folder / f"{name}.npy"
            text = values.dtype.kind == "O"  # of any length, as frames hold it
            np.save(path, values.astype(str) if text else values, allow_pickle=False)
            files[path.name] = _file_digest(path)
        header = {"format": _FORMAT, "version": _VERSION, "crc32": files}
        (self.folder / _HEADER).write_text(json.dumps(header))

    def _write(self, first: Any, count: int, tokens: Array) -> None:
        """Write the head of the ``.npy`` file, and tokens behind those that were added before.

        NumPy leaves room in the head for a larger count of tokens.
        """
        about = {"descr": first.dtype.str, "fortran_order": False, "shape": (count, first.dim)}
        with (self.folder / _TOKENS).open("r+b") as file:
            np.lib.format.write_array_header_1_0(file, about)
            file.seek(self._n_tokens * first.dim * first.dtype.itemsize, os.SEEK_CUR)
            file.truncate()  # what an add that failed has left
            file.write(tokens.data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()
        elif self._first is None:
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
    """

    def __init__(
        self, folder: Any, memory_limit: float | str, container: Callable[..., Any]
    ) -> None:
        self.memory_limit = _as_bytes(memory_limit)
        self._container = container
        folder = Path(folder).absolute()
        arrays = _read_arrays(folder)
        tokens = arrays.pop(_TOKENS)
        self._path, self._start = folder / _TOKENS, tokens.offset
        self.dim, self.dtype = tokens.shape[1], tokens.dtype
        self.offsets, self._digests = arrays["offsets.npy"], arrays["digests.npy"]
        self.labels, self.ids = arrays.get("labels.npy"), arrays.get("ids.npy")
        names = arrays.get("feature_names.npy")
        self.feature_names = None if names is None else names.astype(object)

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
        return self._read(np.arange(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            return self._read(np.array([range(len(self))[key]])).tokens
        rows = np.arange(len(self))[key]
        if not (isinstance(key, slice) and key.step in (None, 1)):
            return self._read(rows)
        first, last = (rows[0], rows[-1] + 1) if rows.size else (0, 0)
        subset = object.__new__(StoredSequences)
        subset.__dict__ |= self.__dict__
        subset.offsets = self.offsets[first : last + 1]
        for name in ("_digests", "labels", "ids"):
            values = getattr(self, name)
            setattr(subset, name, None if values is None else values[first:last])
        return subset

    def _read(self, rows: Indices) -> Any:
        """Read sequences into memory of their own, and compare them with their digests."""
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        offsets = offsets_of(ends - starts)
        tokens = np.empty((offsets[-1], self.dim), self.dtype)
        runs = np.flatnonzero(starts != np.concatenate([[-1], ends])[:-1])  # of neighbors
        with self._path.open("rb") as file:
            for low, high in pairwise([*runs.tolist(), len(rows)]):
                run = tokens[offsets[low] : offsets[high]]
                file.seek(self._start + int(starts[low]) * self.dim * self.dtype.itemsize)
                if file.readinto(run.data) < run.nbytes:
                    raise ValueError(f"{self._path} is shorter than it was when it was opened")
        if not np.array_equal(_digests(tokens, offsets), self._digests[rows]):
            raise ValueError(f"{self._path} is damaged, or was changed since it was written")
        ids = None if self.ids is None else self.ids[rows]
        return self._container(tokens, offsets, self.feature_names, ids)


def is_stored(folder: Path) -> bool:
    """Return whether sequences were written to a folder, completely."""
    return (folder / _HEADER).exists()


def _read_arrays(folder: Path) -> dict[str, Any]:
    """Return the arrays of a folder by the names of their files, the tokens as a map."""
    if not is_stored(folder):
        raise ValueError(f"{folder} holds no complete sequences: no {_HEADER} in it")
    try:
        header = json.loads((folder / _HEADER).read_text())
        readable = header["format"] == _FORMAT and header["version"] == _VERSION
    except (ValueError, TypeError, LookupError):
        readable = False
    if not readable:
        wrong = f"is damaged, or not of format version {_VERSION}"
        raise ValueError(f"{folder / _HEADER} {wrong}: write the sequences again")
    arrays = {}
    try:
        for name in (_TOKENS, "offsets.npy", "digests.npy"):
            if name not in header["crc32"]:
                raise ValueError(f"{_HEADER} does not list {name}")
        for name, digest in header["crc32"].items():
            if _file_digest(folder / name) != digest:
                raise ValueError(f"{name} has changed since it was written")
            arrays[name] = np.load(folder / name, mmap_mode="r" if name == _TOKENS else None)
    except (ValueError, TypeError, LookupError, AttributeError, OSError) as error:
        raise ValueError(f"{folder} is damaged: {error}") from None
    return arrays


def _file_digest(path: Path) -> int:
    """Return the digest of a file; of tokens that of the head, as each sequence has its own."""
    with path.open("rb") as file:
        return zlib.crc32(file.read(_HEAD if path.name == _TOKENS else -1))


def _digests(tokens: Array, offsets: Indices) -> Array:
    """Return the digest of each sequence."""
    content = tokens.reshape(-1).view(np.uint8).data
    ends = (offsets * tokens.shape[1] * tokens.itemsize).tolist()
    each = (zlib.crc32(content[first:last]) for first, last in pairwise(ends))
    return np.fromiter(each, np.uint32, len(offsets) - 1)


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
