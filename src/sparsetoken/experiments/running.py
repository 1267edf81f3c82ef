"""Runs of sweeps: in this process, in processes of this machine, on a Dask cluster."""

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, NamedTuple

from sparsetoken._validation import check_count, import_extra
from sparsetoken.experiments.cell import Cell, compute
from sparsetoken.experiments.store import Outcome, Store
from sparsetoken.experiments.sweep import Sweep

_PATIENCE = 5.0  # seconds to wait for a scheduler


class ClusterError(RuntimeError):
    """There is no Dask scheduler at the address, or it has gone."""


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
    missing = store.missing(cells)
    already_done, computed, failed = len(cells) - len(missing), 0, 0
    show = progress or (lambda done, total: None)
    show(already_done, len(cells))
    for cell, outcome in _outcomes(missing, executor):
        store.record(cell, outcome)
        failed += isinstance(outcome, str)
        computed += not isinstance(outcome, str)
        show(already_done + computed + failed, len(cells))
    return Report(computed, failed, already_done)


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
        cell, error = failures[0]
        raise RuntimeError(
            f"{len(failures)} of {len(cells)} cells failed; the first, {cell.describe()}: {error}"
        )
    return [row | dict(grid.columns) for grid, cells in sweep.parts for row in store.rows(cells)]


def compute_or_error(cell: Cell) -> Outcome:
    """Compute a cell; an error comes as text."""
    try:
        return compute(cell)
    except Exception as error:  # whatever it is, it belongs in the store
        return f"{type(error).__name__}: {error}"


def _outcomes(cells: list[Cell], executor: Executor | None) -> Iterator[tuple[Cell, Outcome]]:
    """Yield cells with their numbers or errors as the executor, or this process, completes them."""
    if executor is None:
        yield from ((cell, compute_or_error(cell)) for cell in cells)
        return
    running = {executor.submit(compute_or_error, cell): cell for cell in cells}
    try:
        for future in as_completed(running):
            yield running[future], future.result()
    except CancelledError:
        raise ClusterError("the Dask scheduler is gone; what is finished is kept") from None
    except Exception as error:
        if not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":
            raise
        raise RuntimeError(
            "a worker has died, perhaps for want of memory; what is finished is kept: run it "
            "again, with fewer workers"
        ) from None


@contextmanager
def local_processes(workers: int | None = None) -> Iterator[Executor]:
    """Provide processes on this machine, one per processor unless told; an error ends them."""
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = ours if workers is None else check_count("workers", workers)
    context = process_context("sparsetoken.experiments.cell")
    pool = ProcessPoolExecutor(count, context, initializer=end_with_parent)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def process_context(preload: str) -> Any:
    """Return the way to start processes.

    They are not forked from this process: a fork copies locks that threads may hold. On Linux they
    are forked from one that has imported ``preload`` and has no threads, so that a new process
    takes no time; elsewhere they are spawned.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    return context


def end_with_parent() -> None:
    """Let a worker end when the process that started it is gone, even if that was killed.

    Control-C reaches the workers too; it is for the process that started them to end them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Provide the workers of a running Dask cluster.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://host:8786``. One that does not answer within
        seconds raises ClusterError.
    """
    distributed = import_extra("distributed", "a cluster", "distributed")
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is raised
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ClusterError(f"no Dask scheduler at {address}: {reason}") from None
    with client:
        yield client.get_executor(pure=False)
