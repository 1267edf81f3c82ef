"""Sequences in a folder of plain ``.npy`` files, whose tokens are mapped into memory.

``tokens.npy`` (total_tokens, dim), ``offsets.npy``, and where they were given
``feature_names.npy``, ``labels.npy`` and ``ids.npy``. ``sequences.json`` is written last: a folder
without it is not complete.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np

from sparsetoken._types import Array
from sparsetoken.sequences.forms import offsets_of

_HEADER, _TOKENS = "sequences.json", "tokens.npy"
_FORMAT, _VERSION = "sparsetoken sequences", 4


class SequenceWriter:
    """Write sequences to a folder, some at a time, without holding all of them in memory.

    ``Sequences.writer(folder)`` makes one; the folder must not exist or be empty. Use it in a
    ``with`` block: the folder is complete when the block ends. An ``add`` that fails, because the
    disk is full for instance, can be repeated.

    Examples
    --------
    >>> import tempfile, numpy as np, sparsetoken as st
    >>> folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    >>> with st.Sequences.writer(folder.name) as out:
    ...     for label in (0, 1, 0):
    ...         out.add([np.full((label + 2, 4), label + 1, np.float32)], labels=[label])
    >>> st.Sequences.open(folder.name)
    Sequences(n_sequences=3, total_tokens=7, dim=4, lengths=2…3, dtype=float32)
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
        self._parts: list[dict[str, Array]] = []  # lengths, labels and ids

    def add(self, X: Any, labels: Any = None) -> None:
        """Append sequences, as ``fit`` takes them, with their labels; all parts have them, or none.

        The first sequences decide the type, float32 or float64, and the names of features.
        """
        added = self._convert(X)
        first = added[:0] if self._first is None else self._first
        if added.dim != first.dim or not np.can_cast(added.dtype, first.dtype):
            forms = f"{first.dim} features and type {first.dtype}, got {added.dim}, {added.dtype}"
            raise ValueError(f"X must be like the sequences before, tokens of {forms}")
        if not np.array_equal(added.feature_names, first.feature_names):
            raise ValueError("X must have the same names of features as the sequences before")
        named = {"lengths": added.lengths, "labels": labels, "ids": added.ids}
        part = {name: np.asarray(values) for name, values in named.items() if values is not None}
        if self._parts and (odd := part.keys() ^ self._parts[0].keys()):
            raise ValueError(f"all parts must have {' and '.join(sorted(odd))}, or none")
        if labels is not None and part["labels"].shape != added.shape:
            shape = f"shape {added.shape}, got {part['labels'].shape}"
            raise ValueError(f"labels must have one entry per sequence, {shape}")
        tokens = np.ascontiguousarray(added.tokens, first.dtype)
        self._write(first, 0, tokens)
        # All of it is in the file: only now does it count.
        self._first, self._n_tokens = first, self._n_tokens + len(tokens)
        self._parts.append(part)

    def close(self) -> None:
        """Complete the folder."""
        if not self._parts:
            raise ValueError("at least one sequence must be added before the folder is complete")
        arrays = {n: np.concatenate([part[n] for part in self._parts]) for n in self._parts[0]}
        arrays["offsets"] = offsets_of(arrays.pop("lengths"))
        if self._first.feature_names is not None:
            arrays["feature_names"] = self._first.feature_names
        self._write(self._first, self._n_tokens, np.empty(0))
        for name, values in arrays.items():
            values = values.astype(str) if values.dtype.kind == "O" else values  # of any length
            np.save(self.folder / f"{name}.npy", values, allow_pickle=False)
        header = {"format": _FORMAT, "version": _VERSION}
        (self.folder / _HEADER).write_text(json.dumps(header))

    def _write(self, first: Any, count: int, tokens: Array) -> None:
        """Write tokens behind those of before, and a head: NumPy leaves room for larger counts."""
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
        elif not self._parts:
            (self.folder / _TOKENS).unlink()  # nothing was added: the folder is free again


def is_stored(folder: Path) -> bool:
    """Return whether sequences were written to a folder, completely."""
    return (folder / _HEADER).exists()


def open_folder(folder: Path, build: Callable[..., Any]) -> Any:
    """Return what is built of a folder's arrays; the tokens are a read-only map of their file."""
    if not is_stored(folder):
        raise ValueError(f"{folder} holds no complete sequences: no {_HEADER} in it")
    try:
        header = json.loads((folder / _HEADER).read_text(encoding="utf-8"))
        readable = header["format"] == _FORMAT and header["version"] in (3, _VERSION)
    except (ValueError, TypeError, LookupError, RecursionError):
        readable = False
    if not readable:
        wrong = f"is damaged, or not of format version {_VERSION}"
        raise ValueError(f"{folder / _HEADER} {wrong}: write the sequences again")
    optional = [n for n in ("labels", "ids", "feature_names") if (folder / f"{n}.npy").exists()]
    try:
        arrays = {name: np.load(folder / f"{name}.npy") for name in ("offsets", *optional)}
        return build(np.load(folder / _TOKENS, mmap_mode="r"), **arrays)
    except Exception as error:  # NumPy raises whatever comes to its mind
        raise ValueError(f"{folder} is damaged: {error}") from None
