"""Guards of the readers: which file an error is about, and sizes that are not believed."""

import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array

DENSEST = 200  # bytes in memory for one in a file: numbers hardly compress, and text hardly grows
SMALL = 2**28  # bytes that anybody has


@dataclass(frozen=True)
class Delayed:
    """An array that is read when NumPy asks for its values.

    NumPy has no bfloat16: ``halves`` are the upper halves of float32, as whole numbers.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], Any]
    halves: bool = False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        values = np.asarray(self.read())
        if self.halves:
            values = (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return np.asarray(values, dtype).reshape(self.shape)


Arrays = Mapping[str, Any]  # of array-likes with shape and dtype


class UnreadableError(ValueError):
    """A file is whole, but holds something that is not read."""


@contextmanager
def prefix_errors(path: object) -> Iterator[None]:
    """Prefix a ValueError with the name of the file, unless it has it."""
    try:
        yield
    except ValueError as error:
        if str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path}: {error}") from None


@contextmanager
def report_damage(path: Path, what: str = "it") -> Iterator[None]:
    """Say which file is damaged where a library stumbles over it, or which array is too large."""
    try:
        yield
    except (ImportError, FileNotFoundError, PermissionError):
        raise
    except MemoryError:
        raise MemoryError(f"{path}: {what} does not fit into memory, or is damaged") from None
    except UnreadableError as error:
        with prefix_errors(path):
            raise error from None
    except Exception as error:  # libraries raise whatever comes to their minds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        kind = "a NumPy archive" if path.suffix == ".npz" else f"a {path.suffix} file"
        raise ValueError(f"{path} is not {kind}, or is damaged: {reason}") from None


def believable(path: Path) -> int:
    """Return how many bytes in memory a file may claim to hold."""
    return max(SMALL, DENSEST * path.stat().st_size)


def check_size(path: Path, size: int, numbers: int = 0, max_numbers: int | None = None) -> None:
    """Refuse so many bytes if the file or the memory cannot hold them, and numbers beyond a limit.

    That is said before they are read.
    """
    size, numbers = min(size, 10**30), min(numbers, 10**30)  # a float holds that
    if max_numbers is not None and numbers > max_numbers:
        held = f"{numbers / 1e6:.3g} million numbers"
        raise UnreadableError(f"{path} holds {held}; max_numbers={max_numbers} are allowed")
    held = f"{size / 1e9:.3g} GB of numbers"
    if path.is_file() and size > believable(path):
        length = f"{path.stat().st_size / 1e6:.3g} MB"
        raise UnreadableError(f"{path} says that it holds {held} in {length}: that is not believed")
    posix = hasattr(os, "sysconf")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if posix else math.inf
    if size > memory:
        raise UnreadableError(
            f"{path} holds {held}, and this machine has {memory / 1e9:.3g} GB of memory: write "
            "them to a folder with Sequences.writer, and fit that"
        )


def check_zip(path: Path) -> dict[str, int]:
    """Return the entries of a zip archive with their sizes, which must be believable."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    for entry in entries:  # zipfile takes no notice, and torch would return no numbers of a folder
        if b"PK\x01\x02" in entry.extra + entry.comment or entry.external_attr & 0x10:
            raise ValueError("its list of entries is damaged")
    sizes = {entry.filename: entry.file_size for entry in entries}
    if len(sizes) < len(entries):
        raise ValueError("two of its entries have one name")
    check_size(path, sum(sizes.values()))
    return sizes


def shorten(names: Sequence[Any], most: int = 6, join: str = ", ") -> str:
    """Return names for a message, not all of them."""
    return join.join(str(name) for name in [*names[:most], *["…"] * (len(names) > most)])


def list_arrays(arrays: Arrays) -> str:
    """Return names, shapes and types for a message."""
    listed = [f"{name} {array.shape} {array.dtype}" for name, array in arrays.items()]
    return shorten(listed, 12, "; ") or "nothing"
