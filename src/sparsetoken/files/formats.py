"""The contract of a format: it opens a file as named arrays, or as a table of columns.

Neither reads anything before its size is known: :func:`check_size` is the one place where a file
that says to hold more than it can is refused.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Array

_DENSEST = 200  # bytes in memory for one in a file: numbers hardly compress, and text hardly grows
_SMALL = 2**28  # bytes that anybody has


class StoredArray(NamedTuple):
    """An array in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], Array]


Arrays = Mapping[str, StoredArray]


class Block(NamedTuple):
    """Some rows of a table."""

    cells: list[list[Any]]
    """One list a column that is no feature."""
    tokens: Array
    lengths: Array | None = None
    """Tokens of each row; None if each row is one."""


class Table(NamedTuple):
    """Columns in a file."""

    kinds: dict[str, str]
    """What each column holds: "number", "text", "vector", "tokens", "any", or its type."""
    blocks: Callable[[Sequence[str], Sequence[str]], Iterator[Block]]
    """Yields rows of some columns of names and labels, and of some features."""
    where: Callable[[int, str], str]
    """Says where a cell is, by row and column, and what it holds."""
    count: Callable[[Sequence[str]], int] = lambda _: 0
    """Returns how many numbers some features hold, as far as the file says."""


class UnreadableError(ValueError):
    """A file is whole, but holds something that is not read."""


@contextmanager
def naming(path: object) -> Iterator[None]:
    """Say of which file it is that a ValueError speaks, unless it does."""
    try:
        yield
    except ValueError as error:
        if str(error).startswith((str(path), os.path.abspath(str(path)))):
            raise
        raise ValueError(f"{path}: {error}") from None


@contextmanager
def damage(path: Path) -> Iterator[None]:
    """Say which file is damaged where a library stumbles over it."""
    try:
        yield
    except (ImportError, FileNotFoundError, PermissionError, MemoryError):
        raise
    except UnreadableError as error:
        raise ValueError(f"{path}: {error}") from None
    except Exception as error:  # libraries raise whatever comes to their minds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        kind = "a NumPy archive" if path.suffix == ".npz" else f"a {path.suffix} file"
        raise ValueError(f"{path} is not {kind}, or is damaged: {reason}") from None


def check_size(path: Path, numbers: int, itemsize: int, max_numbers: int | None) -> None:
    """Refuse numbers that are more than allowed, more than the file can hold, or than memory."""
    if max_numbers is not None and numbers > max_numbers:
        held = f"{numbers / 1e6:.3g} million numbers"
        raise ValueError(f"{path} holds {held}; max_numbers={max_numbers} are allowed")
    size = numbers * itemsize
    if size < _SMALL:
        return
    held = f"{size / 1e9:.3g} GB of numbers"
    if path.is_file() and size > _DENSEST * path.stat().st_size:
        length = f"{path.stat().st_size / 1e6:.3g} MB"
        raise ValueError(f"{path} says that it holds {held} in {length}: that is not believed")
    if sys.platform == "win32":
        return  # it does not tell its memory
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > memory:
        raise ValueError(
            f"{path} holds {held}, and this machine has {memory / 1e9:.3g} GB of memory: write "
            "them to a folder with Sequences.writer, and fit that in parts"
        )


def bfloat16_array(shape: tuple[int, ...], read_bits: Callable[[], Array]) -> StoredArray:
    """Return an array whose numbers are the upper halves of float32: NumPy has no bfloat16."""

    def read() -> Array:
        return (read_bits().view(np.uint16).astype(np.uint32) << 16).view(np.float32)

    return StoredArray(shape, np.dtype(np.float32), read)


def column_kinds(path: Path, names: Sequence[str], kinds: Sequence[str]) -> dict[str, str]:
    """Return what each column of a table holds; each name must be there once."""
    for name in names if len(set(names)) < len(names) else ():
        if names.count(name) > 1:
            raise ValueError(f"{path} has two columns named {name!r}")
    return dict(zip(names, kinds, strict=True))


def shorten(names: Sequence[Any], most: int = 6, join: str = ", ") -> str:
    """Return names for a message, not all of them."""
    return join.join(str(name) for name in [*names[:most], *["…"] * (len(names) > most)])


def list_arrays(arrays: Arrays) -> str:
    """Return names, shapes and types for a message."""
    listed = [f"{name} {array.shape} {array.dtype}" for name, array in arrays.items()]
    return shorten(listed, 12, "; ") or "nothing"
