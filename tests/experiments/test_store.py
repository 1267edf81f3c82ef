import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from platforms import forbid_writing
from sparsetoken.estimate import Estimate
from sparsetoken.experiments import Store, StoreError, make_cell

CELL = make_cell("theory", "cosine", {"alpha0": 2.0})
OTHER = make_cell("theory", "cosine", {"alpha0": 3.0})
FOUND = {"cosine": Estimate(0.9, 0.01, True)}


def test_states_and_rows(tmp_path):
    path = tmp_path / "results.db"
    with Store(path) as store:
        assert store.counts([CELL, OTHER]) == {"pending": 2, "done": 0, "failed": 0}
        store.record(CELL, FOUND)
        store.record(OTHER, "ValueError: no")
        assert store.counts([CELL, OTHER]) == {"pending": 0, "done": 1, "failed": 1}
        assert store.counts() == {"done": 1, "failed": 1}
        assert [(f.cell, f.error) for f in store.failures()] == [(OTHER, "ValueError: no")]
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
        store.record(CELL, FOUND)
        store.record(CELL, "too late")
        assert store.counts()["done"] == 1
    with Store(tmp_path / "results.db") as store:
        assert store.counts()["done"] == 1


def test_files_that_are_no_stores(tmp_path):
    with pytest.raises(StoreError, match="there is no store at"):
        Store(tmp_path / "missing.db", read_only=True)
    with pytest.raises(StoreError, match="is a folder"):
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
