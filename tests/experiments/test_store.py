import sqlite3
import subprocess
import sys

import pytest

from sparsetoken.experiments import Measurement, Store, StoreError, make_cell

CELL = make_cell("theory", "cosine", {"alpha0": 2.0})
OTHER = make_cell("theory", "cosine", {"alpha0": 3.0})
FOUND = {"cosine": Measurement(0.9, 0.01, True)}


def test_states_and_rows(tmp_path):
    path = tmp_path / "results.db"
    with Store(path) as store:
        store.add([CELL, OTHER])
        store.add([CELL])
        assert store.counts() == {"pending": 2, "done": 0, "failed": 0}
        store.record(CELL, FOUND)
        store.record_failure(OTHER, "ValueError: no")
        assert store.counts() == {"pending": 0, "done": 1, "failed": 1}
        assert [(f.cell, f.error) for f in store.failures()] == [(OTHER, "ValueError: no")]
    with Store(path, create=False) as store:
        (row,) = store.rows()
        assert row == CELL.values | {
            "source": "theory",
            "quantity": "cosine",
            "value": 0.9,
            "standard_error": 0.01,
            "converged": True,
        }
        assert store.rows([OTHER]) == []
        assert store.retry_failed() == 1
        assert store.counts() == {"pending": 1, "done": 1, "failed": 0}


def test_a_failure_does_not_undo_a_result(tmp_path):
    with Store(tmp_path / "results.db") as store:
        store.add([CELL])
        store.record(CELL, FOUND)
        store.record_failure(CELL, "too late")
        assert store.state(CELL) == "done"


def test_write_ahead_log_and_schema_version(tmp_path):
    path = tmp_path / "results.db"
    Store(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="schema version 99, this sparsetoken reads version 1"):
        Store(path)


def test_files_that_are_no_stores(tmp_path):
    with pytest.raises(StoreError, match="there is no store at"):
        Store(tmp_path / "missing.db", create=False)
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "nowhere" / "results.db")
    text = tmp_path / "notes.txt"
    text.write_text("some notes, longer than the header of a database " * 20)
    with pytest.raises(StoreError, match="it is not a store"):
        Store(text)
    assert "some notes" in text.read_text()
    foreign = tmp_path / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE things (a)")
    connection.close()
    with pytest.raises(StoreError, match="another program"):
        Store(foreign)


def test_two_processes_write_one_store(tmp_path):
    """Each process records its own cells and all of the common ones, as fast as it can."""
    path = tmp_path / "results.db"
    code = """
import sys
from sparsetoken.experiments import Measurement, Store, make_cell
path, who = sys.argv[1], int(sys.argv[2])
for i in range(60):
    with Store(path) as store:
        for alpha in (1.0 + i, 100.0 + i + 100 * who):
            cell = make_cell("theory", "cosine", {"alpha0": alpha})
            store.add([cell])
            store.record(cell, {"cosine": Measurement(alpha)})
"""
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(who)]) for who in (0, 1)
    ]
    assert [worker.wait() for worker in workers] == [0, 0]
    with Store(path) as store:
        rows = store.rows()
        assert store.counts() == {"pending": 0, "done": 180, "failed": 0}
    assert sorted(row["value"] for row in rows) == sorted(row["alpha0"] for row in rows)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
