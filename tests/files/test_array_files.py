"""Arrays of every format: what is read, and what is refused."""

import json
import sys
import warnings
import zipfile

import h5py
import numpy as np
import pandas
import pytest
from scipy import sparse
from scipy.io import savemat

from files.slides import PADDED, SLIDES, bfloat16, same_slides
from sparsetoken import Sequences, read_dataset

X = np.random.default_rng(0).standard_normal((4, 5, 3)).astype(np.float32)
CELLS = np.concatenate(list(SLIDES.values()))
CELLS[:, 1:] = np.maximum(CELLS[:, 1:], 0)
DONOR = np.repeat([0, 1, 2], [3, 5, 2])


@pytest.mark.parametrize("stored", [False, True], ids=["file", "folder"])
def test_a_damaged_head_of_an_array_is_said(tmp_path, stored):
    path = tmp_path / "tokens.npy"
    if stored:
        Sequences(X.reshape(-1, 3), np.arange(5) * 5).save(tmp_path)
    else:
        np.save(path, X)
    path.write_bytes(path.read_bytes().replace(b"}", b"(", 1))
    with pytest.raises(ValueError, match="damaged"):
        read_dataset(tmp_path if stored else path)


def test_arrays_are_not_lost_from_a_damaged_list(tmp_path):
    """A wrong length in the entry of X makes the entry of y look like its comment."""
    path = tmp_path / "x.npz"
    np.savez(path, X=X, y=[0, 1, 0, 1])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 33] = 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"x\.npz is not .* its list of entries is damaged"):
        read_dataset(path)


def test_data_do_not_change_with_their_file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    tokens = read_dataset(tmp_path / "x.npy").sequences.tokens
    np.save(tmp_path / "x.npy", X[:1] + 1)
    assert np.array_equal(tokens, X.reshape(-1, 3))


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
    with pytest.raises(ValueError, match="X is a link, and links are never followed"):
        read_dataset(path)
    with h5py.File(path, "w") as file:
        file["X"], file["inside/again"] = X, h5py.SoftLink("/X")
    with pytest.raises(ValueError, match="again is a link"):
        read_dataset(path)


def test_two_entries_of_one_name_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=X)
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("X.npy", archive.read("X.npy"))
    with pytest.raises(ValueError, match=r"x\.npz is not .* two of its entries have one name"):
        read_dataset(path)


