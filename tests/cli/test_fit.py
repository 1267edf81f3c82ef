"""Models fitted to files of every kind."""

import csv
import json

import h5py
import numpy as np
import pytest

import sparsetoken as st
from cli.conftest import write_csv


def test_every_format_gives_one_model(run, tmp_path, drawn):
    X, y, truth = drawn
    names = [f"s{i:03}" for i in range(len(X))]
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    bag = np.repeat(names, X.shape[1])
    np.savez(tmp_path / "stacked.npz", X=X.reshape(-1, 8), bag=bag, y=np.repeat(y, 6))
    write_csv(tmp_path / "long.csv", X, names, y)
    folder = tmp_path / "slides"
    folder.mkdir()
    for name, tokens in zip(names, X, strict=True):
        np.save(folder / f"{name}.npy", tokens)
    table = "\n".join(["slide,label", *(f"{n},{v}" for n, v in zip(names, y, strict=True))])
    (folder / "labels.csv").write_text(table)
    predictions = {}
    st.Sequences(X.reshape(-1, 8), np.arange(121) * 6, ids=names).save(tmp_path / "stored", y)
    for data in ("dense.npz", "stacked.npz", "long.csv", "slides", "stored"):
        model = tmp_path / f"{data}.model.npz"
        code, out, err = run(
            "fit", tmp_path / data, "--out", model, "--model", "two-step", "--json"
        )
        assert code == 0, err
        report = json.loads(out)
        assert report["held_out"] == 24
        assert report["held_out_auc"] > 0.9
        low, high = report["held_out_auc_interval"]
        assert low < report["held_out_auc"] <= high
        code, out, err = run("predict", model, tmp_path / data, "--json")
        assert code == 0, err
        predictions[data] = json.loads(out)
    scores = {data: [row["score"] for row in rows] for data, rows in predictions.items()}
    for data, found in scores.items():
        np.testing.assert_allclose(found, scores["dense.npz"], rtol=1e-9)
        if data != "dense.npz":
            assert [row["sequence"] for row in predictions[data]] == names
    rows = predictions["dense.npz"]
    loaded = st.load(tmp_path / "dense.npz.model.npz")
    np.testing.assert_allclose(scores["dense.npz"], loaded.decision_function(X))
    tops = np.array([row["top_tokens"][0]["token"] for row in rows])
    assert (tops == truth.positions.argmax(axis=1))[y == 1].mean() > 0.8
    weights = loaded.attention(X)
    assert rows[0]["top_tokens"][0]["weight"] == pytest.approx(weights[0].max())
    assert [row["label"] for row in rows] == y.tolist()


def test_groups_are_held_out_together(run, refused, tmp_path, drawn):
    X, y, _ = drawn
    data, model = tmp_path / "data.csv", tmp_path / "model.npz"
    patients = [f"p{i // 4}" for i in range(len(X))]
    write_csv(data, X, [f"s{i}" for i in range(len(X))], y, patient=patients)
    options = ("--model", "pooled", "--group", "patient", "--out", model)
    code, out, err = run("fit", data, *options, "--json")
    assert code == 0, err
    assert json.loads(out)["held_out"] == 24  # six patients of thirty
    write_csv(data, X, [f"s{i}" for i in range(len(X))], y, patient=["p", "q"] * 60)
    refused(("fit", data, *options), 2, "2 groups are too few to hold 0.2 of them out")


def test_sequences_without_a_label(run, tmp_path, drawn):
    X, y, _ = drawn
    data, model = tmp_path / "data.csv", tmp_path / "model.npz"
    labels = ["" if i % 10 == 0 else label for i, label in enumerate(y)]
    write_csv(data, X, [f"s{i}" for i in range(len(X))], labels)
    code, out, err = run("fit", data, "--model", "pooled", "--out", model, "--json")
    assert code == 0, err
    assert json.loads(out)["classes"] == ["0", "1"]
    assert json.loads(out)["sequences"] == 108
    assert "108 of 120 sequences have a label, from column 'label'; the others are left out" in err
    code, out, err = run("predict", model, data, "--json")
    assert "108 of the 120 sequences" in err
    assert "were used to fit this model" in err
    rows = json.loads(out)
    assert (len(rows), rows[0]["label"]) == (120, None)
    assert "accuracy" in err


