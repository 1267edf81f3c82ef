"""Tables in long format: rows as dictionaries, written to CSV or Parquet."""

import csv
import io
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TextIO

from sparsetoken._validation import import_extra

Rows = Sequence[dict[str, Any]]

_LAST = ("source", "quantity", "value", "uncertainty", "converged")


def columns(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return all columns, the numbers last."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [n for n in names if n not in _LAST] + [n for n in _LAST if n in names]


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
    path = Path(path)
    if path.suffix == ".parquet":
        _write_parquet(rows, path)
    elif path.suffix == ".csv":
        path.write_text(table_text(rows), encoding="utf-8", newline="")
    else:
        raise ValueError(f"a table is written as .csv or .parquet, got {path.name!r}")


def table_text(rows: Rows) -> str:
    """Return the rows as the text of a CSV file."""
    buffer: TextIO = io.StringIO()
    writer = csv.DictWriter(buffer, columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()  # type: ignore[attr-defined]


def _write_parquet(rows: Rows, path: Path) -> None:
    parquet = import_extra("pyarrow.parquet", f"{path}: Parquet")
    table = import_extra("pyarrow", "Parquet").table(
        {name: [row.get(name) for row in rows] for name in columns(rows)}
    )
    parquet.write_table(table, path)
