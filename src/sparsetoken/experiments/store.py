"""The results of sweeps in one SQLite file, safe at every moment.

A cell is pending, done or failed. Its numbers and its state change in one transaction, so that a
process killed at any moment leaves whole cells only; the write-ahead log lets several processes
read and write one file. The computation is a pure function of the cell: if two processes compute
the same one, they write the same numbers.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from sparsetoken.experiments.cell import Cell, Measurement

__all__ = ["Failure", "Store", "StoreError"]

_APPLICATION = 0x53544B4E  # "STKN", which SQLite keeps in the header of the file
_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE cells (
    key TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    quantities TEXT NOT NULL,
    cell_values TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
    error TEXT
);
CREATE TABLE results (
    key TEXT NOT NULL REFERENCES cells (key),
    quantity TEXT NOT NULL,
    value REAL NOT NULL,
    standard_error REAL,
    converged INTEGER NOT NULL,
    PRIMARY KEY (key, quantity)
);
"""
_PATIENCE = 60.0  # seconds to wait for another process that is writing


class StoreError(Exception):
    """The file cannot serve as a store; the message says why."""


class Failure(NamedTuple):
    """A cell that raised an error."""

    cell: Cell
    error: str


class Store:
    """Results of sweeps in a file.

    Parameters
    ----------
    path : str or path
        The file, made if it does not exist.
    create : bool, default=True
        Whether a missing file is made; otherwise it raises StoreError.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.experiments import Store, compute, make_cell
    >>> cell = make_cell("theory", "cosine", {"alpha0": 2.0})
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/results.db") as store:
    ...     store.add([cell])
    ...     store.record(cell, compute(cell))
    ...     store.counts()
    ...     [round(row["value"], 4) for row in store.rows()]
    {'pending': 0, 'done': 1, 'failed': 0}
    [0.9476]
    """

    def __init__(self, path: str | PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise StoreError(f"there is no store at {self.path}")
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder, not a store")
        self._connection: sqlite3.Connection | None = None
        with self._explained():
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._prepare()

    def _prepare(self) -> None:
        with self._transaction() as connection:
            application, version = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            )
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not application:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            elif application != _APPLICATION:
                raise StoreError(f"{self.path} is a database of another program, not a store")
            elif version != _SCHEMA_VERSION:
                raise StoreError(
                    f"{self.path} has schema version {version}, "
                    f"this sparsetoken reads version {_SCHEMA_VERSION}"
                )
        self._execute("PRAGMA journal_mode = WAL")
        self._execute("PRAGMA synchronous = NORMAL")

    def add(self, cells: Iterable[Cell]) -> None:
        """Register cells as pending; those that are known stay as they are."""
        rows = [(c.key, c.source, json.dumps(c.quantities), json.dumps(c.values)) for c in cells]
        with self._explained(), self._transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, 'pending', NULL)", rows
            )

    def record(self, cell: Cell, measured: dict[str, Measurement]) -> None:
        """Write the numbers of a cell, which is done by that."""
        rows = [
            (cell.key, quantity, m.value, m.standard_error, int(m.converged))
            for quantity, m in measured.items()
        ]
        with self._explained(), self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute(
                "UPDATE cells SET state = 'done', error = NULL WHERE key = ?", (cell.key,)
            )

    def record_failure(self, cell: Cell, error: str) -> None:
        """Write why a cell failed, unless another process has done it."""
        self._execute(
            "UPDATE cells SET state = 'failed', error = ? WHERE key = ? AND state != 'done'",
            (error, cell.key),
        )

    def state(self, cell: Cell) -> str | None:
        """Return the state of a cell: pending, done, failed, or None if it is not known."""
        found = self._execute("SELECT state FROM cells WHERE key = ?", (cell.key,))
        return found[0][0] if found else None

    def retry_failed(self) -> int:
        """Make the failed cells pending again, and return how many there were."""
        with self._explained(), self._transaction() as connection:
            return connection.execute(
                "UPDATE cells SET state = 'pending', error = NULL WHERE state = 'failed'"
            ).rowcount

    def counts(self) -> dict[str, int]:
        """Return the number of cells in each state."""
        found = dict(self._execute("SELECT state, count(*) FROM cells GROUP BY state"))
        return {state: found.get(state, 0) for state in ("pending", "done", "failed")}

    def failures(self) -> list[Failure]:
        """Return the failed cells with their errors."""
        found = self._execute(
            "SELECT source, quantities, cell_values, error FROM cells "
            "WHERE state = 'failed' ORDER BY rowid"
        )
        return [
            Failure(Cell(source, tuple(json.loads(quantities)), json.loads(values)), error)
            for source, quantities, values, error in found
        ]

    def rows(self, cells: Iterable[Cell] | None = None) -> list[dict[str, Any]]:
        """Return the results in long format: the values of the cell, source, quantity, number.

        Parameters
        ----------
        cells : iterable of Cell, optional
            Only these, in their order; by default all, in the order in which they were added.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        for key, source, values, *numbers in self._execute(
            "SELECT key, source, cell_values, quantity, value, standard_error, converged "
            "FROM cells JOIN results USING (key) WHERE state = 'done' "
            "ORDER BY cells.rowid, results.rowid"
        ):
            names = ("quantity", "value", "standard_error", "converged")
            row = json.loads(values) | {"source": source} | dict(zip(names, numbers, strict=True))
            row["converged"] = bool(row["converged"])
            found.setdefault(key, []).append(row)
        keys = found if cells is None else [cell.key for cell in cells]
        return [row for key in keys for row in found.get(key, [])]

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _execute(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        with self._explained():
            assert self._connection is not None
            return self._connection.execute(statement, parameters).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        assert self._connection is not None
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into a StoreError that names the file."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            reasons = {
                "file is not a database": "it is not a store",
                "unable to open database file": "it cannot be opened; "
                "does its folder exist, and may you write there?",
                "attempt to write a readonly database": "it may not be written to",
            }
            reason = reasons.get(str(error), str(error))
            raise StoreError(f"{self.path}: {reason}") from None
