"""Running a sweep through the concurrent.futures interface, into a store."""

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any, NamedTuple

from sparsetoken._validation import check_count
from sparsetoken.experiments.cell import Cell, Measurement
from sparsetoken.experiments.compute import compute
from sparsetoken.experiments.store import Store
from sparsetoken.experiments.sweep import Sweep

__all__ = ["Progress", "Report", "available_workers", "local_processes", "run"]

Outcome = dict[str, Measurement] | str
Progress = Callable[[int, int], None]
_ATTEMPTS = 3  # of a cell whose worker dies under it


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
    progress: Progress | None = None,
) -> Report:
    """Compute the cells that the store does not have, and write each as it completes.

    Parameters
    ----------
    sweep : Sweep
        What to compute.
    store : Store
        Where the results go. Cells that are done, or have failed, are not computed again.
    executor : Executor, optional
        Anything with the interface of concurrent.futures; by default the cells run one after the
        other in this process.
    in_flight : int, optional
        How many cells the executor holds at once; by default four per processor.
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
    cells = sweep.cells()
    store.add(cells)
    todo = [cell for cell in cells if store.state(cell) == "pending"]
    finished = len(cells) - len(todo)
    computed = failed = 0
    show = progress or (lambda done, total: None)
    show(finished, len(cells))
    outcomes = _serial(todo) if executor is None else _pooled(todo, store, executor, in_flight)
    for cell, outcome in outcomes:
        if isinstance(outcome, str):
            store.record_failure(cell, outcome)
            failed += 1
        elif outcome:
            store.record(cell, outcome)
            computed += 1
        finished += 1
        show(finished, len(cells))
    return Report(computed, failed, len(cells) - computed - failed)


def attempt(cell: Cell) -> Outcome:
    """Compute a cell, or return its error as text: it crosses processes, where some cannot."""
    try:
        return compute(cell)
    except Exception as error:  # whatever it is, it belongs in the store
        return f"{type(error).__name__}: {error}"


def _serial(cells: list[Cell]) -> Iterator[tuple[Cell, Outcome]]:
    for cell in cells:
        yield cell, attempt(cell)


def _pooled(
    cells: list[Cell], store: Store, executor: Executor, in_flight: int | None
) -> Iterator[tuple[Cell, Outcome]]:
    """Yield outcomes as they complete; an empty one if another process has done the cell."""
    limit = in_flight or 4 * available_workers()
    attempts = dict.fromkeys(cells, 0)
    waiting = iter(cells)
    running: dict[Future[Outcome], Cell] = {}
    try:
        while True:
            for cell in itertools.islice(waiting, limit - len(running)):
                if store.state(cell) == "done":
                    yield cell, {}
                    continue
                attempts[cell] += 1
                running[executor.submit(attempt, cell)] = cell
            if not running:
                return
            completed, _ = wait(running, return_when=FIRST_COMPLETED)
            again = []
            for future in completed:
                cell = running.pop(future)
                outcome = _outcome(future)
                if outcome is None and attempts[cell] < _ATTEMPTS:
                    again.append(cell)
                else:
                    yield cell, outcome or f"its worker died {_ATTEMPTS} times"
            waiting = itertools.chain(again, waiting)
    finally:
        for future in running:
            future.cancel()


def _outcome(future: "Future[Outcome]") -> Outcome | None:
    """Return the outcome of a future, or None if its worker was lost."""
    error: Any = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return None
    return f"{type(error).__name__}: {error}"


def available_workers() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_processes(workers: int | None = None) -> Iterator[Executor]:
    """Provide processes on this machine; one that dies is replaced.

    Parameters
    ----------
    workers : int, optional
        How many; by default one per processor.
    """
    count = available_workers() if workers is None else check_count("workers", workers)
    executor = RestartingProcesses(count)
    try:
        yield executor
    except BaseException:
        executor.stop()
        raise
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


class RestartingProcesses(Executor):
    """A pool of processes that is started anew when one of them dies."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = self._start()

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Submit to the pool, or to a fresh one if it is broken."""
        try:
            return self._pool.submit(function, *args, **kwargs)
        except BrokenExecutor:
            self._pool.shutdown(wait=False)
            self._pool = self._start()
            return self._pool.submit(function, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop the processes."""
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def stop(self) -> None:
        """End the processes at once, whatever they are computing."""
        for process in list((self._pool._processes or {}).values()):
            process.terminate()

    def _start(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a fork copies locks that threads of this process may hold.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, context, initializer=end_with_parent)


def end_with_parent() -> None:
    """Let a worker end when the process that started it is gone, even if that was killed.

    Control-C reaches the workers too; it is for the process that started them to end them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
