import os
import re
import signal
import subprocess
import sys

import pytest
from statistical import same_rows

from platforms import unix
from sparsetoken.experiments import (
    ClusterError,
    Grid,
    Store,
    Sweep,
    dask_executor,
    run,
)

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")

pytestmark = pytest.mark.system

FIXED = {"model": "pooled", "dim": 200, "trials": 4}
SWEEP = Sweep(
    [Grid(["test_error"], {"alpha": [1.0 + i / 8 for i in range(20)]}, FIXED, ["simulation"])]
)


@unix
def test_a_killed_worker_costs_nothing(tmp_path):
    """Two workers, one killed after some cells: the table is complete and equal."""
    killed = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        Store(tmp_path / "results.db") as store,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        client = executor._client

        def kill_one(done, total):
            if done >= 3 and not killed:
                workers = client.scheduler_info()["workers"]
                assert len(workers) == 2
                killed.append(client.run(os.getpid, workers=[next(iter(workers))]))
                os.kill(next(iter(killed[0].values())), signal.SIGKILL)

        assert run(SWEEP, store, executor, progress=kill_one) == (20, 0, 0)
        found = store.rows(SWEEP.cells())
    assert killed
    with Store(tmp_path / "whole.db") as whole:
        run(SWEEP, whole)
        assert same_rows(found, whole.rows(SWEEP.cells()))


def test_a_running_cluster_by_its_address(tmp_path):
    small = Sweep([Grid(["cosine"], {"alpha0": [1.0, 2.0]}, {"dim": 50, "trials": 3})])
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        Store(tmp_path / "results.db") as store,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        assert run(small, store, executor).computed == 4


def test_no_scheduler():
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:1"),
        dask_executor("tcp://127.0.0.1:1"),
    ):
        pass


SCHEDULER = """
import asyncio
from distributed import Nanny, Scheduler

async def serve():
    async with Scheduler(port=0, dashboard_address=None) as scheduler:
        async with Nanny(scheduler.address, nthreads=1, dashboard_address=None):
            print(scheduler.address, flush=True)
            await scheduler.finished()

if __name__ == "__main__":
    asyncio.run(serve())
"""


@unix
def test_a_scheduler_that_dies_ends_in_one_sentence(tmp_path, capfd):
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        address = process.stdout.readline().strip()

        def kill(done, total):
            if done >= 2:
                os.killpg(process.pid, signal.SIGKILL)

        with (
            Store(tmp_path / "results.db") as store,
            pytest.raises(ClusterError, match=re.escape("scheduler is gone; what is finished")),
            dask_executor(address) as executor,
        ):
            run(SWEEP, store, executor, progress=kill)
    finally:
        process.kill()
        process.communicate()
    assert capfd.readouterr().err == ""  # no traceback of the cluster's own
    with Store(tmp_path / "results.db") as store:
        counts = store.counts()
        assert counts["done"] >= 2
        assert counts["failed"] == 0
        assert run(SWEEP, store) == (20 - counts["done"], 0, counts["done"])
