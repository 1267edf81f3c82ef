import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sparsetoken.experiments import Grid, Store, Sweep, local_processes, run

AXES = {"alpha0": [0.5, 1.0, 2.0], "signal": [3.0, 5.0]}
SWEEP = Sweep([Grid(["cosine"], AXES, {"dim": 50, "trials": 3})])


def table(store, sweep):
    return store.rows(sweep.cells())


def test_result_does_not_depend_on_who_computes(tmp_path):
    tables = []
    with Store(tmp_path / "serial.db") as store:
        assert run(SWEEP, store).computed == 12
        tables.append(table(store, SWEEP))
    with Store(tmp_path / "threads.db") as store, ThreadPoolExecutor(3) as threads:
        assert run(SWEEP, store, threads).computed == 12
        tables.append(table(store, SWEEP))
    with Store(tmp_path / "processes.db") as store, local_processes(2) as processes:
        assert run(SWEEP, store, processes, in_flight=3).computed == 12
        tables.append(table(store, SWEEP))
    backwards = Sweep(
        [Grid(["cosine"], {n: v[::-1] for n, v in AXES.items()}, SWEEP.grids[0].fixed)]
    )
    with Store(tmp_path / "backwards.db") as store:
        run(backwards, store)
        tables.append(table(store, SWEEP))
    assert len(tables[0]) == 12
    assert all(found == tables[0] for found in tables[1:])


def test_failures_are_recorded_and_retried_on_request(tmp_path):
    rates = {"positive_rate": [0.5, 1e-9]}
    fixed = {"model": "pooled", "alpha": 1.0, "dim": 20, "trials": 2}
    sweep = Sweep([Grid(["test_error"], rates, fixed, ["simulation"])])
    with Store(tmp_path / "results.db") as store:
        assert run(sweep, store) == (1, 1, 0)
        assert "only one class" in store.failures()[0].error
        assert len(store.rows()) == 1
        assert run(sweep, store) == (0, 0, 2)
        store.retry_failed()
        assert run(sweep, store) == (0, 1, 1)


KILLED = """
import sys
from sparsetoken.experiments import Store, load_sweep, local_processes, run
if __name__ == "__main__":
    with Store(sys.argv[2]) as store, local_processes(2) as processes:
        run(load_sweep(sys.argv[1]), store, processes)
"""


def test_nothing_finished_is_lost_when_the_process_is_killed(tmp_path):
    """SIGKILL after some cells are done; a second run does only the rest, with the same table."""
    toml, path, script = tmp_path / "sweep.toml", tmp_path / "results.db", tmp_path / "run.py"
    toml.write_text(
        """
        quantities = ["test_error"]
        sources = ["simulation"]
        fixed = {model = "pooled", dim = 200, trials = 12}
        axes = {alpha = {start = 1, stop = 4, count = 24}}
        """
    )
    script.write_text(KILLED)
    process = subprocess.Popen([sys.executable, script, toml, path], start_new_session=True)
    done = 0
    while process.poll() is None and done < 3:
        time.sleep(0.02)
        if path.exists() and path.stat().st_size:
            with Store(path) as store:
                done = store.counts()["done"]
    assert process.poll() is None, "the run ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    from sparsetoken.experiments import load_sweep

    sweep = load_sweep(toml)
    with Store(path) as store, Store(tmp_path / "whole.db") as whole:
        counts = store.counts()
        assert 3 <= counts["done"] < 24
        assert counts["failed"] == 0
        kept = store.rows()
        report = run(sweep, store)
        assert report == (24 - counts["done"], 0, counts["done"])
        run(sweep, whole)
        assert table(store, sweep) == table(whole, sweep)
        assert all(row in table(whole, sweep) for row in kept)
    _wait_until_gone(process.pid)


def _wait_until_gone(session):
    """The workers of a killed process end by themselves."""
    for _ in range(500):
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("workers outlive the process that started them")


def test_a_worker_that_dies_is_replaced(tmp_path):
    fixed = {"model": "pooled", "dim": 200, "trials": 12}
    axes = {"alpha": [1.0 + i / 8 for i in range(16)]}
    sweep = Sweep([Grid(["test_error"], axes, fixed, ["simulation"])])
    killed = []
    with Store(tmp_path / "results.db") as store, local_processes(2) as processes:

        def kill_one(done, total):
            if done >= 2 and not killed:
                killed.append(next(iter(processes._pool._processes)))
                os.kill(killed[0], signal.SIGKILL)

        assert run(sweep, store, processes, progress=kill_one) == (16, 0, 0)
        found = table(store, sweep)
    assert killed
    with Store(tmp_path / "whole.db") as whole:
        run(sweep, whole)
        assert found == table(whole, sweep)
