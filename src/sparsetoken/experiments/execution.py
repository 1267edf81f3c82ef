"""Running a sweep through the concurrent.futures interface, into a store."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from typing import Any, NamedTuple

from sparsetoken._validation import check_real
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.computation import Outcome, curves
from sparsetoken.experiments.computation import compute_or_error as attempt
from sparsetoken.experiments.store import Store
from sparsetoken.experiments.sweep import Sweep
from sparsetoken.experiments.workers import ClusterError, Here, available_workers

__all__ = ["Progress", "Report", "collect", "run"]

Progress = Callable[[int, int], None]
Curve = tuple[Cell, ...]
_CHANCES = 2  # of a cell whose worker died while nothing else ran
_PAUSE = 0.2  # seconds between looks at what other processes do


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
    in_flight: int | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compute the cells that the store does not have, and write each as it completes.

    Parameters
    ----------
    sweep : Sweep
        What to compute.
    store : Store
        Where the results go. Cells that are done, or have failed, are not computed again; those
        that another process is computing are waited for.
    executor : Executor, optional
        Anything with the interface of concurrent.futures; by default the cells run one after the
        other in this process.
    in_flight : int, optional
        How many tasks the executor holds at once; by default four per processor.
    time_limit : float, optional
        Seconds that a cell may take; one that takes longer has failed.
    progress : callable, optional
        Called with the number of finished cells and of all cells.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.experiments import Grid, Store, Sweep, run
    >>> sweep = Sweep([Grid(["cosine"], {"alpha0": [1.0, 2.0]}, {"dim": 100, "trials": 4})])
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/results.db") as store:
    ...     run(sweep, store)
    ...     run(sweep, store)
    Report(computed=4, failed=0, already_done=0)
    Report(computed=0, failed=0, already_done=4)
    """
    if time_limit is not None:
        check_real("time_limit", time_limit, 0.0, above=True)
    cells = sweep.cells()
    store.add(cells)
    pending = store.pending(cells)
    finished = len(cells) - len(pending)
    computed = failed = 0
    show = progress or (lambda done, total: None)
    show(finished, len(cells))
    limit = 1 if executor is None else in_flight or 4 * available_workers()
    work = _Work(store, executor or Here(), limit, time_limit)
    # A curve is computed whole even if a part of it is known: its numbers then do not depend on
    # where an earlier run was stopped.
    tasks = [(curve, [cell for cell in curve if cell in pending]) for curve in curves(cells)]
    with store.claims():
        for cell, outcome in work.outcomes(task for task in tasks if task[1]):
            if isinstance(outcome, str):
                store.record_failure(cell, outcome)
                failed += 1
            elif outcome:
                store.record(cell, outcome)
                computed += 1
            finished += 1
            show(finished, len(cells))
    return Report(computed, failed, len(cells) - computed - failed)


def collect(
    sweep: Sweep, store: Store, executor: Executor | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Compute what the store lacks of a sweep, and return the whole table.

    The table has no holes: cells that failed before are tried again, and one that fails now raises
    RuntimeError.

    Parameters
    ----------
    sweep, store, executor, **options
        As in :func:`run`.
    """
    cells = sweep.cells()
    store.retry_failed(cells)
    run(sweep, store, executor, **options)
    failures = store.failures(cells)
    if failures:
        first = failures[0]
        raise RuntimeError(
            f"{len(failures)} of {len(cells)} cells failed; the first, "
            f"{first.cell.describe()}: {first.error}"
        )
    return [row | dict(grid.columns) for grid, cells in sweep.parts for row in store.rows(cells)]


class _Work:
    """Cells on their way through an executor.

    When a worker dies, all that its executor held is suspect: it is run again, one cell at a time
    with nothing beside it, so that only the cell that kills its worker can be blamed.
    """

    def __init__(
        self, store: Store, executor: Executor, limit: int, time_limit: float | None
    ) -> None:
        self._store, self._executor = store, executor
        self._limit, self._time_limit = limit, time_limit
        self._running: dict[Future[list[Outcome]], tuple[Curve, list[Cell]]] = {}
        self._suspects: deque[Cell] = deque()

    def outcomes(self, tasks: Iterable[tuple[Curve, list[Cell]]]) -> Iterator[tuple[Cell, Outcome]]:
        """Yield the wanted cells of each curve; without numbers if another process has them."""
        waiting = deque(tasks)
        elsewhere: list[Cell] = []
        try:
            while waiting or elsewhere or self._running or self._suspects:
                while waiting and len(self._running) < self._limit and not self._suspects:
                    curve, wanted = waiting.popleft()
                    mine, taken = self._store.claim(wanted)
                    elsewhere += taken
                    yield from ((cell, {}) for cell in wanted if cell not in {*mine, *taken})
                    if mine:
                        self._running[self._submit(curve)] = curve, mine
                if self._running:
                    yield from self._completed()
                elif self._suspects:
                    cell = self._suspects.popleft()
                    yield cell, self._alone(cell)
                elif elsewhere and not waiting:
                    time.sleep(_PAUSE)
                    waiting.extend(((cell,), [cell]) for cell in elsewhere)
                    elsewhere = []
        finally:
            for future in self._running:
                future.cancel()

    def _submit(self, curve: Curve) -> "Future[list[Outcome]]":
        return self._executor.submit(attempt, curve)

    def _completed(self) -> Iterator[tuple[Cell, Outcome]]:
        completed, _ = wait(self._running, return_when=FIRST_COMPLETED)
        for future in completed:
            curve, mine = self._running.pop(future)
            found = _result(future)
            if found is None:
                self._suspects.extend(mine)
            else:
                by_cell = dict(zip(curve, found, strict=True))
                yield from ((cell, by_cell[cell]) for cell in mine)

    def _alone(self, cell: Cell) -> Outcome:
        for _ in range(_CHANCES):
            found = _result(self._submit((cell,)))
            if found is not None:
                return found[0]
        return "it ended its worker, twice and with nothing beside it"


def _result(future: "Future[list[Outcome]]") -> list[Outcome] | None:
    """Return the outcomes of a task, or None if its worker was lost."""
    try:
        return future.result()
    except BrokenExecutor:
        return None
    except CancelledError:
        raise ClusterError("the Dask scheduler is gone; what is finished is kept") from None
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            return None
        raise
