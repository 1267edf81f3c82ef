"""Tables, written to CSV or Parquet."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

from sparsetoken._replace import replaced
from sparsetoken._validation import import_extra

Rows = Sequence[Mapping[str, Any]]
Columns = Mapping[str, Sequence[Any]]

TABLES = (".csv", ".parquet")
_NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_LAST = ("source", "quantity", "value", "uncertainty", "converged")


def write_table(table: Rows | Columns, path: str | PathLike[str]) -> None:
    """Write a table to a file ending in ``.csv``, or in ``.parquet`` (which needs pyarrow).

    The file is complete or not there.

    Parameters
    ----------
    table : sequence of dict, or dict of sequences
        Its rows, in which a value may be missing; or its columns, of equal length.
    path : str or path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sparsetoken.experiments import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "table.csv")
    ...     write_table([{"alpha": 2.0, "value": 0.29}, {"value": 0.5}], path)
    ...     print(path.read_text())
    alpha,value
    2.0,0.29
    ,0.5
    """
    path = Path(path)
    if path.suffix not in TABLES:
        raise ValueError(f"a table is written as {' or '.join(TABLES)}, got {path.name!r}")
    with replaced(path) as temporary:
        if path.suffix == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as file:
                write_csv(table, file)
        else:
            parquet = import_extra("pyarrow.parquet", f"{path}: Parquet")
            content = import_extra("pyarrow", "Parquet").table(_columns(table))
            parquet.write_table(content, temporary)


def write_csv(table: Rows | Columns, file: TextIO) -> None:
    """Write a table as CSV to an open file."""
    columns, writer = _columns(table), csv.writer(file, lineterminator="\n")
    for row in (columns, *zip(*columns.values(), strict=True)):
        writer.writerow(map(_escape_formula, row))


def _columns(table: Rows | Columns) -> Columns:
    """Return the columns of a table, those of rows with the numbers last."""
    if isinstance(table, Mapping):
        return table
    names = list(dict.fromkeys(name for row in table for name in row))
    names.sort(key=lambda name: _LAST.index(name) if name in _LAST else -1)
    return {name: [row.get(name) for row in table] for name in names}


def _escape_formula(cell: Any) -> Any:
    """Return lists as JSON, and text that a spreadsheet would run with an apostrophe before it."""
    if isinstance(cell, list):
        return json.dumps(cell)
    runs = isinstance(cell, str) and cell[:1] in ("=", "@", "+", "-", "\t")
    return f"'{cell}" if runs and not _NUMBER.fullmatch(cell) else cell
