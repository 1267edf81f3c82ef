"""The results of sweeps in one file to which lines are only ever added, safe at every moment.

A line is an event in the life of a cell: it is pending, a process has begun it, it is done or it
has failed. Each has a checksum, so that a line half written by a process that was killed, or a
flipped bit, is never read as a result: its cell counts as not computed. Several processes may add
to one file.
"""

import hashlib
import json
import os
import uuid
import warnings
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell

_HEADER = {"store": "sparsetoken", "version": 3}
_NUMBERS = ("value", "uncertainty", "converged")


class StoreError(RuntimeError):
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
        self.path, self.owner = Path(path), uuid.uuid4().hex
        self._states: dict[str, dict[str, Any]] = {}  # the last event of each cell, by its key
        self._begun: dict[str, str] = {}  # who was the first to begin a cell
        self._damaged: list[tuple[int, int]] = []  # where damaged lines begin, and their lengths
        self._end = 0  # of what is read
        if read_only and not self.path.is_file():
            raise StoreError(f"there is no store at {self.path}")
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder, not a store")
        try:
            self._file = self.path.open("rb" if read_only else "a+b", buffering=0)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}") from None
        empty = not os.fstat(self._file.fileno()).st_size
        if not self.refresh() and not empty:
            self.close()
            raise StoreError(
                f"{self.path} is not a store; export stores of sparsetoken 0.2 with that version"
            )
        if empty and not read_only:
            self._append([_HEADER])

    def refresh(self) -> bool:
        """Read what was added, by this process or by others; return whether a line was good."""
        self._file.seek(self._end)
        content, good = self._file.read(), False
        for line in content[: content.rfind(b"\n") + 1].splitlines(keepends=True):
            event = _read_line(line)
            if event is not None:
                self._apply(event)
                good = True
            elif line.strip():
                self._damaged.append((self._end, len(line)))
            self._end += len(line)
        return good

    def _apply(self, event: dict[str, Any]) -> None:
        key, state = event.get("key", ""), event.get("state")
        if state == "begun":
            self._begun.setdefault(key, event["owner"])
        elif key and (state == "done" or self._state(key) != "done"):
            self._states[key] = event

    def _append(self, events: Iterable[dict[str, Any]]) -> None:
        """Add whole lines at once, below whatever half line a killed process has left."""
        content = b"\n" + b"".join(map(_line, events))
        try:
            written = self._file.write(content)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise StoreError(f"{self.path} may not be written to: {reason}") from None
        if written != len(content):
            raise StoreError(f"{self.path} cannot be written to: no space is left")
        self.refresh()

    def add(self, cells: Iterable[Cell]) -> None:
        """Register cells as pending; those that are known stay as they are."""
        new = {cell.key: cell for cell in cells if cell.key not in self._states}
        if new:
            self._append(_event(cell, "pending") for cell in new.values())

    def record(self, cell: Cell, numbers: dict[str, Estimate]) -> None:
        """Write the numbers of a cell, which is done by that."""
        content = {
            quantity: [float(number), float(number.uncertainty), bool(number.converged)]
            for quantity, number in numbers.items()
        }
        self._append([_event(cell, "done", content)])

    def record_failure(self, cell: Cell, error: str) -> None:
        """Write why a cell failed, unless another process has done it."""
        self._append([_event(cell, "failed", error)])

    def begin(self, cells: Iterable[Cell]) -> list[Cell]:
        """Say that this process begins to compute the cells; return those that no other has begun.

        This spares work and promises nothing: a process that has begun a cell may have died.
        """
        free = [cell for cell in cells if cell.key not in self._begun]
        if free:
            self._append({"key": c.key, "state": "begun", "owner": self.owner} for c in free)
        return [cell for cell in free if self._begun[cell.key] == self.owner]

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return those of the cells that have no numbers yet, also those that failed."""
        self.refresh()
        return [cell for cell in cells if self._state(cell.key) != "done"]

    def retry_failed(self, cells: Iterable[Cell] | None = None) -> int:
        """Return how many cells have failed; they are always computed again."""
        warnings.warn(
            "failed cells are always computed again: retry_failed will go in sparsetoken 0.4",
            FutureWarning,
            stacklevel=2,
        )
        return len(self.failures(cells))

    def counts(self) -> dict[str, int]:
        """Return the number of cells in each state."""
        states = [event["state"] for event in self._select(None)]
        return {state: states.count(state) for state in ("pending", "done", "failed")}

    def failures(self, cells: Iterable[Cell] | None = None) -> list[Failure]:
        """Return the failed cells with their errors."""
        return [
            Failure(
                Cell(event["source"], tuple(event["quantities"]), event["values"]), event["content"]
            )
            for event in self._select(cells)
            if event["state"] == "failed"
        ]

    def rows(
        self, cells: Iterable[Cell] | None = None, *, skip_damaged: bool = False
    ) -> list[dict[str, Any]]:
        """Return the results in long format: the values of the cell, source, quantity, number.

        Parameters
        ----------
        cells : iterable of Cell, optional
            Only these, in their order; by default all, in the order in which they were added.
        skip_damaged : bool, default=False
            Whether to leave out what damaged lines of the file held; otherwise, unless cells are
            named, they raise StoreError.
        """
        events = self._select(cells)
        if self.damaged and cells is None and not skip_damaged:
            raise StoreError(
                f"{self.path} is damaged: {self.damaged} of its lines cannot be read. Run the "
                "sweep again to compute what they held, or leave it out with --skip-damaged"
            )
        return [
            event["values"]
            | {"source": event["source"], "quantity": quantity}
            | dict(zip(_NUMBERS, numbers, strict=True))
            for event in events
            if event["state"] == "done"
            for quantity, numbers in event["content"].items()
        ]

    @property
    def damaged(self) -> int:
        """How many lines of the file cannot be read."""
        return len(self._damaged)

    def clear_damaged(self) -> None:
        """Overwrite damaged lines with blanks, once what they held is computed again."""
        if not self._damaged:
            return
        with self.path.open("r+b") as file:
            for start, length in self._damaged:
                file.seek(start)
                file.write(b" " * (length - 1) + b"\n")
        self._damaged.clear()

    def _state(self, key: str) -> str:
        return str(self._states[key]["state"]) if key in self._states else ""

    def _select(self, cells: Iterable[Cell] | None) -> list[dict[str, Any]]:
        self.refresh()
        if cells is None:
            return list(self._states.values())
        return [self._states[cell.key] for cell in cells if cell.key in self._states]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _event(cell: Cell, state: str, content: Any = None) -> dict[str, Any]:
    return {
        "key": cell.key,
        "state": state,
        "source": cell.source,
        "quantities": cell.quantities,
        "values": cell.values,
        "content": content,
    }


def _line(event: dict[str, Any]) -> bytes:
    text = json.dumps(event).encode()
    return _checksum(text) + b" " + text + b"\n"


def _read_line(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, or None if it is damaged."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    return json.loads(text) if checksum == _checksum(text) else None


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()
