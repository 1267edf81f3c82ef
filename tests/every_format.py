"""The same small set in every format: a function for each name of a file, or of a folder."""

import gzip
import importlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas
import pyarrow
from pyarrow import csv, feather, parquet
from safetensors.numpy import save_file
from scipy import sparse
from scipy.io import savemat

from sparsetoken import Sequences

X = np.random.default_rng(0).standard_normal((8, 5, 3)).astype(np.float32)
Y = np.arange(8) % 2
BAG = np.repeat(np.arange(8), 5)


def table() -> Any:
    columns = dict(zip("xyz", X.reshape(-1, 3).T, strict=True))
    return pyarrow.table({"bag": BAG, "label": Y[BAG], **columns})


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["X"], file["y"] = X, Y


def write_h5ad(path: Path) -> None:
    anndata = importlib.import_module("anndata")

    index = [f"c{i}" for i in range(len(BAG))]
    obs = pandas.DataFrame({"bag": BAG, "label": pandas.Categorical(Y[BAG])}, index=index)
    matrix = sparse.csr_matrix(np.maximum(X.reshape(-1, 3) + 0.5, 0.0))
    anndata.AnnData(matrix, obs).write_h5ad(path)


def write_torch(path: Path) -> None:
    torch = importlib.import_module("torch")

    tokens = torch.from_numpy(X) if path.stem == "x" else [[torch.from_numpy(one)] for one in X]
    torch.save({"X": tokens, "y": torch.from_numpy(Y)}, path)


def write_sparse(path: Path) -> None:
    matrix = sparse.csc_matrix(np.maximum(X.reshape(-1, 3) + 0.5, 0.0).astype(float))
    savemat(path, {"features": matrix, "bag_ids": BAG, "labels": Y[BAG]})


def write_lists(path: Path) -> None:
    rows = pyarrow.array(X.tolist(), pyarrow.list_(pyarrow.list_(pyarrow.float32())))
    feather.write_feather(pyarrow.table({"bag": range(8), "label": Y, "tokens": rows}), path)


def write_text(path: Path) -> None:
    separator = "\t" if ".tsv" in path.name else ","
    buffer = io.BytesIO()
    csv.write_csv(table(), buffer, csv.WriteOptions(delimiter=separator))
    text = buffer.getvalue()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def write_sequences(folder: Path) -> None:
    Sequences(X.reshape(-1, 3), np.arange(9) * 5).save(folder, labels=Y)


def write_saved_to_disk(folder: Path) -> None:
    folder.mkdir()
    with pyarrow.ipc.new_stream(str(folder / "data.arrow"), table().schema) as out:
        out.write_table(table())
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))


FORMATS: dict[str, Callable[[Path], None]] = {
    "x.npz": lambda path: np.savez(path, X=X, y=Y),
    "x.npy": lambda path: np.save(path, X),
    "x.h5": write_hdf5,
    "x.h5ad": write_h5ad,
    "x.safetensors": lambda path: save_file({"X": X, "y": Y}, path),
    "x.pt": write_torch,
    "lists.pt": write_torch,
    "sparse.mat": write_sparse,
    "x.mat": lambda path: savemat(path, {"X": X, "y": Y}, do_compression=True),
    "x.csv": write_text,
    "x.csv.gz": write_text,
    "x.tsv": write_text,
    "x.parquet": lambda path: parquet.write_table(table(), path),
    "x.feather": lambda path: feather.write_feather(table(), path),
    "lists.arrow": write_lists,
    "sequences": write_sequences,
    "saved_to_disk": write_saved_to_disk,
}
