"""Where cells run: processes of this machine, or a Dask cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Annotated

import typer

from sparsetoken.cli.output import CommandError
from sparsetoken.experiments.cluster import dask_executor, local_cluster
from sparsetoken.experiments.execution import local_processes

__all__ = ["Cluster", "Scheduler", "Workers", "chosen_executor"]

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes on this machine; by default one per processor."),
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster at this address.")
]
Cluster = Annotated[
    str | None, typer.Option(metavar="local", help="'local' starts a Dask cluster here.")
]


@contextmanager
def chosen_executor(
    workers: int | None, scheduler: str | None = None, cluster: str | None = None
) -> Iterator[Executor]:
    """Provide the executor that the options ask for."""
    if scheduler is not None and cluster is not None:
        raise ValueError("give either --scheduler or --cluster, not both")
    if cluster not in (None, "local"):
        raise ValueError(f"--cluster must be 'local', got {cluster!r}")
    if scheduler is not None:
        executor = dask_executor(scheduler)
    elif cluster is not None:
        executor = local_cluster(workers)
    else:
        executor = local_processes(workers)
    try:
        with executor as opened:
            yield opened
    except KeyboardInterrupt:
        raise CommandError("stopped; what is finished is kept") from None
