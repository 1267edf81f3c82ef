import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from statistical import same_rows

from platforms import unix
from sparsetoken.experiments import (
    Grid,
    Store,
    Sweep,
    collect,
    load_sweep,
    local_processes,
    make_cell,
    run,
)
from sparsetoken.experiments.cell import group_into_tasks
from sparsetoken.experiments.execution import compute_or_error

AXES = {"alpha0": [0.5, 1.0, 2.0], "signal": [3.0, 5.0]}
SWEEP = Sweep([Grid(["cosine"], AXES, {"dim": 50, "trials": 3})])


def table(store, sweep):
    return store.rows(sweep.cells())


@pytest.mark.system
def test_result_does_not_depend_on_who_computes(tmp_path, capfd):
    tables = []
    with Store(tmp_path / "serial.db") as store:
        assert run(SWEEP, store).computed == 12
        tables.append(table(store, SWEEP))
    with Store(tmp_path / "threads.db") as store, ThreadPoolExecutor(3) as threads:
        assert run(SWEEP, store, threads).computed == 12
        tables.append(table(store, SWEEP))
    with Store(tmp_path / "processes.db") as store, local_processes(2) as processes:
        assert run(SWEEP, store, processes).computed == 12
        tables.append(table(store, SWEEP))
    backwards = Sweep(
        [Grid(["cosine"], {n: v[::-1] for n, v in AXES.items()}, SWEEP.grids[0].fixed)]
    )
    with Store(tmp_path / "backwards.db") as store:
        run(backwards, store)
        tables.append(table(store, SWEEP))
    assert len(tables[0]) == 12
    assert all(found == tables[0] for found in tables[1:])
    assert capfd.readouterr().err == ""  # no traceback of a worker


def test_failures_are_recorded_and_not_kept_as_results(tmp_path):
    rates = {"positive_rate": [0.5, 1e-9]}
    fixed = {"model": "pooled", "alpha": 1.0, "dim": 20, "trials": 2}
    sweep = Sweep([Grid(["test_error"], rates, fixed, ["simulation"])])
    with Store(tmp_path / "results.db") as store:
        assert run(sweep, store) == (1, 1, 0)
        assert "only one class" in store.failures()[0].error
        assert len(store.rows()) == 1
        assert run(sweep, store) == (0, 1, 1)  # tried again
        with pytest.raises(RuntimeError, match=r"1 of 2 cells failed; the first, .*1e-09"):
            collect(sweep, store)


def test_damaged_results_are_computed_again(tmp_path):
    path = tmp_path / "results.db"
    with Store(path) as store:
        run(SWEEP, store)
        expected = table(store, SWEEP)
    lines = path.read_bytes().split(b"\n")
    done = [i for i, line in enumerate(lines) if b'"done"' in line]
    lines[done[0]] = lines[done[0]].replace(b"0.", b"1.", 1)
    lines[done[5]] = lines[done[5]][:40]
    path.write_bytes(b"\n".join(lines))
    with Store(path) as store:
        assert store.damaged == 2
        assert run(SWEEP, store) == (2, 0, 10)
        assert table(store, SWEEP) == expected
    with Store(path) as store:
        assert len(store.rows()) == 12


KILLED = """
import sys
from sparsetoken.experiments import Store, load_sweep, local_processes, run
if __name__ == "__main__":
    with Store(sys.argv[2]) as store, local_processes(2) as processes:
        run(load_sweep(sys.argv[1]), store, processes)
"""


@unix
def test_nothing_finished_is_lost_when_the_process_is_killed(tmp_path):
    """SIGKILL after some cells are done; a second run does only the rest, with the same table."""
    toml, path, script = tmp_path / "sweep.toml", tmp_path / "results.db", tmp_path / "run.py"
    toml.write_text(
        """
        quantities = ["test_error"]
        sources = ["simulation"]
        fixed = {model = "pooled", dim = 150, trials = 4}
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
    sweep = load_sweep(toml)
    with Store(path) as store, Store(tmp_path / "whole.db") as whole:
        counts = store.counts()
        assert 3 <= counts["done"] < 24
        assert counts["failed"] == 0
        kept = store.rows()
        report = run(sweep, store)
        assert report == (24 - counts["done"], 0, counts["done"])
        run(sweep, whole)
        assert same_rows(table(store, sweep), table(whole, sweep))
        assert all(row in table(store, sweep) for row in kept)
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


@unix
@pytest.mark.system
def test_a_worker_that_dies_ends_the_run_in_a_sentence(tmp_path, capfd):
    fixed = {"model": "pooled", "dim": 200, "trials": 4}
    axes = {"alpha": [1.0 + i / 8 for i in range(16)]}
    sweep = Sweep([Grid(["test_error"], axes, fixed, ["simulation"])])
    with Store(tmp_path / "results.db") as store:

        def run_and_kill():
            with local_processes(2) as processes:

                def kill_one(done, total):
                    if done >= 2:
                        os.kill(next(iter(processes._processes)), signal.SIGKILL)

                run(sweep, store, processes, progress=kill_one)

        with pytest.raises(RuntimeError, match=r"a worker has died.*what is finished is kept"):
            run_and_kill()
        assert capfd.readouterr().err == ""  # no traceback of a worker
        done = store.counts()["done"]
        assert 2 <= done < 16
        assert run(sweep, store) == (16 - done, 0, done)


@pytest.mark.system
def test_two_processes_on_one_store(tmp_path):
    toml, path = tmp_path / "sweep.toml", tmp_path / "results.db"
    toml.write_text(
        """
        quantities = ["test_error"]
        sources = ["simulation"]
        fixed = {model = "pooled", dim = 60, trials = 2}
        axes = {alpha = {start = 1, stop = 4, count = 30}}
        """
    )
    code = """
import sys
from sparsetoken.experiments import Store, load_sweep, run
with Store(sys.argv[2]) as store:
    run(load_sweep(sys.argv[1]), store)
"""
    command = [sys.executable, "-c", code, toml, path]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    cells = load_sweep(toml).cells()
    with Store(path) as store, Store(tmp_path / "alone.db") as alone:
        assert store.counts(cells) == {"pending": 0, "done": 30, "failed": 0}
        assert store.damaged == 0
        run(load_sweep(toml), alone)
        assert store.rows(cells) == alone.rows(cells)


def test_a_cell_that_fails_spoils_no_other_of_its_task():
    """Without a ridge the theory has no answer below the capacity."""
    values = {"model": "pooled", "reg": 0.0}
    cells = [make_cell("theory", "test_error", values | {"alpha": a}) for a in (8.0, 6.0, 1.0)]
    *good, bad = compute_or_error(cells)
    assert [outcome["test_error"].converged for outcome in good] == [True, True]
    assert bad.startswith("ValueError: reg must be > 0")


def test_a_curve_resumed_has_the_numbers_of_a_whole_one(tmp_path):
    axes = {"alpha": [1.0, 2.0, 3.0, 4.0]}
    sweep = Sweep([Grid(["test_error"], axes, {}, ["theory"])])
    with Store(tmp_path / "whole.db") as whole, Store(tmp_path / "part.db") as part:
        rows = collect(sweep, whole)
        (curve,) = group_into_tasks(sweep.cells())
        part.record(curve[1], compute_or_error(curve)[1])
        assert run(sweep, part) == (3, 0, 1)
        assert collect(sweep, part) == rows
