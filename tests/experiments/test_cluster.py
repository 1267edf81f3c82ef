import os
import signal

import pytest

from sparsetoken.experiments import Grid, Store, Sweep, run
from sparsetoken.experiments.cluster import UnreachableError, dask_executor, local_cluster

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")

FIXED = {"model": "pooled", "dim": 200, "trials": 10}
SWEEP = Sweep(
    [Grid(["test_error"], {"alpha": [1.0 + i / 8 for i in range(20)]}, FIXED, ["simulation"])]
)


def test_a_killed_worker_costs_nothing(tmp_path):
    """Two workers, one killed after some cells: the table is complete and equal."""
    killed = []
    with Store(tmp_path / "results.db") as store, local_cluster(2) as executor:
        client = executor._client

        def kill_one(done, total):
            if done >= 3 and not killed:
                workers = client.scheduler_info()["workers"]
                assert len(workers) == 2
                killed.append(client.run(os.getpid, workers=[next(iter(workers))]))
                os.kill(next(iter(killed[0].values())), signal.SIGKILL)

        assert run(SWEEP, store, executor, in_flight=20, progress=kill_one) == (20, 0, 0)
        found = store.rows(SWEEP.cells())
    assert killed
    with Store(tmp_path / "whole.db") as whole:
        run(SWEEP, whole)
        assert found == whole.rows(SWEEP.cells())


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
        pytest.raises(UnreachableError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:1"),
        dask_executor("tcp://127.0.0.1:1"),
    ):
        pass
