"""Mutated files of every format: a sentence that names the file, or the same data.

``python -m benchmarks.robustness files [FILES] [SEED]``: so many of each format, with bytes flipped
or the end cut off. A format with checksums must never give other data; of one without we say how
often it does, as no reader can know. A
child process reads, as a library may crash. Formats whose library is not installed are left out:
``.pt`` needs torch, ``.h5ad`` anndata.
"""

import gzip
import importlib.util
import io
import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
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

from benchmarks.report import Table
from sparsetoken import AttentionClassifier, Sequences, load, read_dataset, save

X = np.random.default_rng(0).standard_normal((8, 5, 3)).astype(np.float32)
Y = np.arange(8) % 2
BAG = np.repeat(np.arange(8), 5)
CHUNK = 25  # files that one task reads


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
    matrix = sparse.csr_matrix(np.maximum(X.reshape(-1, 3), 0.0))
    anndata.AnnData(matrix, obs).write_h5ad(path)


def write_torch(path: Path) -> None:
    torch = importlib.import_module("torch")
    torch.save({"X": [[torch.from_numpy(one)] for one in X], "y": torch.from_numpy(Y)}, path)


def write_sparse(path: Path) -> None:
    matrix = sparse.csc_matrix(np.maximum(X.reshape(-1, 3), 0.0).astype(float))
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


def write_model(path: Path) -> None:
    model = AttentionClassifier(refine_steps=2, random_state=0).fit(X.repeat(3, 0), Y.repeat(3))
    save(model, path)


FORMATS: dict[str, Callable[[Path], None]] = {
    "x.npz": lambda path: np.savez(path, X=X, y=Y),
    "x.npy": lambda path: np.save(path, X),
    "x.h5": write_hdf5,
    "x.hdf5": write_hdf5,
    "x.h5ad": write_h5ad,
    "x.safetensors": lambda path: save_file({"X": X, "y": Y}, path),
    "x.pt": write_torch,
    "x.pth": write_torch,
    "sparse.mat": write_sparse,
    "x.mat": lambda path: savemat(path, {"X": X, "y": Y}, do_compression=True),
    "x.csv": write_text,
    "x.csv.gz": write_text,
    "x.tsv": write_text,
    "x.parquet": lambda path: parquet.write_table(table(), path),
    "x.arrow": lambda path: feather.write_feather(table(), path),
    "lists.arrow": write_lists,
    "x.feather": lambda path: feather.write_feather(table(), path),
    "sequences": write_sequences,
    "saved_to_disk": write_saved_to_disk,
    "model.npz": write_model,
}
NEEDS = {".pt": "torch", ".pth": "torch", ".h5ad": "anndata"}
CHECKED = ("x.npz", "x.pt", "x.pth", "x.mat", "x.csv.gz", "model.npz")


def content(path: Path) -> list[Any]:
    """Return all that is read from a file."""
    if path.name == "model.npz":
        return [load(path).decision_function(X).tolist()]
    data = read_dataset(path, max_numbers=10**6)
    labels = None if data.labels is None else data.labels.tolist()
    tokens = [one.tolist() for one in data.sequences]
    return [tokens, labels, list(map(str, data.ids))]


def mutate(original: bytes, rng: np.random.Generator) -> bytes:
    """Return a file cut off, or with one to eight bytes changed."""
    if rng.random() < 1 / 3:
        return original[: rng.integers(len(original))]
    changed = bytearray(original)
    for _ in range(rng.choice([1, 1, 1, 8])):
        changed[rng.integers(len(changed))] ^= int(rng.integers(1, 256))
    return bytes(changed)


def read_mutants(name: str, n_files: int, seed: int) -> list[tuple[str, str]]:
    """Return what became of each mutant: a verdict and what was said."""
    rng = np.random.default_rng(seed)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        FORMATS[name](path)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        originals = [file.read_bytes() for file in files]
        expected = content(path)
        for _ in range(n_files):
            index = int(rng.integers(len(files)))
            files[index].write_bytes(mutate(originals[index], rng))
            results.append(_verdict(path, files[index], expected))
            files[index].write_bytes(originals[index])
    return results


def _verdict(path: Path, file: Path, expected: list[Any]) -> tuple[str, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = content(path)
        if found == expected:
            return "same data", ""
        lost = sum(map(len, found[0])) < sum(map(len, expected[0]))
        return ("tokens lost" if lost else "other data"), ""
    except (ValueError, OSError, MemoryError) as error:
        named = path.name in str(error) or file.name in str(error)
        return ("refused" if named else "no name"), f"{type(error).__name__}: {error}"
    except Exception as error:
        return "bare error", f"{type(error).__name__}: {error}"


VERDICTS = (
    *("same data", "refused", "other data", "tokens lost"),
    *("no name", "bare error", "crash"),
)


def main(n_files: int = 300, seed: int = 0) -> None:
    """Read so many mutants of every format."""
    table = Table("format:14", "checksums:9", *(f"{verdict}:5d" for verdict in VERDICTS))
    wrong = 0
    for name in FORMATS:
        if NEEDS.get(Path(name).suffix) and not importlib.util.find_spec(NEEDS[Path(name).suffix]):
            continue
        counts: Counter[str] = Counter()
        messages: dict[str, str] = {}
        for chunk in range(n_files // CHUNK):
            try:
                with ProcessPoolExecutor(1) as child:
                    task = child.submit(read_mutants, name, CHUNK, seed * 10_000 + chunk)
                    results = task.result()
            except BrokenProcessPool:
                results = [("crash", f"seed {seed * 10_000 + chunk}")]
            counts.update(verdict for verdict, _ in results)
            messages.update(result for result in results if result[1])
        checked = name in CHECKED
        wrong += (
            counts["bare error"]
            + counts["crash"]
            + checked * (counts["other data"] + counts["tokens lost"])
        )
        table.add(name, "yes" if checked else "no", *(counts[verdict] for verdict in VERDICTS))
        for verdict in ("no name", "bare error", "crash"):
            if counts[verdict]:
                print(f"    {verdict}: {messages[verdict]}", flush=True)
    print(f"{wrong} files gave another error, a crash, or other data in spite of checksums")
