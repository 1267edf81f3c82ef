import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from platforms import forbid_writing, unix
from sparsetoken.experiments import Store, compute, load_sweep

TEXT = """
quantities = ["cosine", "test_error"]
[fixed]
dim = 30
trials = 3
n_tokens = 4
[axes]
model = ["pooled", "two-step"]
alpha = [2, 4]
"""


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(TEXT)
    return path


def test_run_status_export(run, sweep, tmp_path):
    store = tmp_path / "sweep.db"
    code, out, err = run("sweep", "run", sweep, "--workers", 2)
    assert (code, out) == (0, "")
    assert err == f"8 computed, 0 failed, 0 already done: {store}\n"
    code, out, err = run("sweep", "run", sweep, "--workers", 1, "--json")
    assert json.loads(out) == {
        "store": str(store),
        "computed": 0,
        "failed": 0,
        "already_done": 8,
    }
    code, out, _ = run("sweep", "status", sweep, "--json")
    assert json.loads(out) == {"pending": 0, "done": 8, "failed": 0, "failures": []}
    assert json.loads(run("sweep", "status", sweep, "--store", store, "--json")[1])["done"] == 8
    assert "done" in run("sweep", "status", sweep)[1]

    code, out, err = run("sweep", "export", sweep)
    assert err == ""
    rows = list(csv.DictReader(io.StringIO(out)))
    expected = [
        (cell.source, quantity, measured)
        for cell in load_sweep(sweep).cells()
        for quantity, measured in compute(cell).items()
    ]
    assert len(rows) == len(expected) == 12
    found = sorted((r["source"], r["quantity"], float(r["value"])) for r in rows)
    for row, known in zip(found, sorted(expected), strict=True):
        assert row[:2] == known[:2]
        assert row[2] == pytest.approx(known[2], rel=1e-6)  # a curve is solved along its points
    table = tmp_path / "table.csv"
    assert run("sweep", "export", sweep, "--store", store, "--out", table)[0] == 0
    assert table.read_text() == out
    table.unlink()
    both = run("sweep", "export", sweep, "--out", table, "--json")[1]
    assert len(json.loads(both)) == 12
    assert table.read_text() == out
    assert len(json.loads(run("sweep", "export", sweep, "--store", store, "--json")[1])) == 12


