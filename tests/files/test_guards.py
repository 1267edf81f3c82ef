"""Files of every format that would harm: bombs, too many numbers, damage. Each is refused."""

import contextlib
import gzip
import io
import re
import subprocess
import sys
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

from every_format import FORMATS
from sparsetoken import read_dataset

HUGE = (200, 1000, 25_000)  # 20 GB of float32


def npz_bomb(path):
    """Claim 20 GB, and hold as many zeros as it takes to look like them."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": HUGE}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(2**20))


def npz_beyond_all_floats(path):
    """Claim more numbers than a float can count."""
    head = {"descr": "<f4", "fortran_order": False, "shape": (10**18,) * 20}
    with zipfile.ZipFile(path, "w") as archive, archive.open("X.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, head)


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


def h5_of_many_texts(path):
    with h5py.File(path, "w") as file:
        file["X"] = np.ones((2, 3, 4))
        file.create_dataset("ids", 10**8, h5py.string_dtype(), chunks=10**6, compression=9)[0] = "a"


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


def bomb_of_long_names(path):
    with gzip.open(path, "wb") as file:
        file.write(b"bag,x\n" + (b"a" * 10**4 + b",1\n") * 4_000)


def sparse_parts_bomb(path):
    """The matrix is small, the lists of its numbers are not."""
    write(path.parent, "x.h5ad").rename(path)
    with h5py.File(path, "a") as file:
        del file["X/data"]
        file.create_dataset("X/data", 10**8, "f4", chunks=10**6, compression="gzip")[0] = 1.0


def parquet_bomb(path):
    column = pyarrow.array(np.zeros(10**6, np.float32))
    bag = pyarrow.array(np.zeros(10**6, np.int32))
    parquet.write_table(pyarrow.table({"bag": bag, **{f"x{i}": column for i in range(8)}}), path)


BOMBS = {
    "x.npz": npz_bomb,
    "y.npz": npz_beyond_all_floats,
    "x.npy": npy_bomb,
    "x.h5": h5_bomb,
    "y.h5": h5_that_was_never_written,
    "z.h5": h5_of_many_texts,
    "x.h5ad": sparse_bomb,
    "y.h5ad": sparse_parts_bomb,
    "x.mat": mat_bomb,
    "x.parquet": parquet_bomb,
    "x.csv.gz": text_bomb,
    "y.csv.gz": bomb_of_long_names,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(tmp_path, name, monkeypatch):
    monkeypatch.setattr("sparsetoken.files.guards.SMALL", 2**22)
    path = tmp_path / name
    BOMBS[name](path)
    words = r"says that it holds|is greater than file size|was never written"
    with pytest.raises(ValueError, match=words):
        read_dataset(path, by="bag" if ".h5ad" in name else None)


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


def write(folder, name):
    """Write the same small set in a format, if its library is there."""
    for ending, package in ((".pt", "torch"), (".h5ad", "anndata")):
        if name.endswith(ending):
            pytest.importorskip(package, reason=f"reads and writes {ending}")
    FORMATS[name](folder / name)
    return folder / name


@pytest.mark.parametrize(
    "name", ["x.npz", "x.npy", "x.h5", "x.pt", "x.csv", "x.parquet", "sequences"]
)
def test_a_limit_holds_for_every_format(tmp_path, name):
    path = write(tmp_path, name)
    assert len(read_dataset(path, max_numbers=120)) == 8
    words = "holds 0.00012 million numbers; max_numbers=119 are allowed"
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))} {words}$"):
        read_dataset(path, max_numbers=119)


ENDINGS = ["npz", "h5", "safetensors", "pt", "mat", "h5ad", "parquet", "feather", "csv"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_truncated_file_is_said(tmp_path, ending):
    path = write(tmp_path, f"x.{ending}")
    assert read_dataset(path).labels.tolist() == [0, 1] * 4
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 - (ending == "csv")])
    words = "damaged|not a finite|torch writes"
    with pytest.raises(ValueError, match=rf"x\.{ending}.*({words})"):
        read_dataset(path)


@pytest.mark.system
@pytest.mark.parametrize("ending", ENDINGS)
def test_damage_is_said(tmp_path, ending):
    """Flipped bytes and truncations give numbers or a sentence, never another error.

    ``python -m benchmarks.damaged_files`` does it with more files, each format in a process.
    """
    path = write(tmp_path, f"x.{ending}")
    assert read_dataset(path).labels.tolist() == [0, 1] * 4
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for trial in range(15 if ending in ("mat", "h5ad") else 60):  # a process each
        place = int(rng.integers(len(content)))
        changed = bytearray(content[:place] if trial % 3 == 0 else content)
        if trial % 3:
            changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(ValueError):
                read_dataset(path, max_numbers=10**6)


_READ_FOR_EVER = """
import sys
from sparsetoken import read_dataset
from sparsetoken.files import apart
apart._PATIENCE = 5.0
try:
    read_dataset(sys.argv[1])
except ValueError as error:
    print(error)
"""


@pytest.mark.system
@pytest.mark.parametrize(
    ("ending", "place", "flipped"),
    [("h5", 24, 6), ("h5", 24, 0x4E), ("h5ad", 9, 0x4E)],
    ids=["text", "attribute", "h5ad"],
)
def test_texts_that_the_library_reads_for_ever(tmp_path, ending, place, flipped):
    """The size of the heap in which HDF5 keeps texts, or of a text in it, is wrong."""
    path = write(tmp_path, f"x.{ending}")
    if ending == "h5":
        with h5py.File(path, "a") as file:
            if flipped == 6:  # a text of six letters has none
                file["ids"] = np.array([f"case {i}" for i in range(8)], dtype=object)
            else:
                file.attrs["dtype"] = "float32"
                file["X"].attrs["dtype"] = "float32, plain"
    assert read_dataset(path).labels.tolist() == [0, 1] * 4
    content = bytearray(path.read_bytes())
    content[content.index(b"GCOL") + place] ^= flipped
    path.write_bytes(content)
    command = [sys.executable, "-W", "ignore", "-c", _READ_FOR_EVER, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert "or is damaged: its library crashes, or does not end within 5 seconds" in done.stdout


_READ_DAMAGED = """
import pathlib, sys
from sparsetoken import read_dataset
path = pathlib.Path(sys.argv[1])
content = path.read_bytes()
for place in range(len(content) // 2, len(content)):
    path.write_bytes(content[:place] + bytes([content[place] ^ 0x4E]) + content[place + 1 :])
    try:
        read_dataset(path, max_numbers=10**6)
    except ValueError:
        pass
"""


@pytest.mark.system
def test_no_damage_of_a_parquet_footer_ends_the_process(tmp_path):
    """Arrow ends the process where the histogram of a column's levels has another length."""
    path = write(tmp_path, "x.parquet")
    command = [sys.executable, "-W", "ignore", "-c", _READ_DAMAGED, str(path)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize("ending", ["feather", "parquet"])
def test_a_damaged_column_name_is_said(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    table = pyarrow.table({"bag": [0, 0], "brightness": [1.0, 2.0]})
    if ending == "feather":
        feather.write_feather(table, path)
    else:
        parquet.write_table(table, path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"brightness", b"\xf3rightness"))
    with pytest.raises(ValueError, match=rf"x\.{ending} is not a \.{ending} file, or is damaged"):
        read_dataset(path)