def test_what_is_wrong_is_said_in_one_line(refused, tmp_path, drawn):
    X, y, _ = drawn
    data = tmp_path / "data.csv"
    model = ("--out", tmp_path / "model.npz")
    data.write_text("bag,label,x\na,0,1\nb,1,two\n")
    refused(("fit", data, *model), 2, "row 1", "column 'x'", "'two' is not a finite")
    refused(("fit", data, "--by", "bagg", *model), 2, "no 'bagg'; the nearest names are 'bag', ")
    data.write_text("bag,label,x\na,0,1\nb,1,2\n")
    refused(
        ("fit", data, *model), 2, "--held-out 0.2: a class has one sequence only", "; 0 holds none"
    )
    data = tmp_path / "data.npz"
    refused(("fit", data, *model), 1, "data.npz: there is no such file or folder")
    data.write_bytes(b"PK\x03\x04 nonsense")
    refused(("fit", data, *model), 2, "not a NumPy archive, or is damaged")
    np.savez(data, X=X, y=y)
    refused(("fit", data, "--held-out", 1.5, *model), 2, "--held-out")
    refused(("fit", data, "--held-out", 0.999, *model), 2, "--held-out 0.999: ")
    refused(("fit", data, "--random-state", -1, *model), 2, "--random-state")
    refused(("fit", data, "--reg", 0.1, *model), 2, "--reg is not for --model sparse-token")
    refused(("predict", data, data), 2, "not a sparsetoken model")


@pytest.fixture
def slides(tmp_path, drawn):
    """A folder of slides as extractors write them, with CLAM's table."""
    X, y, _ = drawn
    folder = tmp_path / "h5_files"
    folder.mkdir()
    lines = ["case_id,slide_id,tumour"]
    for i, tokens in enumerate(X):
        with h5py.File(folder / f"s{i:03}.h5", "w") as file:
            file["features"], file["coords"] = tokens, np.arange(12).reshape(6, 2) * 256
        lines.append(f"p{i // 2},s{i:03},{'yes' if y[i] else 'no'}")
    table = tmp_path / "cohort.csv"
    table.write_text("\n".join(lines))
    return folder, table


def test_slides(run, refused, tmp_path, slides):
    folder, table = slides
    model = tmp_path / "model.npz"
    refused(("fit", folder), 2, "h5_files has no labels: name a table of labels with 'labels'")
    refused(("fit", folder, "--labels", table), 2, "with 'label', one of case_id, tumour")
    options = ("--labels", table, "--label", "tumour", "--out", model, "--model", "two-step")
    assert run("fit", folder, *options)[0] == 0
    everything = json.loads(run("predict", model, folder, "--json")[1])
    one = folder / "s007.h5"
    code, out, err = run("predict", model, one, "--json", "--tokens", tmp_path / "tokens.csv")
    assert code == 0, err
    assert "taken as a sequence" not in err
    (row,) = json.loads(out)
    assert row["sequence"] == "s007"
    assert row["score"] == pytest.approx(everything[7]["score"])
    with (tmp_path / "tokens.csv").open() as file:
        tokens = list(csv.DictReader(file))
    assert [(row["x"], row["y"]) for row in tokens[:2]] == [("0", "256"), ("512", "768")]


def test_layers_and_options_in_messages(run, refused, tmp_path, drawn):
    X, y, _ = drawn
    data, model = tmp_path / "acts.npz", tmp_path / "model.npz"
    np.savez(data, layer_3=X, layer_7=X[:, ::-1], labels=y)
    refused(("fit", data, "--out", model), 2, "it has the layers 3, 7; say which with 'layer'")
    options = ("--layer", 7, "--out", model, "--model", "pooled", "--held-out", 0)
    assert run("fit", data, *options)[0] == 0
    assert run("predict", model, data)[0] == 0  # remembers the layer
    table = tmp_path / "x.csv"
    table.write_text("bag,label, site,x\na,0,p,1\nb,1,q,2\n")
    refused(("fit", table, "--out", model), 2, "leave it out with 'ignore'")


def test_too_little_memory_is_said(refused, monkeypatch, tmp_path, drawn):
    np.savez(tmp_path / "x.npz", X=drawn[0], y=drawn[1])

    def too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr("numpy.lib.npyio.NpzFile.__getitem__", too_much)
    model = ("--out", tmp_path / "model.npz")
    refused(("fit", tmp_path / "x.npz", *model), 1, "X of shape (120, 6, 8) does not fit into mem")
