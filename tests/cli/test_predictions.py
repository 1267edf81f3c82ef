"""What predict writes: one row per sequence, one row per token."""

import csv
import json

import numpy as np
import pytest

import sparsetoken as st
from cli.conftest import PROBLEM, write_csv


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_one_row_a_token(run, tmp_path, drawn, ending):
    X, y, _ = drawn
    data, model, table = tmp_path / "data.csv", tmp_path / "model.npz", tmp_path / f"t.{ending}"
    write_csv(data, X, [f"s{i}" for i in range(len(X))], np.where(y, "ill", "well"))
    lines = data.read_text().splitlines()
    order = np.random.default_rng(0).permutation(len(lines) - 1)  # tokens not together
    data.write_text("\n".join([lines[0], *(lines[1 + i] for i in order)]))
    assert run("fit", data, "--model", "two-step", "--held-out", 0, "--out", model)[0] == 0
    code, out, err = run("predict", model, data, "--tokens", table, "--json")
    assert code == 0, err
    assert f"720 tokens: {table}" in err
    if ending == "csv":
        with table.open() as file:
            rows = list(csv.DictReader(file))
    else:
        parquet = pytest.importorskip("pyarrow.parquet", reason="reads Parquet")
        rows = parquet.read_table(table).to_pylist()
    assert list(rows[0]) == ["sequence", "position", "row", "weight", "contribution", "towards"]
    for row in rows:
        assert row["sequence"] == lines[1 + order[int(row["row"])]].split(",")[0]
    fitted = st.load(model)
    first = st.Sequences(X[0], [0, 6], fitted.feature_names_in_)
    explained = fitted.explain(first, top=6)[0]
    predictions = {row["sequence"]: row for row in json.loads(out)}
    own = [row for row in rows if row["sequence"] == "s0"]
    assert [int(row["position"]) for row in own] == list(range(6))
    total = sum(float(row["contribution"]) for row in own)
    assert total + explained.baseline == pytest.approx(predictions["s0"]["score"])
    assert sum(float(row["weight"]) for row in own) == pytest.approx(1.0)
    for row in own:
        assert row["towards"] == ("well" if float(row["contribution"]) >= 0 else "ill")


def test_a_probability_for_each_class(run, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4, 5)), np.array(["a", "b", "c"])[np.arange(60) % 3]
    X[:, 0] += np.eye(3, 5)[np.arange(60) % 3] * 8
    data, model, table = (tmp_path / name for name in ("x.npz", "model.npz", "out.csv"))
    np.savez(data, X=X, y=y)
    fitted = run("fit", data, "--out", model, "--held-out", 0, "--model", "attention")
    assert fitted[0] == 0, fitted[2]
    assert run("predict", model, data, "--out", table, "--top", 0)[0] == 0
    with table.open() as file:
        rows = list(csv.DictReader(file))
    chances = st.load(model).predict_proba(X)
    for j, name in enumerate("abc"):
        found = [float(row[f"probability_{name}"]) for row in rows]
        np.testing.assert_allclose(found, chances[:, j])


def test_cells_that_a_spreadsheet_would_run(run, tmp_path, drawn):
    X, y, _ = drawn
    data, model, table = (tmp_path / name for name in ("x.npz", "model.npz", "out.csv"))
    names = ["=1+1", "@a", "+b", "-c", "-3", "d=1", *(f"s{i}" for i in range(114))]
    np.savez(data, X=X, y=y, ids=names)
    assert run("fit", data, "--out", model, "--model", "pooled", "--held-out", 0)[0] == 0
    assert run("predict", model, data, "--out", table)[0] == 0
    with table.open() as file:
        shown = [row["sequence"] for row in csv.DictReader(file)]
    assert shown[:6] == ["'=1+1", "'@a", "'+b", "'-c", "-3", "d=1"]


def test_recall_needs_enough_negatives(run, tmp_path):
    X, y = PROBLEM.sample(300, 8, random_state=1)
    data, model = tmp_path / "data.npz", tmp_path / "model.npz"
    np.savez(data, X=X, y=y)
    fitted = run("fit", data, "--model", "two-step", "--out", model, "--held-out", 0.5, "--json")
    assert 0.5 < json.loads(fitted[1])["held_out_auc"] <= 1.0
    _, out, _ = run("predict", model, data)
    assert "recall at 1 % false positives" in out
