"""A row of a store: how a cell is written, checked when it is read, and saved from damage."""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.experiments.cell import Cell

__all__ = ["COLUMNS", "DAMAGE", "Record", "connect", "read_row", "salvage", "write_row"]

COLUMNS = "key, source, quantities, cell_values, state, content, checksum"
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)  # the latter where SQLite quotes the file
_PATIENCE = 60.0  # seconds to wait for another process that is writing


class Record(NamedTuple):
    """A cell, its state, and its numbers or its error."""

    cell: Cell
    state: str
    content: Any


def connect(path: Path | str) -> sqlite3.Connection:
    """Open a file, or a URI given as text; what is no UTF-8 is left for the checksum to see."""
    connection = sqlite3.connect(
        path,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,
        uri=isinstance(path, str),
    )
    connection.text_factory = lambda text: text.decode(errors="replace")
    return connection


def write_row(cell: Cell, state: str, content: Any) -> tuple[str, ...]:
    """Return the row of a cell, its checksum last."""
    text = None if content is None else json.dumps(content)
    row = (cell.key, cell.source, json.dumps(cell.quantities), json.dumps(cell.values), state, text)
    return (*row, _checksum(row))  # type: ignore[return-value]


def _checksum(row: Sequence[Any]) -> str:
    return hashlib.sha256(repr(tuple(row)).encode()).hexdigest()[:16]


def read_row(row: Sequence[Any]) -> Record | None:
    """Return what a row says, or None if it is damaged."""
    *written, checksum = row
    if checksum != _checksum(written):
        return None
    _, source, quantities, values, state, content = written
    cell = Cell(source, tuple(json.loads(quantities)), json.loads(values))
    return Record(cell, state, None if content is None else json.loads(content))


def salvage(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Read rows from both ends of a damaged file as far as they go."""
    found: dict[int, tuple[Any, ...]] = {}
    for order in ("ASC", "DESC"):
        try:
            with closing(
                connection.execute(f"SELECT rowid, {COLUMNS} FROM cells ORDER BY rowid {order}")
            ) as cursor:
                for rowid, *row in cursor:
                    found[rowid] = tuple(row)
        except DAMAGE:
            continue
    return [found[rowid] for rowid in sorted(found)]
