"""AnnData: dense, sparse and in obsm, labels of every type, and what is refused."""

import sys

import h5py
import numpy as np
import pandas
import pytest
from scipy import sparse

from files.slides import SLIDES
from sparsetoken import read_dataset

X = np.concatenate(list(SLIDES.values()))
X[:, 1:] = np.maximum(X[:, 1:], 0)
DONOR = np.repeat([0, 1, 2], [3, 5, 2])


@pytest.fixture
def cells(tmp_path):
    """Return a function that writes cells of three donors."""
    anndata = pytest.importorskip("anndata", reason="reads and writes .h5ad")

    def write(matrix=X, **obs):
        columns = {"sample": pandas.Categorical(np.array(list("pqr"))[DONOR])}
        columns["disease"] = np.array(["ill", "well", "ill"])[DONOR]
        index = [f"c{i}" for i in range(len(X))]
        frame = pandas.DataFrame(columns | obs, index=index)
        var = pandas.DataFrame(index=list("abcd"))
        data = anndata.AnnData(matrix, frame, var, obsm={"X_pca": X[:, :2]})
        data.write_h5ad(tmp_path / "cells.h5ad")
        return tmp_path / "cells.h5ad"

    return write


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_cells(cells, kind):
    path = cells(kind(X))
    data = read_dataset(path, "sample", "disease")
    assert (data.ids, data.labels.tolist()) == (["p", "q", "r"], ["ill", "well", "ill"])
    assert np.array_equal(data.sequences.tokens, X)
    assert data.sequences.feature_names.tolist() == list("abcd")
    data = read_dataset(path, "sample", "disease", features="X_pca")
    assert np.array_equal(data.sequences.tokens, X[:, :2])
    with pytest.raises(ValueError, match=r"column of obs .* with 'by'; it holds .*sample, disease"):
        read_dataset(path)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([True, None, False], "boolean", [True, None, False]),
        ([3, None, 4], "Int64", [3, None, 4]),
        ([0.5, np.nan, 1.0], "float64", [0.5, None, 1.0]),
        (["x", None, "y"], "category", ["x", None, "y"]),
    ],
)
def test_labels_that_may_be_missing(cells, values, kind, expected):
    state = pandas.Series(values, dtype=kind)[DONOR].to_numpy()
    path = cells(state=pandas.array(state, dtype=kind))
    assert read_dataset(path, "sample", "state").labels.tolist() == expected


def test_sparse_matrices_that_point_outside_are_refused(cells):
    path = cells(sparse.csr_matrix(X))
    with h5py.File(path, "r+") as file:
        file["X/indices"][3] = 10**6
    with pytest.raises(ValueError, match=r"damaged: .*ind"):
        read_dataset(path, "sample", "disease")


def test_other_files_are_never_opened(cells, tmp_path):
    (tmp_path / "secret.txt").write_text("user:pass\n" * 10)
    path = cells()
    with h5py.File(path, "r+") as file:
        del file["obs/sample/categories"]
        outside = [(str(tmp_path / "secret.txt"), 0, 30)]
        file["obs/sample"].create_dataset("categories", (3,), "S10", external=outside)
    with pytest.raises(ValueError, match="/obs/sample/categories lies in other files"):
        read_dataset(path, "sample", "disease")
    path = cells()
    with h5py.File(path, "r+") as file:
        del file["obs/disease"]
        file["obs/disease"] = h5py.ExternalLink("other.h5", "data")
    with pytest.raises(ValueError, match="disease is a link, and links are never followed"):
        read_dataset(path, "sample")


def test_without_anndata_it_says_what_to_install(tmp_path, monkeypatch):
    for name in ("anndata", "anndata.io"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "x.h5ad").touch()
    with pytest.raises(ValueError, match=r"\.h5ad needs anndata: pip install anndata$"):
        read_dataset(tmp_path / "x.h5ad")
