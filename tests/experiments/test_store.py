import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from sparsetoken.estimate import Estimate
from sparsetoken.experiments import Store, StoreError, make_cell

CELL = make_cell("theory", "cosine", {"alpha0": 2.0})
OTHER = make_cell("theory", "cosine", {"alpha0": 3.0})
FOUND = {"cosine": Estimate(0.9, 0.01, True)}


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
            store.retry_failed()
    with Store(path) as store:
        assert store.pending([CELL, OTHER]) == set()
        assert store.retry_failed([CELL]) == 0
        assert store.retry_failed() == 1
        assert store.pending([CELL, OTHER]) == {OTHER}
        assert store.counts() == {"pending": 1, "done": 1, "failed": 0}


def test_a_failure_does_not_undo_a_result(tmp_path):
    with Store(tmp_path / "results.db") as store:
        store.add([CELL])
        store.record(CELL, FOUND)
        store.record_failure(CELL, "too late")
        assert store.counts()["done"] == 1


def test_write_ahead_log_and_schema_version(tmp_path):
    path = tmp_path / "results.db"
    Store(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    for version, message in (
        (99, "schema version 99, this sparsetoken reads version 2"),
        (1, r"was written by sparsetoken 0\.1.* export it with that version"),
    ):
        connection.execute(f"PRAGMA user_version = {version}")
        for read_only in (False, True):
            with pytest.raises(StoreError, match=message):
                Store(path, read_only=read_only)
    connection.close()


def test_files_that_are_no_stores(tmp_path):
    with pytest.raises(StoreError, match="there is no store at"):
        Store(tmp_path / "missing.db", read_only=True)
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
from sparsetoken.estimate import Estimate
from sparsetoken.experiments import Store, make_cell
path, who = sys.argv[1], int(sys.argv[2])
for i in range(60):
    with Store(path) as store:
        for alpha in (1.0 + i, 100.0 + i + 100 * who):
            cell = make_cell("theory", "cosine", {"alpha0": alpha})
            store.add([cell])
            store.record(cell, {"cosine": Estimate(alpha)})
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


def filled(path, size=60):
    """Make a store with many numbers, and return what it holds."""
    with Store(path) as store:
        for i in range(size):
            cell = make_cell("theory", ["cosine", "sharpness"], {"alpha0": 1.0 + i})
            store.add([cell])
            store.record(cell, {"cosine": Estimate(i / 7, 1e-3), "sharpness": Estimate(1.0 + i)})
    with Store(path) as store:
        return store.rows()


def test_rows_of_some_cells_in_their_order(tmp_path):
    filled(tmp_path / "results.db", 600)
    cells = [make_cell("theory", ["cosine", "sharpness"], {"alpha0": 1.0 + i}) for i in range(600)]
    with Store(tmp_path / "results.db", read_only=True) as store:
        rows = store.rows(cells[::-1])
        assert [row["alpha0"] for row in rows[::2]] == [float(a) for a in range(600, 0, -1)]
        assert len(store.rows(cells[:3])) == 6


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a read-only folder")
def test_a_finished_store_on_read_only_media(tmp_path):
    folder = tmp_path / "media"
    folder.mkdir()
    rows = filled(folder / "results.db")
    (folder / "results.db").chmod(0o400)
    folder.chmod(0o500)
    try:
        with Store(folder / "results.db", read_only=True) as store:
            assert store.rows() == rows
            assert store.counts()["done"] == 60
        with pytest.raises(StoreError, match=r"results\.db"):
            Store(folder / "results.db")
    finally:
        folder.chmod(0o700)


def test_a_file_that_nobody_can_change_is_read(tmp_path):
    """What read-only media do, also where root may write anywhere: no log, no lock file."""
    rows = filled(tmp_path / "results.db")
    with Store(tmp_path / "results.db", read_only=True) as store:
        assert store.rows() == rows
    assert [path.name for path in tmp_path.iterdir()] == ["results.db"]


def test_no_flipped_bit_is_read_as_another_number(tmp_path):
    """Of 400 random bit flips each is harmless, or an error that names the file."""
    path, copy = tmp_path / "results.db", tmp_path / "copy.db"
    rows = filled(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    flips = rng.integers(8 * len(content), size=400)
    messages, salvaged = [], 0
    for flip in flips.tolist():
        damaged = bytearray(content)
        damaged[flip // 8] ^= 1 << flip % 8
        copy.write_bytes(damaged)
        try:
            with Store(copy, read_only=True) as store:
                good = store.rows(skip_damaged=True)
                salvaged += 0 < len(good) < len(rows)
                assert all(row in rows for row in good), flip
                assert store.rows() == rows, flip
        except StoreError as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert salvaged > 50
    assert all(str(copy) in message for message in messages)
    assert sum("can be read with" in message for message in messages) >= salvaged


def test_a_claim_ends_with_its_process_or_its_lease(tmp_path, monkeypatch):
    path = tmp_path / "results.db"
    code = """
import sys
from sparsetoken.experiments import Store, make_cell
cell = make_cell("theory", "cosine", {"alpha0": 2.0})
store = Store(sys.argv[1])
store.add([cell])
print(store.claim([cell])[0] == [cell], flush=True)
sys.stdin.read()
"""
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout.readline() == "True\n"
    with Store(path) as store:
        assert store.claim([CELL]) == ([], [CELL])
        other.kill()
        other.communicate()
        assert store.claim([CELL]) == ([CELL], [])
    elsewhere = "far-away 1 x"
    with Store(path) as store, Store(path) as second:
        store.owner = elsewhere  # of another machine only the lease can tell
        store._execute("UPDATE cells SET owner = NULL")
        assert store.claim([CELL]) == ([CELL], [])
        assert second.claim([CELL]) == ([], [CELL])
        store._execute("UPDATE cells SET lease = lease - 61")
        assert second.claim([CELL]) == ([CELL], [])
        with second.claims():
            assert store.claim([CELL]) == ([], [CELL])
        assert store.claim([CELL]) == ([CELL], [])  # given up at the end
