"""Blocks of rows from files of text.

Arrow reads them if it is installed. What it cannot read, or where it is missing, the ``csv`` module
reads, which also finds the line of a cell that is wrong.
"""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from sparsetoken.files.columns import Columns
from sparsetoken.files.dataset import ending

__all__ = [
    "CELLS",
    "Block",
    "NotReadError",
    "arrow_blocks",
    "csv_blocks",
    "find_cell",
    "read_rows",
    "to_block",
]

CELLS = 2**18  # cells that are read at a time
_TEXT = 2**19  # bytes of text that Arrow reads at a time; it reads several blocks ahead


class Block(NamedTuple):
    """Some rows: the columns with names, labels and groups, and the features."""

    ids: list[Any]
    labels: list[Any] | None
    groups: list[Any] | None
    values: NDArray[Any]


class NotReadError(Exception):
    """Arrow cannot read a file of text: not installed, or something is wrong in the file."""


def arrow_blocks(path: Path, columns: Columns) -> Iterator[Block]:
    """Yield blocks that Arrow reads; what it cannot read raises NotReadError."""
    try:
        import pyarrow
        from pyarrow import csv as arrow
    except ImportError:
        raise NotReadError from None
    kinds = dict.fromkeys(columns.texts, pyarrow.string()) | dict.fromkeys(
        columns.features, pyarrow.float64()
    )
    try:
        batches = arrow.open_csv(
            path,
            arrow.ReadOptions(use_threads=False, block_size=_TEXT),
            arrow.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
            arrow.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
        )
        yield from map(_narrow, map(to_block(columns), batches))
    except (pyarrow.ArrowException, OSError):
        raise NotReadError from None


def to_block(columns: Columns) -> Callable[[Any], Block]:
    """Return a function that makes a block of an Arrow batch."""

    def convert(batch: Any) -> Block:
        kinds = {str(batch.schema.field(name).type) for name in columns.features}
        dtype = np.float32 if kinds <= {"float", "halffloat"} else np.float64
        values = np.empty((batch.num_rows, len(columns.features)), dtype)
        for i, name in enumerate(columns.features):
            values[:, i] = batch.column(name).to_numpy(zero_copy_only=False)
        return Block(
            batch.column(columns.by).to_pylist(),
            None if columns.label is None else batch.column(columns.label).to_pylist(),
            None if columns.group is None else batch.column(columns.group).to_pylist(),
            values,
        )

    return convert


def csv_blocks(path: Path, header: list[str], columns: Columns) -> Iterator[Block]:
    """Yield blocks that the ``csv`` module reads; a cell that is no number becomes NaN."""
    place = {name: i for i, name in enumerate(header)}
    features = [place[name] for name in columns.features]
    rows = islice(read_rows(path), 1, None)
    while chunk := list(islice(rows, max(1, CELLS // len(header)))):
        try:
            values = np.array([[row[i] or "nan" for i in features] for row in chunk], float)
        except ValueError:
            values = np.array([[_number(row[i]) for i in features] for row in chunk])
        block = Block(
            [row[place[columns.by]] for row in chunk],
            None if columns.label is None else [row[place[columns.label]] for row in chunk],
            None if columns.group is None else [row[place[columns.group]] for row in chunk],
            values,
        )
        yield _narrow(block)


def _narrow(block: Block) -> Block:
    """Return numbers that float32 holds exactly, such as counts, as that: it may be twice the text.

    As float64 a table of single digits would be four times its file.
    """
    with np.errstate(over="ignore"):
        narrow = block.values.astype(np.float32)
    same = np.array_equal(narrow, block.values, equal_nan=True)
    return block._replace(values=narrow) if same else block


def read_rows(path: Path) -> Iterator[list[str]]:
    """Yield the lines that are not blank, the first being the header; all of one length."""
    with _open(path) as file:
        reader = csv.reader(file, delimiter=_delimiter(path), strict=True)
        width = None
        try:
            for cells in reader:
                if not cells:
                    continue
                width = width or len(cells)
                if len(cells) != width:
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {len(cells)} columns instead of {width}"
                    )
                yield cells
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is damaged: {error}") from None


def find_cell(path: Path, row: int, column: int) -> tuple[int, str]:
    """Return the line and the text of a cell; row 0 is the first after the header."""
    with _open(path) as file:
        reader = csv.reader(file, delimiter=_delimiter(path))
        cells = next(islice((cells for cells in reader if cells), row + 1, None))
        return reader.line_num, cells[column]


def _number(text: str) -> float:
    """Return a number, or NaN for a text that is none: what is not finite is refused later."""
    try:
        return float(text)
    except ValueError:
        return np.nan


def _open(path: Path) -> TextIO:
    """Open text; a byte-order mark, as spreadsheets write it, is passed over."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _delimiter(path: Path) -> str:
    return "\t" if ending(path) == ".tsv" else ","
