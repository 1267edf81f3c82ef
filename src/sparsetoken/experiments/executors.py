"""Where the cells of a sweep run: processes of this machine, or a Dask cluster."""

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from joblib import cpu_count

from sparsetoken._validation import check_count, import_extra

_PATIENCE = 5.0  # seconds to wait for a scheduler


class ClusterError(RuntimeError):
    """There is no Dask scheduler at the address, or it has gone."""


@contextmanager
def local_processes(workers: int | None = None) -> Iterator[Executor]:
    """Provide processes on this machine, one per processor unless told; an error ends them."""
    count = cpu_count() if workers is None else check_count("workers", workers)
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
    """Return the way to start processes: not as forks of this one, whose threads may hold locks.

    On Linux they are forks of a process without threads that has imported ``preload``, so that a
    new one takes no time.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    return context


def end_with_parent() -> None:
    """Let a worker end with the process that started it, even if killed, and not by Control-C."""
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
