import csv
import json

import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(6, 1, 6.0)


@pytest.fixture(scope="module")
def drawn():
    X, y, truth = PROBLEM.sample(120, 8, random_state=0, return_truth=True)
    return X, y, truth


def write_csv(path, X, names, labels):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sequence", "label", *(f"x{j}" for j in range(X.shape[-1]))])
        for sequence, name, label in zip(X, names, labels, strict=True):
            writer.writerows([name, label, *token] for token in sequence)


def test_three_formats_give_one_model(run, tmp_path, drawn):
    X, y, truth = drawn
    names = [f"s{i:03}" for i in range(len(X))]
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    bag = np.repeat(np.arange(len(X)), X.shape[1])
    shuffled = np.random.default_rng(0).permutation(len(bag))
    shuffled = shuffled[np.argsort(np.tile(np.arange(X.shape[1]), len(X))[shuffled], kind="stable")]
    np.savez(
        tmp_path / "stacked.npz",
        X=X.reshape(-1, 8)[shuffled],
        bag=bag[shuffled],
        y=y[bag[shuffled]],
    )
    write_csv(tmp_path / "long.csv", X, names, y)
    predictions = []
    for data in ("dense.npz", "stacked.npz", "long.csv"):
        model = tmp_path / f"{data}.model.npz"
        code, out, err = run(
            "fit", tmp_path / data, "--out", model, "--model", "two-step", "--json"
        )
        assert code == 0, err
        report = json.loads(out)
        assert report["held_out"] == 24
        assert report["held_out_auc"] > 0.9
        code, out, err = run("predict", model, tmp_path / data, "--json")
        assert code == 0, err
        predictions.append(json.loads(out))
    assert [row["sequence"] for row in predictions[2]] == names
    scores = [[row["score"] for row in rows] for rows in predictions]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-9)
    np.testing.assert_allclose(scores[2], scores[0], rtol=1e-9)
    loaded = st.load(tmp_path / "dense.npz.model.npz")
    np.testing.assert_allclose(scores[0], loaded.decision_function(X))
    tops = np.array([row["top_tokens"][0]["token"] for row in predictions[0]])
    positive = y == 1
    assert (tops == truth.positions.argmax(axis=1))[positive].mean() > 0.8
    weights = loaded.attention(X)
    assert predictions[0][0]["top_tokens"][0]["weight"] == pytest.approx(weights[0].max())
    assert [row["label"] for row in predictions[0]] == y.tolist()


def test_tables_for_people(refused, run, tmp_path, drawn):
    X, y, _ = drawn
    data, model = tmp_path / "data.npz", tmp_path / "model.npz"
    np.savez(data, X=X[:40], y=np.where(y[:40], "ill", "well"))
    code, out, err = run("fit", data, "--out", model, "--held-out", 0)
    assert code == 0, err
    assert "well" in out
    assert "query_reliability" in out
    _, out, _ = run("predict", model, data, "--top", 2)
    assert "probability of 'well'" in out
    assert out.count("\n") >= 40
    table = tmp_path / "scores.csv"
    code, out, err = run("predict", model, data, "--out", table)
    assert (code, out) == (0, "")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 40
    assert {row["predicted"] for row in rows} == {"ill", "well"}
    np.savez(data, X=X[:40])
    assert run("predict", model, data)[0] == 0
    refused(("fit", data), 2, "has no labels")


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
def test_linear_models(run, tmp_path, drawn, model):
    X, y, _ = drawn
    data, out = tmp_path / "data.npz", tmp_path / "model.npz"
    np.savez(data, X=X, y=y)
    assert run("fit", data, "--out", out, "--model", model, "--held-out", 0, "--reg", 0.1)[0] == 0
    rows = json.loads(run("predict", out, data, "--json")[1])
    assert "top_tokens" not in rows[0]
    accuracy = np.mean([row["predicted"] == row["label"] for row in rows])
    assert accuracy == st.load(out).score(X, y)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sequence,label,x\na,0,1\na,0,two\n", ["line 3", "column 'x'", "'two' is not a number"]),
        ("sequence,label,x\na,0\n", ["line 2", "2 columns instead of 3"]),
        ("sequence,label,x\na,0,1\na,1,1\n", ["line 3", "column 'label'", "sequence 'a'"]),
        ("id,label,x\na,0,1\n", ["line 1", "no column 'sequence'", "id, label, x"]),
        ("sequence,label\na,0\n", ["line 1", "no columns with features"]),
        ("sequence,label,x\n", ["no tokens"]),
        ("", ["no column 'sequence'"]),
        ('sequence,label,x\na,0,"1\n', ["line 2"]),
        ("sequence,label,x\na,0,1\nb,1,nan\nb,1,1\n", ["NaN"]),
    ],
)
def test_bad_tables_name_line_and_column(refused, tmp_path, text, parts):
    data = tmp_path / "data.csv"
    data.write_text(text)
    refused(("fit", data, "--held-out", 0), 2, *parts)


def test_bad_archives(refused, tmp_path, drawn):
    X, y, _ = drawn
    data = tmp_path / "data.npz"
    refused(("fit", data), 1, "data.npz", "No such file")
    data.write_bytes(b"PK\x03\x04 nonsense")
    refused(("fit", data), 2, "not a NumPy archive, or is damaged")
    np.savez(data, X=X, y=y)
    whole = data.read_bytes()
    data.write_bytes(whole[: len(whole) // 2])
    refused(("fit", data), 2, "damaged")
    np.savez(data, X=np.array([{}], dtype=object))
    refused(("fit", data), 2, "damaged")
    np.savez(data, Z=X)
    refused(("fit", data), 2, "must hold an array 'X', it holds Z")
    np.savez(data, X=X, y=y[:5])
    refused(("fit", data), 2, "y must have shape (120,)")
    np.savez(data, X=X, bag=y)
    refused(("fit", data), 2, "X must have shape (tokens, d)")
    np.savez(data, X=X[0], bag=[0, 0, 1, 1, 2, 2], y=[0, 1, 1, 1, 0, 0])
    refused(("fit", data), 2, "y[1] differs")
    np.savez(data, X=X[0], bag=[0, 0, 1, 1, 2, 2], y=[0, 1])
    refused(("fit", data), 2, "one label per bag (3) or token (6)")
    refused(("fit", tmp_path / "data.txt"), 2, ".npz or .csv")
    refused(("predict", data, data), 2, "not a sparsetoken model")
    np.savez(data, X=X, y=y)
    refused(("fit", data, "--held-out", 1.5), 2, "--held-out")
