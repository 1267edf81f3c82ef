import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from statistical import same_rows

from platforms import forbid_writing, unix
from sparsetoken.estimate import Estimate
from sparsetoken.experiments import (
    Grid,
    Store,
    StoreError,
    Sweep,
    collect,
    load_sweep,
    local_processes,
    make_cell,
    run,
)

CELL = make_cell("theory", "cosine", {"alpha0": 2.0})
OTHER = make_cell("theory", "cosine", {"alpha0": 3.0})
FOUND = {"cosine": Estimate(0.9, 0.01, True)}
AXES = {"alpha0": [0.5, 1.0, 2.0], "signal": [3.0, 5.0]}
SWEEP = Sweep([Grid(["cosine"], AXES, {"dim": 50, "trials": 3})])


def test_states_and_rows(tmp_path):
    path = tmp_path / "results.db"
    with Store(path) as store:
        assert store.counts([CELL, OTHER]) == {"pending": 2, "done": 0, "failed": 0}
        store.record(CELL, FOUND)
        store.record(OTHER, "ValueError: no")
        assert store.counts([CELL, OTHER]) == {"pending": 0, "done": 1, "failed": 1}
        assert store.counts() == {"done": 1, "failed": 1}
        assert store.failures() == [(OTHER, "ValueError: no")]
        assert store.missing([CELL, OTHER]) == [OTHER]  # what failed is not done
    with Store(path, read_only=True) as store:
        (row,) = store.rows()
        assert row == CELL.values | {
            "source": "theory",
            "quantity": "cosine",
            "value": 0.9,
            "uncertainty": 0.01,
            "converged": True,
        }
        assert store.rows([OTHER]) == []
        with pytest.raises(StoreError, match="may not be written"):
            store.record(OTHER, FOUND)


def test_a_failure_does_not_undo_a_result(tmp_path):
    with Store(tmp_path / "results.db") as store:
        store.record(CELL, "the first error")
        store.record(CELL, "the last error")
        assert [error for _, error in store.failures()] == ["the last error"]
        store.record(CELL, FOUND)
        store.record(CELL, "too late")
        assert store.counts()["done"] == 1
    with Store(tmp_path / "results.db") as store:
        assert store.counts()["done"] == 1


def test_files_that_are_no_stores(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened: No such file"):
        Store(tmp_path / "missing.db", read_only=True)
    with pytest.raises(StoreError, match="cannot be opened: "):
        Store(tmp_path)
    with pytest.raises(StoreError, match="cannot be opened: No such file"):
        Store(tmp_path / "nowhere" / "results.db")
    text = tmp_path / "notes.txt"
    text.write_text("some notes, line by line\n" * 20)
    with pytest.raises(StoreError, match="is not a store"):
        Store(text)
    assert text.read_text() == "some notes, line by line\n" * 20
    foreign = tmp_path / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE things (a)")
    connection.close()
    with pytest.raises(StoreError, match="is not a store"):
        Store(foreign)


@pytest.mark.system
def test_two_processes_write_one_store(tmp_path):
    """Each process records its own cells and all of the common ones, as fast as it can."""
    path = tmp_path / "results.db"
    code = """
import sys
from sparsetoken.estimate import Estimate
from sparsetoken.experiments import Store, make_cell
path, who = sys.argv[1], int(sys.argv[2])
for i in range(30):
    with Store(path) as store:
        for alpha in (1.0 + i, 100.0 + i + 100 * who):
            cell = make_cell("theory", "cosine", {"alpha0": alpha})
            store.record(cell, {"cosine": Estimate(alpha)})
"""
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(who)]) for who in (0, 1)
    ]
    assert [worker.wait() for worker in workers] == [0, 0]
    with Store(path) as store:
        rows = store.rows()
        assert store.counts() == {"done": 90, "failed": 0}
        assert store.damaged == 0
    assert sorted(row["value"] for row in rows) == sorted(row["alpha0"] for row in rows)


def cells_of(size):
    return [make_cell("theory", ["cosine", "sharpness"], {"alpha0": 1.0 + i}) for i in range(size)]


def filled(path, size=6):
    """Make a store with many numbers, and return what it holds."""
    with Store(path) as store:
        for i, cell in enumerate(cells_of(size)):
            store.record(cell, {"cosine": Estimate(i / 7, 1e-3), "sharpness": Estimate(1.0 + i)})
        return store.rows()


def test_rows_of_some_cells_in_their_order(tmp_path):
    filled(tmp_path / "results.db")
    cells = cells_of(6)
    with Store(tmp_path / "results.db", read_only=True) as store:
        rows = store.rows(cells[::-1])
        assert [row["alpha0"] for row in rows[::2]] == [float(a) for a in range(6, 0, -1)]
        assert len(store.rows(cells[:3])) == 6


def test_a_finished_store_on_read_only_media(tmp_path):
    folder = tmp_path / "media"
    folder.mkdir()
    rows = filled(folder / "results.db")
    (folder / "results.db").chmod(0o400)
    try:
        forbid_writing(folder)
        with Store(folder / "results.db", read_only=True) as store:
            assert store.rows() == rows
        with pytest.raises(StoreError, match=r"results\.db"):
            Store(folder / "results.db")
    finally:
        folder.chmod(0o700)


def test_a_file_that_nobody_can_change_is_read(tmp_path):
    """What read-only media do, also where root may write anywhere: the file alone is opened."""
    rows = filled(tmp_path / "results.db")
    before = (tmp_path / "results.db").read_bytes()
    with Store(tmp_path / "results.db", read_only=True) as store:
        assert store.rows() == rows
    assert [path.name for path in tmp_path.iterdir()] == ["results.db"]
    assert (tmp_path / "results.db").read_bytes() == before


def test_no_flipped_bit_is_read_as_another_number(tmp_path):
    """Of 60 random bit flips each is harmless, or noticed: what it hit counts as not computed."""
    path, copy = tmp_path / "results.db", tmp_path / "copy.db"
    rows, cells = filled(path, 8), cells_of(8)
    content = path.read_bytes()
    noticed = 0
    for flip in np.random.default_rng(0).integers(8 * len(content), size=60).tolist():
        damaged = bytearray(content)
        damaged[flip // 8] ^= 1 << flip % 8
        copy.write_bytes(damaged)
        with Store(copy, read_only=True) as store:
            assert all(row in rows for row in store.rows()), flip
            assert len(store.rows()) == len(rows) - 2 * len(store.missing(cells))
            assert store.damaged or store.rows() == rows, flip
            noticed += bool(store.damaged)
    assert noticed > 50


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.9])
def test_a_half_written_line_costs_its_cell_only(tmp_path, kept):
    """What a process killed while it writes leaves, and what the next one makes of it."""
    path = tmp_path / "results.db"
    with Store(path) as store:
        store.record(CELL, FOUND)
        begin = path.stat().st_size
        store.record(OTHER, FOUND)
    content = path.read_bytes()
    path.write_bytes(content[: begin + int(kept * (len(content) - begin))])
    with Store(path) as store:
        assert store.missing([CELL, OTHER]) == [OTHER]
        assert len(store.rows([CELL, OTHER])) == 1
        store.record(OTHER, FOUND)
        assert len(store.rows([CELL, OTHER])) == 2
    with Store(path, read_only=True) as store:
        assert store.damaged == 1
        assert len(store.rows()) == 2


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
        assert "only one class" in store.failures()[0][1]
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
    done = [i for i, line in enumerate(lines) if b'"content": {' in line]
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
