"""The results of sweeps in one file, to which lines are only ever added, and runs that fill it.

A line is the outcome of a cell, with a checksum: one that a killed process has half written, or
with a flipped bit, is not read, and its cell counts as not computed. Several processes may add to
one file; each line is written at once.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, as_completed
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell, compute_together, group_into_tasks
from sparsetoken.experiments.sweep import Sweep
from sparsetoken.experiments.workers import ClusterError

Outcome = dict[str, Estimate] | str
"""The numbers of a cell, or its error: as text, for some errors cannot cross processes."""

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
        self._lines: dict[str, dict[str, Any]] = {}  # what counts for each cell, by its key
        self._end = 0  # of what is read
        try:
            self._file = self.path.open("rb" if read_only else "a+b", buffering=0)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}") from None
        if not self.refresh() and self.path.stat().st_size:
            self.close()
            raise StoreError(f"{self.path} is not a store of sparsetoken")
        if not self._end and not read_only:
            self._append(_HEADER)

    def refresh(self) -> bool:
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
            key = entry.get("key")
            if key and (entry["state"] == "done" or not self._is_done(key)):
                self._lines[key] = entry
        self._end += whole
        return good

    def _is_done(self, key: str) -> bool:
        return self._lines.get(key, {}).get("state") == "done"

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
        self.refresh()

    def record(self, cell: Cell, outcome: Outcome) -> None:
        """Write the numbers of a cell, or the error that it ended in."""
        described = {"source": cell.source, "quantities": cell.quantities, "values": cell.values}
        content: Any = outcome
        state = "failed" if isinstance(outcome, str) else "done"
        if not isinstance(outcome, str):
            content = {
                quantity: [float(number), float(number.uncertainty), bool(number.converged)]
                for quantity, number in outcome.items()
            }
        self._append({"key": cell.key, "state": state} | described | {"content": content})

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return those of the cells that have no numbers yet, also those that failed."""
        self.refresh()
        return [cell for cell in cells if not self._is_done(cell.key)]

    def counts(self, cells: Sequence[Cell] | None = None) -> dict[str, int]:
        """Return how many cells are done and failed; of some cells also how many are pending."""
        counts = {state: len(self._select(cells, state)) for state in ("done", "failed")}
        return counts if cells is None else counts | {"pending": len(cells) - sum(counts.values())}

    def failures(self, cells: Iterable[Cell] | None = None) -> list[Failure]:
        """Return the failed cells with their errors."""
        return [
            Failure(
                Cell(line["source"], tuple(line["quantities"]), line["values"]), line["content"]
            )
            for line in self._select(cells, "failed")
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
            | dict(zip(_NUMBERS, numbers, strict=True))
            for line in self._select(cells, "done")
            for quantity, numbers in line["content"].items()
        ]

    def _select(self, cells: Iterable[Cell] | None, state: str) -> list[dict[str, Any]]:
        self.refresh()
        keys = self._lines if cells is None else [cell.key for cell in cells]
        lines = [self._lines[key] for key in keys if key in self._lines]
        return [line for line in lines if line["state"] == state]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()


class Report(NamedTuple):
    """What a run did."""

    computed: int
    failed: int
    already_done: int


def run(
    sweep: Sweep,
    store: Store,
    executor: Executor | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compute the cells that the store does not have, and write each as it completes.

    Parameters
    ----------
    sweep : Sweep
        What to compute.
    store : Store
        Where the results go. Cells that are done are not computed again, those that failed are.
        Several processes may run one sweep on one store; they may then do the same work twice.
    executor : Executor, optional
        Anything with the interface of concurrent.futures; by default the cells run one after the
        other in this process. A worker that dies raises RuntimeError; what is finished is kept.
    progress : callable, optional
        Called with the number of finished cells and of all cells.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.experiments import Grid, Store, Sweep, run
    >>> sweep = Sweep([Grid(["cosine"], {"alpha0": [1.0, 2.0]}, {"dim": 50, "trials": 2})])
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/results.db") as store:
    ...     run(sweep, store)
    ...     run(sweep, store)
    Report(computed=4, failed=0, already_done=0)
    Report(computed=0, failed=0, already_done=4)
    """
    cells = sweep.cells()
    missing = set(store.missing(cells))
    computed = failed = 0
    show = progress or (lambda done, total: None)
    show(len(cells) - len(missing), len(cells))
    # A task is computed whole even if a part of it is known: its numbers then do not depend on
    # where an earlier run was stopped.
    tasks = [task for task in group_into_tasks(cells) if missing.intersection(task)]
    for cell, outcome in _outcomes(tasks, executor):
        if cell in missing:
            store.record(cell, outcome)
            failed += isinstance(outcome, str)
            computed += not isinstance(outcome, str)
            show(len(cells) - len(missing) + computed + failed, len(cells))
    return Report(computed, failed, len(cells) - len(missing))


def collect(
    sweep: Sweep, store: Store, executor: Executor | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Compute what the store lacks of a sweep, and return the whole table.

    The table has no holes: a cell that fails raises RuntimeError.

    Parameters
    ----------
    sweep, store, executor, **options
        As in :func:`run`.
    """
    run(sweep, store, executor, **options)
    cells = sweep.cells()
    failures = store.failures(cells)
    if failures:
        first = failures[0]
        raise RuntimeError(
            f"{len(failures)} of {len(cells)} cells failed; the first, "
            f"{first.cell.describe()}: {first.error}"
        )
    return [row | dict(grid.columns) for grid, cells in sweep.parts for row in store.rows(cells)]


def compute_or_error(task: Sequence[Cell]) -> list[Outcome]:
    """Compute the cells of a task; should one fail, each by itself."""
    try:
        return list(compute_together(task))
    except Exception as error:  # whatever it is, it belongs in the store
        if len(task) == 1:
            return [f"{type(error).__name__}: {error}"]
    return [outcome for cell in task for outcome in compute_or_error([cell])]


def _outcomes(
    tasks: list[tuple[Cell, ...]], executor: Executor | None
) -> Iterator[tuple[Cell, Outcome]]:
    """Yield cells with their numbers or errors as the executor, or this process, completes them."""
    if executor is None:
        for task in tasks:
            yield from zip(task, compute_or_error(task), strict=True)
        return
    running = {executor.submit(compute_or_error, task): task for task in tasks}
    try:
        for future in as_completed(running):
            yield from zip(running[future], future.result(), strict=True)
    except CancelledError:
        raise ClusterError("the Dask scheduler is gone; what is finished is kept") from None
    except Exception as error:
        if not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":
            raise
        raise RuntimeError(
            "a worker has died, perhaps for want of memory; what is finished is kept: run it "
            "again, with fewer workers"
        ) from None
