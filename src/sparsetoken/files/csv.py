"""Text: ``.csv`` and ``.tsv``, also with ``.gz``.

Arrow reads it if it is installed, five times as fast. What Arrow cannot read the ``csv`` module
does, which also finds the line of a cell that is wrong.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.formats import Block, Table, column_kinds

CELLS = 2**18  # cells that are read at a time
_TEXT = 2**19  # bytes of text that Arrow reads at a time; it reads several blocks ahead


def open_csv(path: Path) -> Table:
    """Open a table with the names of its columns in the first line."""
    _, header = next(_rows(path), (0, []))

    def where(row: int, column: str) -> str:
        line, cells = next(islice(_rows(path), row + 1, None))
        return f"line {line}, column {column!r}: {cells[header.index(column)]!r}"

    kinds = column_kinds(path, header, ["any"] * len(header))
    return Table(kinds, partial(_blocks, path, header), where)


def _blocks(
    path: Path, header: list[str], texts: Sequence[str], features: Sequence[str]
) -> Iterator[Block]:
    n_rows = 0
    try:
        for block in _arrow_blocks(path, texts, features):
            n_rows += len(block.tokens)
            yield block
        return
    except _NotReadError:
        pass
    # From the first row that Arrow has not read; a cell that is no number becomes NaN.
    place = {name: i for i, name in enumerate(header)}
    columns = [place[name] for name in features]
    rows = (cells for _, cells in islice(_rows(path), 1 + n_rows, None))
    while chunk := list(islice(rows, max(1, CELLS // len(header)))):
        cells = [row[i] for row in chunk for i in columns]
        try:
            numbers = list(map(float, cells))
        except ValueError:
            numbers = list(map(_number, cells))
        values = np.array(numbers).reshape(len(chunk), len(columns))
        yield Block([[row[place[name]] for row in chunk] for name in texts], _narrow(values))


class _NotReadError(Exception):
    """Arrow is not installed, or cannot read something in the file."""


def _arrow_blocks(path: Path, texts: Sequence[str], features: Sequence[str]) -> Iterator[Block]:
    try:
        import pyarrow
        from pyarrow import csv as arrow
    except ImportError:
        raise _NotReadError from None
    kinds = dict.fromkeys(texts, pyarrow.string()) | dict.fromkeys(features, pyarrow.float64())
    try:
        batches = arrow.open_csv(
            path,
            arrow.ReadOptions(use_threads=False, block_size=_TEXT),
            arrow.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
            arrow.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
        )
        for batch in batches:
            values = np.empty((batch.num_rows, len(features)))
            for i, name in enumerate(features):
                values[:, i] = batch.column(name).to_numpy(zero_copy_only=False)
            yield Block([batch.column(name).to_pylist() for name in texts], _narrow(values))
    except (pyarrow.ArrowException, OSError):
        raise _NotReadError from None


def _narrow(values: Array) -> Array:
    """Return numbers that float32 holds exactly as that: single digits would be 4 times as long."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values, equal_nan=True) else values


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of the lines that are not blank, all of one length: header first."""
    with _open(path) as file:
        reader = csv.reader(file, delimiter=_delimiter(path), strict=True)
        width = None
        try:
            for cells in filter(None, reader):
                width = width or len(cells)
                if len(cells) != width:
                    raise csv.Error(f"{len(cells)} columns instead of {width}")
                yield reader.line_num, cells
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is damaged: {error}") from None


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
    return "\t" if ".tsv" in path.suffixes[-2:] else ","
