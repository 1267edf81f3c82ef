"""Files of every format that would harm: bombs, too many numbers, damage. Each is refused."""

import contextlib
import gzip
import io
import re
import warnings
import zipfile

import h5py
import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import feather, parquet
from scipy import sparse
from scipy.io import savemat

from sparsetoken import Sequences, read_dataset

X = np.random.default_rng(0).standard_normal((4, 5, 3)).astype(np.float32)


HUGE = (200, 1000, 25_000)  # 20 GB of float32


def npz_bomb(path):
    """Claim 20 GB, and hold as many zeros as it takes to look like them."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": HUGE}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(2**20))


def npy_bomb(path):
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": HUGE}
        )


def h5_bomb(path):
    with h5py.File(path, "w") as file:
        data = file.create_dataset("X", HUGE, "f4", chunks=(1, 100, 100), compression="gzip")
        data[0, :100, :100] = 1.0


def h5_that_was_never_written(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", HUGE, "f4", chunks=(1, 100, 100))


def sparse_bomb(path):
    anndata = pytest.importorskip("anndata", reason="reads and writes .h5ad")
    many = 10**5
    obs = pandas.DataFrame({"bag": np.zeros(many, np.int8)}, index=[str(i) for i in range(many)])
    var = pandas.DataFrame(index=[str(i) for i in range(many)])
    matrix = sparse.csr_matrix(([1.0], ([0], [0])), (many, many))
    anndata.AnnData(matrix, obs, var).write_h5ad(path)


def mat_bomb(path):
    savemat(path, {"X": np.zeros((2**11, 2**11), np.float32)}, do_compression=True)


def text_bomb(path):
    row = b"a," + b"0," * 999 + b"0\n"
    header = ",".join(["bag", *(f"x{i}" for i in range(1000))]).encode()
    with gzip.open(path, "wb") as file:
        file.write(header + b"\n" + row * 4_000)


def parquet_bomb(path):
    column = pyarrow.array(np.zeros(10**6, np.float32))
    bag = pyarrow.array(np.zeros(10**6, np.int32))
    parquet.write_table(pyarrow.table({"bag": bag, **{f"x{i}": column for i in range(8)}}), path)


BOMBS = {
    "x.npz": npz_bomb,
    "x.npy": npy_bomb,
    "x.h5": h5_bomb,
    "y.h5": h5_that_was_never_written,
    "x.h5ad": sparse_bomb,
    "x.mat": mat_bomb,
    "x.parquet": parquet_bomb,
    "x.csv.gz": text_bomb,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(tmp_path, name, monkeypatch):
    for module in ("guards", "mat"):
        monkeypatch.setattr(f"sparsetoken.files.{module}.SMALL", 2**22)
    path = tmp_path / name
    BOMBS[name](path)
    words = r"says that it holds|is greater than file size|was never written"
    with pytest.raises(ValueError, match=words):
        read_dataset(path, by="bag" if name == "x.h5ad" else None)


def test_more_than_the_memory_is_refused(tmp_path):
    """A file with a hole is as long as it says, and takes no room on the disk."""
    path = tmp_path / "x.npy"
    shape = (2**16, 2**20, 4)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
        file.truncate(file.tell() + 2**40)
    with pytest.raises(ValueError, match=r"GB of numbers, and this machine has .* GB of memory"):
        read_dataset(path)


@pytest.mark.parametrize("ending", ["npz", "npy", "h5", "pt", "csv", "parquet", "folder"])
def test_a_limit_holds_for_every_format(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    bag = np.repeat(range(4), 5)
    if ending == "npz":
        np.savez(path, X=X)
    elif ending == "npy":
        np.save(path, X)
    elif ending == "h5":
        with h5py.File(path, "w") as file:
            file["X"] = X
    elif ending == "pt":
        torch = pytest.importorskip("torch", reason="reads and writes .pt")
        torch.save(torch.from_numpy(X), path)
    elif ending == "folder":
        Sequences(X.reshape(-1, 3), np.arange(5) * 5).save(path)
    elif ending == "csv":
        rows = [",".join(map(str, [b, *x])) for b, x in zip(bag, X.reshape(-1, 3), strict=True)]
        path.write_text("\n".join(["bag,x,y,z", *rows]))
    else:
        columns = dict(zip("xyz", X.reshape(-1, 3).T, strict=True))
        parquet.write_table(pyarrow.table({"bag": bag, **columns}), path)
    assert len(read_dataset(path, max_numbers=60)) == 4
    words = "holds 6e-05 million numbers; max_numbers=59 are allowed"
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))} {words}$"):
        read_dataset(path, max_numbers=59)


def write(path):
    """Write the same small set in the format that a name ends in."""
    y, bag = np.array([0, 1, 0, 1]), np.repeat(range(4), 5)
    if path.suffix == ".npz":
        np.savez(path, X=X, y=y)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["X"], file["y"] = X, y
    elif path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file({"X": X, "y": y}, path)
    elif path.suffix == ".pt":
        torch = pytest.importorskip("torch", reason="reads and writes .pt")
        torch.save({"X": torch.from_numpy(X), "y": torch.from_numpy(y)}, path)
    elif path.suffix == ".mat":
        savemat(path, {"X": X, "y": y})
    elif path.suffix == ".h5ad":
        anndata = pytest.importorskip("anndata", reason="reads and writes .h5ad")
        obs = pandas.DataFrame({"bag": bag, "label": bag % 2}, index=[f"c{i}" for i in range(20)])
        anndata.AnnData(sparse.csr_matrix(X.reshape(20, 3)), obs).write_h5ad(path)
    else:
        columns = dict(zip("xyz", X.reshape(-1, 3).T, strict=True))
        table = pyarrow.table({"bag": bag, "label": bag % 2, **columns})
        if path.suffix == ".parquet":
            parquet.write_table(table, path)
        elif path.suffix in (".arrow", ".feather"):
            feather.write_feather(table, path)
        else:
            from pyarrow import csv

            csv.write_csv(table, path)


ENDINGS = ["npz", "h5", "safetensors", "pt", "mat", "h5ad", "parquet", "feather", "csv"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_truncated_file_is_said(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    write(path)
    assert read_dataset(path).labels.tolist() == [0, 1, 0, 1]
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 - (ending == "csv")])
    words = "damaged|columns instead of|not a finite|torch writes"
    with pytest.raises(ValueError, match=rf"x\.{ending}.*({words})"):
        read_dataset(path)


@pytest.mark.system
@pytest.mark.parametrize("ending", ENDINGS)
def test_damage_is_said(tmp_path, ending):
    """Flipped bytes and truncations give numbers or a sentence, never another error.

    ``python -m benchmarks.robustness files`` does it with more files, each format in a process.
    """
    path = tmp_path / f"x.{ending}"
    write(path)
    assert read_dataset(path).labels.tolist() == [0, 1, 0, 1]
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for trial in range(15 if ending == "mat" else 60):  # a process each
        place = int(rng.integers(len(content)))
        changed = bytearray(content[:place] if trial % 3 == 0 else content)
        if trial % 3:
            changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(ValueError):
                read_dataset(path, max_numbers=10**6)


@pytest.mark.parametrize("ending", ["feather", "parquet"])
def test_a_damaged_column_name_is_said(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    table = pyarrow.table({"bag": [0, 0], "brightness": [1.0, 2.0]})
    if ending == "feather":
        feather.write_feather(table, path)
        damaged = path.read_bytes().replace(b"brightness", b"\xf3rightness")
    else:
        parquet.write_table(table, path, store_schema=False)
        before, last = path.read_bytes().rsplit(b"brightness", 1)  # that of its only chunk
        damaged = before + b"\xf3rightness" + last
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=rf"x\.{ending} is not a \.{ending} file, or is damaged"):
        read_dataset(path)
