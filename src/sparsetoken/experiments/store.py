"""The results of sweeps in one file, to which lines are only ever added.

A line is the outcome of a cell, with a checksum: one that a killed process has half written, or
with a flipped bit, is not read, and its cell counts as not computed. Several processes may add to
one file; each line is written at once.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell

Outcome = dict[str, Estimate] | str
"""The numbers of a cell, or its error: as text, for some errors cannot cross processes."""

_HEADER = {"store": "sparsetoken", "version": 3}


class StoreError(RuntimeError):
    """The file cannot serve as a store; the message says why."""


class Store:
    """Results of sweeps in a file.

    Parameters
    ----------
    path : str or path
        The file, made if it does not exist.
    read_only : bool, default=False
        Whether to read an existing file without ever writing, even from read-only media.

    Attributes
    ----------
    damaged : int
        How many lines of the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.experiments import Store, compute, make_cell
    >>> cell = make_cell("theory", "cosine", {"alpha0": 2.0})
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/results.db") as store:
    ...     store.record(cell, compute(cell))
    ...     [round(row["value"], 4) for row in store.rows()]
    [0.9476]
    """

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        self.path, self.damaged = Path(path), 0
        self._done: dict[str, dict[str, Any]] = {}  # lines, by the key of their cell
        self._failed: dict[str, dict[str, Any]] = {}
        self._end = 0  # of what is read
        try:
            self._file = self.path.open("rb" if read_only else "a+b", buffering=0)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}") from None
        if not self._refresh() and self.path.stat().st_size:
            self.close()
            raise StoreError(f"{self.path} is not a store of sparsetoken")
        if not self._end and not read_only:
            self._append(_HEADER)

    def _refresh(self) -> bool:
        """Read what was added, by this process or by others; return whether a line was good."""
        self._file.seek(self._end)
        content, good = self._file.read(), False
        whole = content.rfind(b"\n") + 1
        for line in filter(bytes.strip, content[:whole].splitlines()):
            checksum, _, text = line.partition(b" ")
            if checksum != _checksum(text):
                self.damaged += 1
                continue
            entry, good = json.loads(text), True
            key = entry.get("key")  # the header has none
            if key and isinstance(entry["content"], dict):
                self._done[key] = entry
                self._failed.pop(key, None)
            elif key and key not in self._done:
                self._failed[key] = entry
        self._end += whole
        return good

    def _append(self, entry: dict[str, Any]) -> None:
        """Add a whole line at once, below whatever half line a killed process has left."""
        text = json.dumps(entry).encode()
        content = b"\n" + _checksum(text) + b" " + text + b"\n"
        try:
            written = self._file.write(content)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise StoreError(f"{self.path} may not be written to: {reason}") from None
        if written != len(content):
            raise StoreError(f"{self.path} cannot be written to: no space is left")

    def record(self, cell: Cell, outcome: Outcome) -> None:
        """Write the numbers of a cell, or the error that it ended in."""
        content: Any = outcome
        if not isinstance(outcome, str):
            content = {
                quantity: [float(number), number.uncertainty, bool(number.converged)]
                for quantity, number in outcome.items()
            }
        described = {"source": cell.source, "quantities": cell.quantities, "values": cell.values}
        self._append({"key": cell.key, **described, "content": content})

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return those of the cells that have no numbers yet, also those that failed."""
        self._refresh()
        return [cell for cell in cells if cell.key not in self._done]

    def counts(self, cells: Sequence[Cell] | None = None) -> dict[str, int]:
        """Return how many cells are done and failed; of some cells also how many are pending."""
        done, failed = (len(self._of(cells, lines)) for lines in (self._done, self._failed))
        counts = {"done": done, "failed": failed}
        return counts if cells is None else counts | {"pending": len(cells) - done - failed}

    def failures(self, cells: Iterable[Cell] | None = None) -> list[tuple[Cell, str]]:
        """Return the failed cells, each with its error."""
        return [
            (Cell(line["source"], tuple(line["quantities"]), line["values"]), line["content"])
            for line in self._of(cells, self._failed)
        ]

    def rows(self, cells: Iterable[Cell] | None = None) -> list[dict[str, Any]]:
        """Return the results in long format: the values of the cell, source, quantity, number.

        Parameters
        ----------
        cells : iterable of Cell, optional
            Only these, in their order; by default all, in the order in which they were computed.
        """
        return [
            line["values"]
            | {"source": line["source"], "quantity": quantity}
            | {"value": value, "uncertainty": uncertainty, "converged": converged}
            for line in self._of(cells, self._done)
            for quantity, (value, uncertainty, converged) in line["content"].items()
        ]

    def _of(self, cells: Iterable[Cell] | None, lines: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the lines of some cells, or all."""
        self._refresh()
        keys = list(lines) if cells is None else [cell.key for cell in cells]
        return [lines[key] for key in keys if key in lines]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()
