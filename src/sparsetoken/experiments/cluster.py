"""Dask clusters behind the concurrent.futures interface."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from sparsetoken.experiments.execution import available_workers

__all__ = ["UnreachableError", "dask_executor", "local_cluster"]

_PATIENCE = 5.0  # seconds to wait for a scheduler


class UnreachableError(Exception):
    """There is no Dask scheduler at the address, or no Dask here."""


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Provide the workers of a running Dask cluster.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://host:8786``. One that does not answer within
        seconds raises UnreachableError.
    """
    client_class = _distributed().Client
    try:
        client = client_class(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreachableError(f"no Dask scheduler at {address}: {reason}") from None
    with client:
        yield client.get_executor(pure=False)


@contextmanager
def local_cluster(workers: int | None = None) -> Iterator[Executor]:
    """Provide a Dask cluster on this machine, with one thread per worker.

    Parameters
    ----------
    workers : int, optional
        How many; by default one per processor.
    """
    distributed = _distributed()
    count = workers or available_workers()
    with (
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client.get_executor(pure=False)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise UnreachableError(
            "Dask is not installed: pip install 'sparsetoken[distributed]'"
        ) from None
    return distributed
