"""What predict writes: one row per sequence, one row per token."""

import csv
import json

import numpy as np
import pytest

import sparsetoken as st
from cli.conftest import PROBLEM, write_csv
from sparsetoken.estimators.storage import load_notes


def test_tables_for_people(refused, run, tmp_path, drawn):
    X, y, _ = drawn
    data, model = tmp_path / "data.npz", tmp_path / "model.npz"
    np.savez(data, X=X[:40], y=np.where(y[:40], "ill", "well"))
    code, out, err = run("fit", data, "--out", model, "--held-out", 0)
    assert code == 0, err
    for part in ("well", "query reliability", "sparse-token", "statistics"):
        assert part in out
    assert type(st.load(model)) is st.SparseTokenClassifier
    _, out, _ = run("predict", model, data, "--top", 2)
    assert "probability of the prediction" in out
    assert "score for 'well'" in out
    assert "counted from 0" in " ".join(out.split())
    assert out.count("\n") >= 40
    for measure in ("accuracy", "AUC"):
        assert measure in out
    assert "recall" not in out  # too few negatives for 1 % of them
    table = tmp_path / "scores.csv"
    code, out, err = run("predict", model, data, "--out", table)
    assert (code, out) == (0, "")
    assert "accuracy" in err
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 40
    assert {row["predicted"] for row in rows} == {"ill", "well"}
    scores = st.load(model).decision_function(X[:40])
    assert [float(row["score"]) for row in rows] == scores.tolist()
    content = table.read_text()
    table.unlink()
    code, out, _ = run("predict", model, data, "--out", table, "--json")
    assert [row["score"] for row in json.loads(out)] == scores.tolist()
    assert table.read_text() == content  # it is written, too
    for row in rows:
        assert row["probability"] == row[f"probability_{row['predicted']}"]
        assert float(row["probability"]) >= 0.5
    np.savez(data, X=X[:40])
    code, out, err = run("predict", model, data)
    assert code == 0
    assert "accuracy" not in out
    refused(("fit", data), 2, "has no labels")
    np.savez(data, X=X[:40], y=["other"] * 40)
    code, out, err = run("predict", model, data)
    assert code == 0
    assert "none of the model's: ill, well" in err


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
def test_linear_models(run, tmp_path, drawn, model):
    X, y, _ = drawn
    data, out = tmp_path / "data.npz", tmp_path / "model.npz"
    np.savez(data, X=X, y=y)
    assert run("fit", data, "--out", out, "--model", model, "--held-out", 0, "--reg", 0.1)[0] == 0
    rows = json.loads(run("predict", out, data, "--json")[1])
    assert len(rows[0]["top_tokens"]) == 3
    accuracy = np.mean([row["predicted"] == row["label"] for row in rows])
    assert accuracy == st.load(out).score(X, y)


def test_a_model_remembers_its_columns(run, tmp_path, drawn):
    """A new file may have its columns in another order, others besides, and no label."""
    X, y, _ = drawn
    names = [f"p{i}" for i in range(len(X))]
    old, new, model = (tmp_path / name for name in ("old.csv", "new.csv", "model.npz"))
    columns = ("patient", "state")
    write_csv(old, X, names, np.where(y, "ill", "well"), columns, site=np.arange(len(X)) % 4)
    code, out, err = run(
        *("fit", old, "--by", "patient", "--label", "state", "--ignore", "site", "--out", model),
        *("--model", "pooled", "--held-out", 0),
    )
    assert code == 0, err
    assert st.load(model).feature_names_in_.tolist() == [f"x{j}" for j in range(8)]
    assert load_notes(model)["roles"] == {
        "by": "patient",
        "label": "state",
        "features": [f"x{j}" for j in range(8)],
        "layout": "table",
    }
    wanted = json.loads(run("predict", model, old, "--json")[1])
    assert [row["sequence"] for row in wanted] == names
    with old.open() as file, new.open("w", newline="") as other:
        rows = list(csv.DictReader(file))
        writer = csv.DictWriter(other, ["comment", *list(rows[0])[:1:-1], "patient"])
        writer.writeheader()
        for row in rows:
            del row["state"]
            writer.writerow({**row, "comment": "seen"})
    code, out, err = run("predict", model, new, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [row["score"] for row in found] == [row["score"] for row in wanted]
    assert "label" not in found[0]


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
    tokens = [row for row in rows if row["sequence"] == "s0"]
    assert [int(row["position"]) for row in tokens] == list(range(6))
    total = sum(float(row["contribution"]) for row in tokens)
    assert total + explained.baseline == pytest.approx(predictions["s0"]["score"])
    assert sum(float(row["weight"]) for row in tokens) == pytest.approx(1.0)
    for row in tokens:
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
    assert list(json.loads(run("predict", model, data, "--json", "--top", 0)[1])[0]) == list(
        rows[0]
    )
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
