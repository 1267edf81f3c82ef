"""Running a sweep through the concurrent.futures interface, into a store."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from typing import Any, NamedTuple

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell, compute_together, group_into_tasks
from sparsetoken.experiments.store import Store
from sparsetoken.experiments.sweep import Sweep
from sparsetoken.experiments.workers import ClusterError, available_workers

Curve = tuple[Cell, ...]
Outcome = dict[str, Estimate] | str
"""The numbers of a cell, or its error: as text, for some errors cannot cross processes."""


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
        Several processes may run one sweep on one store: what another has begun is left to it
        until nothing else is to be done.
    executor : Executor, optional
        Anything with the interface of concurrent.futures; by default the cells run one after the
        other in this process.
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
    store.add(cells)
    finished = len(cells) - len(store.missing(cells))
    computed = failed = 0
    show = progress or (lambda done, total: None)
    show(finished, len(cells))
    for cell, outcome in _outcomes(_tasks(store, group_into_tasks(cells)), executor):
        if isinstance(outcome, str):
            store.record_failure(cell, outcome)
            failed += 1
        elif store.missing([cell]):
            store.record(cell, outcome)
            computed += 1
        show(finished + computed + failed, len(cells))
    show(len(cells), len(cells))  # other processes may have computed some
    store.clear_damaged()
    return Report(computed, failed, len(cells) - computed - failed)


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


def _tasks(store: Store, every: Iterable[Curve]) -> Iterator[Curve]:
    """Yield the curves that lack a cell, each when its turn comes; those of others at the end.

    A curve is computed whole even if a part of it is known: its numbers then do not depend on
    where an earlier run was stopped.
    """
    begun_by_others = []
    for curve in every:
        missing = store.missing(curve)
        if missing and store.begin(missing):
            yield curve
        elif missing:
            begun_by_others.append(curve)
    yield from (curve for curve in begun_by_others if store.missing(curve))


def _outcomes(tasks: Iterator[Curve], executor: Executor | None) -> Iterator[tuple[Cell, Outcome]]:
    """Yield cells with their numbers or errors as the executor, or this process, completes them.

    When a worker dies, all that the executor held is suspect: it is run again, one cell at a time
    with nothing beside it, so that only the cell that kills its worker can be blamed.
    """
    if executor is None:
        for curve in tasks:
            yield from zip(curve, compute_or_error(curve), strict=True)
        return
    limit = 4 * available_workers()  # tasks that the executor holds at once
    running: dict[Future[list[Outcome]], Curve] = {}
    suspects: deque[Cell] = deque()
    while True:
        while not suspects and len(running) < limit and (task := next(tasks, None)):
            running[executor.submit(compute_or_error, task)] = task
        if not running and not suspects:
            return
        alone = not running
        if alone:
            task = (suspects.popleft(),)
            running[executor.submit(compute_or_error, task)] = task
        completed, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in completed:
            curve = running.pop(future)
            outcomes = _result(future)
            if outcomes is None and not alone:
                suspects.extend(curve)
            else:
                yield from zip(curve, outcomes or ["it ended its worker"], strict=True)


def compute_or_error(curve: Sequence[Cell]) -> list[Outcome]:
    """Compute the cells of a task; should one fail, each by itself."""
    try:
        return list(compute_together(curve))
    except Exception as error:  # whatever it is, it belongs in the store
        if len(curve) == 1:
            return [f"{type(error).__name__}: {error}"]
    return [outcome for cell in curve for outcome in compute_or_error([cell])]


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