def test_parquet(run, sweep, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet is written where pyarrow is installed")
    from pyarrow import parquet

    table = tmp_path / "table.parquet"
    run("sweep", "run", sweep, "--workers", 1)
    assert run("sweep", "export", sweep, "--out", table)[0] == 0
    assert parquet.read_table(table).num_rows == 12


def test_failed_cells_are_shown_and_tried_again(run, sweep, tmp_path):
    sweep.write_text(TEXT.replace("n_tokens = 4", "n_tokens = 4\npositive_rate = 1e-5"))
    code, out, err = run("sweep", "run", sweep, "--workers", 1)
    assert code == 1
    assert "4 failed" in err
    assert f"sweep status {sweep}" in err
    _, out, _ = run("sweep", "status", sweep)
    assert "only one class" in out
    assert "Traceback" not in out
    _, out, err = run("sweep", "export", sweep)
    assert "4 cells are not in the table" in err
    assert "simulation" not in out
    code, _, err = run("sweep", "run", sweep, "--workers", 1)
    assert (code, "0 computed, 4 failed, 4 already done" in err) == (1, True)


@unix
@pytest.mark.system
def test_control_c_keeps_what_is_finished(run, sweep, tmp_path):
    sweep.write_text(
        TEXT.replace("trials = 3", "trials = 20")
        .replace("[2, 4]", str(list(range(2, 99))))  # more than are done before the signal
        .replace("dim = 30", "dim = 300")
        .replace("n_tokens", "positive_rate = 0.4\nn_tokens")
    )
    store = tmp_path / "sweep.db"
    command = [sys.executable, "-m", "sparsetoken", "sweep", "run", sweep, "--workers", "2"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell in the background has everything below it ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    done = 0
    while process.poll() is None and done < 2:
        time.sleep(0.05)
        if store.exists() and store.stat().st_size:
            with Store(store) as opened:
                done = opened.counts()["done"]
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    _, err = process.communicate()
    assert process.returncode == 130
    assert err == "sparsetoken: stopped; what is finished is kept\n"
    counts = json.loads(run("sweep", "status", sweep, "--json")[1])
    assert counts["done"] >= 2
    assert counts["failed"] == 0
    assert counts["pending"] > 0


def test_bad_files(refused, run, sweep, tmp_path):
    missing = tmp_path / "missing.toml"
    refused(("sweep", "run", missing), 1, "missing.toml", "o such file")
    refused(("sweep", "status", sweep, "--store", tmp_path / "none.db"), 1, "No such file")
    refused(("sweep", "export", sweep, "--store", tmp_path / "none.db"), 1, "No such file")
    assert not (tmp_path / "none.db").exists()
    sweep.write_text(TEXT.replace("alpha = ", "alhpa = "))
    refused(("sweep", "run", sweep), 2, "sweep.toml", "'alhpa'", "did you mean 'alpha'")
    sweep.write_text(TEXT.replace("[axes]", "[axes"))
    refused(("sweep", "run", sweep), 2, "not TOML", "line 7")
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE things (a)")
    connection.close()
    sweep.write_text(TEXT)
    refused(("sweep", "export", sweep, "--store", foreign), 1, "is not a store")
    code, out, err = run("sweep", "run", sweep, "--store", foreign)
    assert (code, out) == (1, "")
    assert "is not a store" in err


def test_read_only_folder(refused, sweep, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    forbid_writing(folder)
    refused(("sweep", "run", sweep, "--store", folder / "a.db"), 1, "cannot be opened")


def test_damage_is_told_the_rest_exported_and_the_lost_computed(refused, run, sweep, tmp_path):
    store = tmp_path / "sweep.db"
    run("sweep", "run", sweep, "--workers", 1)
    whole = run("sweep", "export", sweep, "--json")[1]
    content = store.read_bytes()
    place = content.rindex(b'"test_error": [')
    digit = place + len(b'"test_error": [0.')
    changed = b"1" if content[digit : digit + 1] != b"1" else b"2"
    store.write_bytes(content[:digit] + changed + content[digit + 1 :])
    _, out, err = run("sweep", "status", sweep, "--json")
    assert json.loads(out)["pending"] == 1
    assert "1 damaged lines of" in err
    code, out, err = run("sweep", "export", sweep, "--json")
    assert code == 0
    assert len(json.loads(out)) in (10, 11)
    assert "count as not computed" in err
    assert "1 cells are not in the table" in err
    code, _, err = run("sweep", "run", sweep, "--workers", 1)
    assert (code, "1 computed, 0 failed, 7 already done" in err) == (0, True)
    assert "count as not computed" in err
    _, again, err = run("sweep", "export", sweep, "--json")
    assert json.loads(again) == json.loads(whole)
    assert err == ""  # the cells of the damaged lines are there
    refused(("sweep", "export", sweep, "--out", tmp_path / "no" / "t.csv"), 1, "no folder")
    refused(("sweep", "export", sweep, "--out", tmp_path / "t.xls"), 2, ".csv, .parquet")


@pytest.mark.system
def test_unreachable_scheduler(refused, sweep):
    refused(
        ("sweep", "run", sweep, "--scheduler", "tcp://127.0.0.1:1"),
        1,
        "no Dask scheduler at tcp://127.0.0.1:1",
    )
    refused(("sweep", "run", sweep, "--scheduler", "nonsense://a"), 1, "nonsense")


POPULATION = """
quantities = ["test_error", "recall"]
[fixed]
dim = 100
trials = 8
model = "pooled"
reg = 0.1
positive_rate = 0.4
fpr = 0.1
[[fixed.kinds]]
probability = 0.6
n_tokens = 4
signal = 4
[[fixed.kinds]]
probability = 0.4
n_tokens = 9
n_signal = 2
signal = 3
[axes]
alpha = [2, 4]
label_errors = [[0.0, 0.0], [0.1, 0.05]]
"""


def test_a_sweep_over_a_population(run, tmp_path):
    import sparsetoken as st

    path = tmp_path / "sweep.toml"
    path.write_text(POPULATION)
    code, _, err = run("sweep", "run", path, "--workers", 1)
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(run("sweep", "export", path)[1])))
    (tables,) = {row["kinds"] for row in rows}
    assert [kind["n_tokens"] for kind in json.loads(tables)] == [4, 9]
    assert len(rows) == 16
    kinds = [st.SparseTokenProblem(4, 1, 4.0, 0.4), st.SparseTokenProblem(9, 2, 3.0, 0.4)]
    for row in rows:
        errors = json.loads(row["label_errors"] or "[0, 0]")
        population = st.Population(kinds, [0.6, 0.4], errors)
        known = st.theory.risk(population, "pooled", alpha=float(row["alpha"]), reg=0.1)
        limit = {
            "test_error": known.test_error,
            "recall": known.recall(fpr=0.1),
        }[row["quantity"]]
        value, bar = float(row["value"]), float(row["uncertainty"])
        if row["source"] == "theory":
            assert value == pytest.approx(limit, rel=1e-6)
        else:
            assert abs(value - limit) < 4 * bar + 3 * limit / 100
