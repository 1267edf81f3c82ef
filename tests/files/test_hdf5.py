"""HDF5: what lies in other files is never opened; AnnData dense, sparse, and in obsm."""

import h5py
import numpy as np
import pytest
from scipy import sparse

from files.slides import SLIDES
from sparsetoken import read_dataset

X = np.random.default_rng(0).standard_normal((4, 5, 3)).astype(np.float32)


def test_other_files_are_never_opened(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("user:password\n" * 10)
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["X"] = X
        file.create_dataset("ids", (4,), "S14", external=[(str(secret), 0, 56)])
    with pytest.raises(ValueError, match="/ids lies in other files, which are never opened"):
        read_dataset(path)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = X
    layout = h5py.VirtualLayout(X.shape, "f4")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "data", X.shape)
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("X", layout)
    with pytest.raises(ValueError, match="/X lies in other files, which are never opened"):
        read_dataset(path)
    with h5py.File(path, "w") as file:
        file["X"] = h5py.ExternalLink("other.h5", "data")
    with pytest.raises(ValueError, match=r"must hold an array 'X' .* It holds nothing"):
        read_dataset(path)


@pytest.mark.parametrize("form", ["dense", "csr", "csc", "obsm"])
def test_anndata(tmp_path, form):
    X = np.concatenate(list(SLIDES.values()))
    X[:, 1:] = np.maximum(X[:, 1:], 0)
    donor = np.repeat([0, 1, 2], [3, 5, 2])
    path = tmp_path / "cells.h5ad"
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if form in ("csr", "csc"):
            matrix = sparse.csr_matrix(X) if form == "csr" else sparse.csc_matrix(X)
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = f"{form}_matrix", X.shape
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(matrix, name)
        else:
            file["X"] = X
        file["obsm/X_pca"] = X[:, :2]
        file["obs/sample/codes"] = donor.astype(np.int8)
        file["obs/sample"].create_dataset("categories", data=["p", "q", "r"], dtype=text)
        file["obs"].create_dataset(
            "disease", data=np.array(["ill", "well", "ill"])[donor].tolist(), dtype=text
        )
        file.create_group("var")
        file["var"].create_dataset("_index", data=list("abcd"), dtype=text)
        file["var"].attrs["_index"] = "_index"
    features = "X_pca" if form == "obsm" else None
    data = read_dataset(path, "sample", "disease", features=features)
    assert (data.ids, data.labels.tolist()) == (["p", "q", "r"], ["ill", "well", "ill"])
    assert np.array_equal(data.sequences.tokens, X[:, :2] if form == "obsm" else X)
    names = data.sequences.feature_names
    assert names is None if form == "obsm" else names.tolist() == list("abcd")
    with pytest.raises(ValueError, match=r"column of obs .* with by=; it holds disease, sample"):
        read_dataset(path)