def test_what_else_is_in_an_hdf5_file(tmp_path):
    """A named type is no array; groups are no deeper than anybody writes them."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["X"], file["kind"] = X, np.dtype("f8")
    assert len(read_dataset(path)) == 4
    with h5py.File(path, "a") as file:
        file["/".join(["inner"] * 30)] = X
    with pytest.raises(ValueError, match="its groups are more than 20 deep"):
        read_dataset(path)


def test_names_in_bytes_are_text(tmp_path):
    np.savez(
        tmp_path / "x.npz", X=X, ids=np.array(list("abcd"), "S1"), y=np.array(["u", "v"] * 2, "S")
    )
    data = read_dataset(tmp_path / "x.npz")
    assert (data.ids, data.labels.tolist()) == (["a", "b", "c", "d"], ["u", "v"] * 2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_matlab(tmp_path, kind):
    X = np.concatenate(list(SLIDES.values())).astype(float)
    bag = np.repeat([1, 2, 3], [3, 5, 2])
    content = {
        "features": kind(X),
        "labels": kind(np.where(bag == 2, 1.0, -1.0)[None]),
        "bag_ids": bag[None],
        "name": "musk",
    }
    savemat(tmp_path / "musk.mat", content)
    data = read_dataset(tmp_path / "musk.mat")
    same_slides(data, dict(zip([1, 2, 3], map(np.float64, SLIDES.values()), strict=True)))
    assert data.labels.tolist() == [-1, 1, -1]


def test_matlab_since_7_3(tmp_path):
    """HDF5 behind a head, axes in reverse; rows and columns are vectors there too."""
    bag = np.repeat([1.0, 2.0, 3.0], [3, 5, 2])
    with h5py.File(tmp_path / "x.mat", "w", userblock_size=512) as file:
        file["features"] = np.concatenate(list(SLIDES.values())).T.astype(float)
        file["bag_ids"] = bag[None]
        file["labels"] = np.where(bag == 2, 1.0, -1.0)[:, None]
    with (tmp_path / "x.mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(128))
    data = read_dataset(tmp_path / "x.mat")
    same_slides(data, dict(zip([1, 2, 3], map(np.float64, SLIDES.values()), strict=True)))
    assert data.labels.tolist() == [-1, 1, -1]


def test_sparse_matrices_that_point_outside_are_refused(tmp_path):
    path = tmp_path / "x.mat"
    X = sparse.csc_matrix(np.eye(6))
    savemat(path, {"features": X, "bag_ids": np.arange(6) // 2})
    content = path.read_bytes()
    rows = np.arange(6, dtype=np.int32).tobytes()
    path.write_bytes(content.replace(rows, np.array([0, 1, 2, 3, 4, 10**6], np.int32).tobytes(), 1))
    with pytest.raises(ValueError, match=r"x.mat is not a .mat file, or is damaged: .*ind"):
        read_dataset(path)


def test_a_crash_of_the_library_is_said(tmp_path):
    """A type of numbers that does not exist leads scipy astray."""
    path = tmp_path / "x.mat"
    savemat(path, {"features": np.ones((6, 2)), "bag_ids": np.arange(6) // 2})
    content = bytearray(path.read_bytes())
    content[content.index(np.ones(12).tobytes()) - 8] = 200
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"x.mat is not a .mat file, or is damaged"):
        read_dataset(path)


def test_safetensors_of_bfloat16(tmp_path):
    bits, values = bfloat16(PADDED)
    header = {"X": {"dtype": "BF16", "shape": [3, 5, 4], "data_offsets": [0, bits.nbytes]}}
    text = json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bits.tobytes())
    assert np.array_equal(read_dataset(path).sequences.tokens, values.reshape(-1, 4))
    for wrong in ({"shape": [3, 5, 5]}, {"data_offsets": [0, 10**9]}, {"dtype": "F8_E4M3"}):
        text = json.dumps({"X": header["X"] | wrong}).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + bits.tobytes())
        with pytest.raises(ValueError, match=r"x.safetensors.* (damaged: .*[tT]ensor|X has type)"):
            read_dataset(path)


def test_safetensors(tmp_path):
    torch = pytest.importorskip("torch", reason="writes bfloat16")
    safetensors = pytest.importorskip("safetensors.torch", reason="reads .safetensors")
    tensors = {name: torch.arange(4.0).reshape(2, 2) for name in ("p", "q")}
    tensors["q"] = tensors["q"].to(torch.bfloat16) * 3
    path = tmp_path / "bags.safetensors"
    safetensors.save_file(tensors, path)
    data = read_dataset(path)
    assert data.ids == ["p", "q"]
    assert data.sequences.dtype == np.float32
    assert data.sequences[1].tolist() == [[0, 3], [6, 9]]


@pytest.fixture
def cells(tmp_path):
    """Return a function that writes cells of three donors."""
    anndata = pytest.importorskip("anndata", reason="reads and writes .h5ad")

    def write(matrix=CELLS, **obs):
        columns = {"sample": pandas.Categorical(np.array(list("pqr"))[DONOR])}
        columns["disease"] = np.array(["ill", "well", "ill"])[DONOR]
        index = [f"c{i}" for i in range(len(CELLS))]
        frame = pandas.DataFrame(columns | obs, index=index)
        var = pandas.DataFrame(index=list("abcd"))
        data = anndata.AnnData(matrix, frame, var, obsm={"X_pca": CELLS[:, :2]})
        data.write_h5ad(tmp_path / "cells.h5ad")
        return tmp_path / "cells.h5ad"

    return write


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_cells(cells, kind):
    path = cells(kind(CELLS))
    data = read_dataset(path, "sample", "disease")
    assert (data.ids, data.labels.tolist()) == (["p", "q", "r"], ["ill", "well", "ill"])
    assert np.array_equal(data.sequences.tokens, CELLS)
    assert data.sequences.feature_names.tolist() == list("abcd")
    data = read_dataset(path, "sample", "disease", features="X_pca")
    assert np.array_equal(data.sequences.tokens, CELLS[:, :2])
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


def test_sparse_cells_that_point_outside_are_refused(cells):
    path = cells(sparse.csr_matrix(CELLS))
    with h5py.File(path, "r+") as file:
        file["X/indices"][3] = 10**6
    with pytest.raises(ValueError, match=r"damaged: .*ind"):
        read_dataset(path, "sample", "disease")


def test_cells_open_no_other_files(cells, tmp_path):
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


@pytest.mark.filterwarnings("ignore:.*was written without encoding metadata")
def test_categories_that_are_found_by_reference(tmp_path):
    """As anndata 0.7 wrote them. What no name leads to may lie in another file."""
    pytest.importorskip("anndata", reason="reads .h5ad")
    secret, path = tmp_path / "secret.txt", tmp_path / "x.h5ad"
    secret.write_text("user:alphauser:beta.")

    def write(**storage):
        with h5py.File(path, "w") as file:
            file["X"] = X[:, 0]
            for name, columns, rows in (("obs", ["bag"], "pqrs"), ("var", [], "abc")):
                frame = file.create_group(name)
                order = np.array(columns, dtype=h5py.string_dtype())
                about = {"encoding-type": "dataframe", "encoding-version": "0.1.0"}
                frame.attrs.update({**about, "_index": "index", "column-order": order})
                frame["index"] = np.array(list(rows), dtype=object)
            names = file.create_group("zz").create_dataset("names", **storage)
            file["obs/bag"] = np.array([0, 0, 1, 1], np.int8)
            file["obs/bag"].attrs["categories"] = names.ref

    write(data=np.array(["u", "v"], dtype=object))
    assert read_dataset(path, "bag").ids == ["u", "v"]
    write(shape=2, dtype="S10", external=[(str(secret), 0, 20)])
    content = path.read_bytes()
    assert content.count(b"SNOD\1\0\4\0") == 1  # a list of four names: zz is left out
    path.write_bytes(content.replace(b"SNOD\1\0\4\0", b"SNOD\1\0\3\0"))
    with pytest.raises(ValueError, match="/obs/bag refers to what is not among its datasets"):
        read_dataset(path, "bag")
