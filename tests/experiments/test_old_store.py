import hashlib
import json
import sqlite3

import pytest

from sparsetoken.estimate import Estimate
from sparsetoken.experiments import Store, StoreError, make_cell

CELLS = [make_cell("theory", "cosine", {"alpha0": float(a)}) for a in (1, 2, 3)]
SCHEMA = """
CREATE TABLE cells (key TEXT PRIMARY KEY, source TEXT, quantities TEXT, cell_values TEXT,
                    state TEXT, content TEXT, checksum TEXT, owner TEXT, lease REAL)
"""


@pytest.fixture
def old(tmp_path):
    """A store as sparsetoken 0.2 wrote it: a cell is done, one failed, one is pending."""
    path = tmp_path / "results.db"
    contents = {"cosine": [0.5, 0.01, True]}, "ValueError: no", None
    with sqlite3.connect(path) as connection:
        connection.execute(SCHEMA)
        connection.execute("PRAGMA application_id = 1398033230")
        connection.execute("PRAGMA user_version = 2")
        for cell, state, content in zip(
            CELLS, ("done", "failed", "pending"), contents, strict=True
        ):
            text = None if content is None else json.dumps(content)
            row = cell.key, "theory", '["cosine"]', json.dumps(cell.values), state, text
            checksum = hashlib.sha256(repr(row).encode()).hexdigest()[:16]
            marks = "?, " * 7
            connection.execute(f"INSERT INTO cells VALUES ({marks}NULL, NULL)", (*row, checksum))
    connection.close()
    return path


def test_its_results_are_kept(old):
    with Store(old, read_only=True) as store:
        assert store.counts() == {"pending": 1, "done": 1, "failed": 1}
        (row,) = store.rows()
        assert (row["value"], row["uncertainty"], row["alpha0"]) == (0.5, 0.01, 1.0)
    assert old.read_bytes().startswith(b"SQLite format 3")  # read, not changed
    with Store(old) as store:
        assert store.rows() == [row]
        assert store.missing(CELLS) == CELLS[1:]
        store.record(CELLS[2], {"cosine": Estimate(0.7)})
    with Store(old) as store:
        assert [row["value"] for row in store.rows()] == [0.5, 0.7]
        assert [failure.error for failure in store.failures()] == ["ValueError: no"]
    assert [path.name for path in old.parent.iterdir()] == ["results.db"]


def test_a_damaged_row_is_left_out(old):
    with sqlite3.connect(old) as connection:
        connection.execute("UPDATE cells SET content = '{\"cosine\": [0.6, 0, true]}'")
    connection.close()
    with Store(old) as store:
        assert store.rows() == []
        assert store.missing(CELLS) == CELLS


@pytest.mark.parametrize(
    ("pragma", "message"),
    [
        ("user_version = 1", r"results\.db .*written by sparsetoken 0\.1: export it"),
        ("application_id = 7", "a database of another program, not a store"),
    ],
)
def test_other_databases_are_refused(old, pragma, message):
    with sqlite3.connect(old) as connection:
        connection.execute(f"PRAGMA {pragma}")
    connection.close()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=message):
            Store(old, read_only=read_only)


def test_a_damaged_database_is_refused(old):
    old.write_bytes(old.read_bytes()[:3000])
    with pytest.raises(StoreError, match="is damaged"):
        Store(old)
