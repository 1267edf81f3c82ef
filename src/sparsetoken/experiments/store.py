"""The results of sweeps in one SQLite file, safe at every moment.

A cell is one row: pending, done or failed. It changes in one transaction, so that a process killed
at any moment leaves whole cells only, and its checksum tells a damaged row from a good one. Several
processes may work on one file: a process claims a cell before it computes it, for as long as it
lives and renews the claim.
"""

import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.records import (
    COLUMNS,
    DAMAGE,
    Record,
    connect,
    read_row,
    salvage,
    write_row,
)

__all__ = ["Failure", "Store", "StoreError"]

_APPLICATION = 0x53544B4E  # "STKN", which SQLite keeps in the header of the file
_SCHEMA_VERSION = 2
_SCHEMA = """
CREATE TABLE cells (
    key TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    quantities TEXT NOT NULL,
    cell_values TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'done', 'failed')),
    content TEXT,
    checksum TEXT NOT NULL,
    owner TEXT,
    lease REAL
)
"""
_LEASE = 60.0  # seconds that a claim holds unless it is renewed
_MANY = 500  # keys in one question


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
    read_only : bool, default=False
        Whether to read an existing file without ever writing, even from read-only media.

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

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.owner = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"
        self._lock = threading.RLock()
        if read_only and not self.path.is_file():
            raise StoreError(f"there is no store at {self.path}")
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder, not a store")
        self._connection: sqlite3.Connection | None = None
        with self._explained():
            self._connection = self._open_to_read() if read_only else self._open_to_write()

    def _open_to_write(self) -> sqlite3.Connection:
        connection = connect(self.path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not _pragma(connection, "application_id"):
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            connection.execute("COMMIT")
            self._check_kind(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_to_read(self) -> sqlite3.Connection:
        """Open without writing; without a log nobody writes, so that no lock is needed either."""
        log = self.path.with_name(f"{self.path.name}-wal")
        options = "mode=ro" if log.exists() else "immutable=1"
        connection = connect(f"{self.path.resolve().as_uri()}?{options}")
        try:
            self._check_kind(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_kind(self, connection: sqlite3.Connection) -> None:
        version = _pragma(connection, "user_version")
        if _pragma(connection, "application_id") != _APPLICATION:
            raise StoreError(f"{self.path} is a database of another program, not a store")
        if version == 1:
            raise StoreError(
                f"{self.path} was written by sparsetoken 0.1, whose models had other names: "
                "export it with that version, and let this one write to another file"
            )
        if version != _SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has schema version {version}, "
                f"this sparsetoken reads version {_SCHEMA_VERSION}"
            )

    def add(self, cells: Iterable[Cell]) -> None:
        """Register cells as pending; those that are known stay as they are."""
        rows = [write_row(cell, "pending", None) for cell in cells]
        with self._transaction() as connection:
            connection.executemany(
                f"INSERT OR IGNORE INTO cells ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
            )

    def record(self, cell: Cell, found: dict[str, Estimate]) -> None:
        """Write the numbers of a cell, which is done by that."""
        content = {
            quantity: [float(value), float(value.uncertainty), bool(value.converged)]
            for quantity, value in found.items()
        }
        self._write(cell, "done", content)

    def record_failure(self, cell: Cell, error: str) -> None:
        """Write why a cell failed, unless another process has done it."""
        self._write(cell, "failed", error)

    def _write(self, cell: Cell, state: str, content: Any) -> None:
        key, *_, state, text, checksum = write_row(cell, state, content)
        keep = "" if state == "done" else " AND state != 'done'"
        self._execute(
            "UPDATE cells SET state = ?, content = ?, checksum = ?, owner = NULL, lease = NULL "
            f"WHERE key = ?{keep}",
            (state, text, checksum, key),
        )

    def claim(self, cells: Sequence[Cell]) -> tuple[list[Cell], list[Cell]]:
        """Claim pending cells: return those that are this store's now, and those of others.

        A claim ends with its process, or if nobody renews it for a minute.
        """
        mine, others = [], []
        with self._transaction() as connection:
            now = time.time()
            for cell in cells:
                found = connection.execute(
                    "SELECT state, owner, lease FROM cells WHERE key = ?", (cell.key,)
                ).fetchone()
                if found is None or found[0] != "pending":
                    continue
                if found[1] not in (None, self.owner) and found[2] > now and _alive(found[1]):
                    others.append(cell)
                    continue
                connection.execute(
                    "UPDATE cells SET owner = ?, lease = ? WHERE key = ?",
                    (self.owner, now + _LEASE, cell.key),
                )
                mine.append(cell)
        return mine, others

    @contextmanager
    def claims(self) -> Iterator[None]:
        """Renew the claims of this store in the background, and give up those left at the end."""
        ended = threading.Event()

        def renew() -> None:
            renewal = "UPDATE cells SET lease = ? WHERE owner = ?"
            while not ended.wait(_LEASE / 4):
                with suppress(StoreError):  # a file in trouble is for the next result to tell
                    self._execute(renewal, (time.time() + _LEASE, self.owner))

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._execute(
                "UPDATE cells SET owner = NULL, lease = NULL WHERE owner = ?", (self.owner,)
            )

    def pending(self, cells: Iterable[Cell]) -> set[Cell]:
        """Return those of the cells that are to be computed."""
        return {record.cell for record in self._records(cells) if record.state == "pending"}

    def retry_failed(self, cells: Iterable[Cell] | None = None) -> int:
        """Make failed cells pending again, all or some, and return how many there were."""
        failed = [record.cell for record in self._records(cells) if record.state == "failed"]
        for cell in failed:
            self._write(cell, "pending", None)
        return len(failed)

    def counts(self, cells: Iterable[Cell] | None = None) -> dict[str, int]:
        """Return the number of cells in each state."""
        found = [record.state for record in self._records(cells)]
        return {state: found.count(state) for state in ("pending", "done", "failed")}

    def failures(self, cells: Iterable[Cell] | None = None) -> list[Failure]:
        """Return the failed cells with their errors."""
        return [Failure(r.cell, r.content) for r in self._records(cells) if r.state == "failed"]

    def rows(
        self, cells: Iterable[Cell] | None = None, *, skip_damaged: bool = False
    ) -> list[dict[str, Any]]:
        """Return the results in long format: the values of the cell, source, quantity, number.

        Parameters
        ----------
        cells : iterable of Cell, optional
            Only these, in their order; by default all, in the order in which they were added.
        skip_damaged : bool, default=False
            Whether to leave out rows whose checksum is wrong; otherwise they raise StoreError.
        """
        names = ("value", "uncertainty", "converged")
        return [
            record.cell.values
            | {"source": record.cell.source, "quantity": quantity}
            | dict(zip(names, numbers, strict=True))
            for record in self._records(cells, skip_damaged)
            if record.state == "done"
            for quantity, numbers in record.content.items()
        ]

    def _records(
        self, cells: Iterable[Cell] | None = None, skip_damaged: bool = False
    ) -> list[Record]:
        """Return the rows of some cells, or all, each checked."""
        raw, reason = self._read(None if cells is None else [cell.key for cell in cells])
        found = [record for row in raw if (record := read_row(row)) is not None]
        bad = len(raw) - len(found)
        if (bad or reason) and not skip_damaged:
            what = f"{bad} of {len(raw)} rows fail their checksum" if bad else reason
            raise StoreError(
                f"{self.path} is damaged: {what}. The other {len(found)} cells can be read with "
                "'sparsetoken sweep export --skip-damaged' and computed anew in another file"
            )
        return found

    def _read(self, keys: list[str] | None) -> tuple[list[tuple[Any, ...]], str]:
        """Return rows by key or all, and what SQLite has to say against the file."""
        if keys is not None:
            rows: dict[str, tuple[Any, ...]] = {}
            for start in range(0, len(keys), _MANY):
                some = keys[start : start + _MANY]
                marks = ", ".join("?" * len(some))
                question = f"SELECT {COLUMNS} FROM cells WHERE key IN ({marks})"
                rows |= {row[0]: row for row in self._execute(question, some)}
            return [rows[key] for key in keys if key in rows], ""
        assert self._connection is not None
        with self._lock:
            try:
                (reason,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
                every = self._connection.execute(f"SELECT {COLUMNS} FROM cells ORDER BY rowid")
                return every.fetchall(), "" if reason == "ok" else reason
            except DAMAGE as error:
                return salvage(self._connection), str(error)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._explained(), self._lock:
            assert self._connection is not None
            return self._connection.execute(statement, parameters).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        assert self._connection is not None
        with self._explained(), self._lock:
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
        except DAMAGE as error:
            reasons = {
                "file is not a database": "it is not a store",
                "unable to open database file": "it cannot be opened; "
                "does its folder exist, and may you write there?",
                "attempt to write a readonly database": "it may not be written to",
                "database disk image is malformed": "it is damaged",
            }
            reason = reasons.get(str(error), str(error))
            raise StoreError(f"{self.path}: {reason}") from None


def _alive(owner: str) -> bool:
    """Whether the process of a claim may still live; of other machines only the lease can tell."""
    host, process, _ = owner.split()
    try:
        if host == socket.gethostname():
            os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
