"""Tables, as rows or as columns, written to CSV or Parquet."""

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

_NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)

_LAST = ("source", "quantity", "value", "uncertainty", "converged")


def write_table(rows: Rows, path: str | PathLike[str]) -> None:
    """Write rows to a file ending in ``.csv``, or in ``.parquet`` (which needs pyarrow).

    Parameters
    ----------
    rows : sequence of dict
        The table; a value that a row does not have is left empty.
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
    write_columns(as_columns(rows), path)


def as_columns(rows: Rows) -> dict[str, list[Any]]:
    """Return rows as columns, the numbers last; what a row does not have is None."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    names = [n for n in names if n not in _LAST] + [n for n in _LAST if n in names]
    return {name: [row.get(name) for row in rows] for name in names}


def write_columns(columns: Columns, path: str | PathLike[str]) -> None:
    """Write columns of equal length to .csv or .parquet; the file is complete or not there."""
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise ValueError(f"a table is written as .csv or .parquet, got {path.name!r}")
    with replaced(path) as temporary:
        if path.suffix == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as file:
                write_csv(columns, file)
        else:
            parquet = import_extra("pyarrow.parquet", f"{path}: Parquet")
            parquet.write_table(import_extra("pyarrow", "Parquet").table(columns), temporary)


def write_csv(columns: Columns, file: TextIO) -> None:
    """Write columns as CSV to an open file."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_escape_formula, columns))
    writer.writerows(map(_escape_formula, row) for row in zip(*columns.values(), strict=True))


def _escape_formula(cell: Any) -> Any:
    """Return lists as JSON, and text that a spreadsheet would run with an apostrophe before it."""
    if isinstance(cell, list):
        return json.dumps(cell)
    runs = isinstance(cell, str) and cell[:1] in ("=", "@", "+", "-", "\t")
    return f"'{cell}" if runs and not _NUMBER.fullmatch(cell) else cell
