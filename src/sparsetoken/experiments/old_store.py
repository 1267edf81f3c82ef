"""The stores of sparsetoken 0.2, SQLite files, as events of a store of today."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_BEGINNING = b"SQLite format 3\0"
_APPLICATION, _VERSION = 0x53544B4E, 2  # in the header of the file
_COLUMNS = "key, source, quantities, cell_values, state, content, checksum"


def is_old_store(path: Path) -> bool:
    """Whether a file is a database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def read_old_store(path: Path) -> list[dict[str, Any]]:
    """Return the events of an old store without its damaged rows, or raise ValueError."""
    logged = path.with_name(f"{path.name}-wal").exists()
    address = f"{path.resolve().as_uri()}?{'mode=ro' if logged else 'immutable=1'}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.text_factory = lambda text: text.decode(errors="replace")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != _APPLICATION:
                raise ValueError("it is a database of another program, not a store")
            if version != _VERSION:
                raise ValueError("it was written by sparsetoken 0.1: export it with that version")
            rows = connection.execute(f"SELECT {_COLUMNS} FROM cells ORDER BY rowid").fetchall()
    except sqlite3.DatabaseError as error:
        raise ValueError(f"it was written by sparsetoken 0.2 and is damaged ({error})") from None
    return [_event(*row) for *row, checksum in rows if checksum == _checksum(row)]


def _checksum(row: list[Any]) -> str:
    return hashlib.sha256(repr(tuple(row)).encode()).hexdigest()[:16]


def _event(
    key: str, source: str, quantities: str, values: str, state: str, content: str | None
) -> dict[str, Any]:
    return {
        "key": key,
        "state": state,
        "source": source,
        "quantities": json.loads(quantities),
        "values": json.loads(values),
        "content": None if content is None else json.loads(content),
    }
