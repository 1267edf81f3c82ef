"""The public sets that tables use: ``python -m benchmarks.data FOLDER``.

Fetches each from its source at a fixed commit, converts it, and compares the result with a
checksum. Without a network it says what to fetch elsewhere and put into the folder. Reading
``.jld`` needs h5py (``pip install '.[data]'``).

A set is ``NAME.npz`` with ``X`` (all instances stacked), ``bag`` (bag of each, sorted) and ``y``
(0/1 per bag), or a table. The sets stay with their owners: nothing of them is in this package.
"""

import hashlib
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.report import run

RAW = "https://raw.githubusercontent.com"
BAGS = f"{RAW}/komartom/MIDatasets.jl/2d9d9f36750cfc59e5b95b803e53001fc2735a42/data"
MUSK2 = f"{RAW}/jmarrietar/MILpy/e6a8c7ee326cb318de8197546d7913f4395f1401/data/musk2_original"
SPANS = f"{RAW}/ipavlopoulos/toxic_spans"
COMMITS = {
    "comments": "a366505c0f86c415fe54a859482f31e024435a59",
    "annotations": "a366505c0f86c415fe54a859482f31e024435a59",
    "spans": "f561fc04aa49ffd2e2e75ca1019e5a6aa47ae4a2",
}
CHOSEN = Path(__file__).with_name("comments_chosen.txt")


class Source(NamedTuple):
    """Under which licence a set is, and how its files become the set."""

    licence: str
    checksum: str
    files: Mapping[str, str] = {}
    """Name of each file in the folder, and its address."""
    convert: Callable[[list[Path], Path], None] | None = None
    by_hand: str = ""
    """How to make a set that no function makes."""


def convert_jld(paths: list[Path], target: Path) -> None:
    """Read bags that Julia wrote: references to matrices, whose axes HDF5 sees exchanged."""
    import h5py

    with h5py.File(paths[0]) as file:
        bags = [file[reference][()].T for reference in file["X"][()].ravel()]
        save_bags(target, bags, file["y"][()])


def convert_mat(paths: list[Path], target: Path) -> None:
    """Read the instances, the bag of each (from 1) and the labels of the bags."""
    from scipy.io import loadmat

    X, bag, labels = (loadmat(p)[n] for p, n in zip(paths, ("X", "Bag2", "bagI"), strict=True))
    bag = bag.ravel()
    save_bags(target, [X[bag == number] for number in np.unique(bag)], labels.ravel())


def save_bags(target: Path, bags: list[Any], labels: Any) -> None:
    """Write bags, positive ones where the label exceeds zero."""
    bag = np.repeat(np.arange(len(bags)), [len(one) for one in bags]).astype(np.int32)
    X, y = np.concatenate(bags).astype(np.float32), (np.asarray(labels) > 0).astype(np.int8)
    np.savez_compressed(target, X=X, bag=bag, y=y)


def convert_comments(paths: list[Path], target: Path) -> None:
    """Choose 800 comments on which all annotators agree; spans that two or more marked stay."""
    comments, annotations, spans = (pd.read_csv(path) for path in paths)
    harmless = annotations.groupby("comment_id")["not toxic"].mean()
    spans = spans.merge(annotations[["annotation", "comment_id"]], on="annotation")
    marked = dict(iter(spans.groupby("comment_id")))
    found = {digest(text): (number, text) for number, text in comments.to_numpy()}
    rows = []
    for name in CHOSEN.read_text().split():
        number, text = found[name]
        toxic = int(harmless[number] < 0.5)
        rows.append((toxic, evidence(marked.get(number), len(text)) if toxic else "", text))
    pd.DataFrame(rows, columns=["toxic", "evidence", "text"]).to_csv(target, index=False)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def evidence(spans: Any, length: int) -> str:
    """Return ``from:to`` of each run of characters that two or more annotators marked."""
    if spans is None:
        return ""
    votes = np.zeros(length + 2, dtype=int)
    for _, its_spans in spans.groupby("annotation"):
        mine = np.zeros(length + 2, dtype=bool)
        for low, high in its_spans[["start", "end"]].to_numpy():
            mine[low + 1 : high + 1] = True
        votes += mine
    edges = np.flatnonzero(np.diff(votes >= 2))
    return " ".join(f"{low}:{high}" for low, high in edges.reshape(-1, 2))


def checksum(path: Path) -> str:
    """Return the checksum of a table, or of the arrays of a set, however they were compressed."""
    if path.suffix != ".npz":
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    value = hashlib.sha256()
    with np.load(path, allow_pickle=False) as arrays:
        for name in sorted(arrays):
            value.update(np.ascontiguousarray(arrays[name]).tobytes())
    return value.hexdigest()[:16]


def fetch(path: Path, address: str) -> Path:
    """Return the file, fetched if it is not there."""
    if not path.exists():
        with urllib.request.urlopen(address, timeout=20) as answer:
            path.write_bytes(answer.read())
    return path


def make(name: str, folder: Path) -> str:
    """Bring one set into the folder; return what happened in words."""
    source, target = SOURCES[name], folder / name
    if not target.exists():
        if source.convert is None:
            return f"by hand: {source.by_hand}"
        try:
            paths = [fetch(folder / file, address) for file, address in source.files.items()]
        except (urllib.error.URLError, TimeoutError) as error:
            files = "\n".join(f"    {url}\n      as {file}" for file, url in source.files.items())
            reason = getattr(error, "reason", error)
            return f"not reached ({reason}). Fetch elsewhere and put into {folder}:\n{files}"
        source.convert(paths, target)
    if checksum(target) != source.checksum:
        return f"DIFFERS from the set of the tables: {checksum(target)}, not {source.checksum}"
    return f"as in the tables ({source.licence})"


JLD = {
    "tiger": ("Tiger", "da6ef65e28106620"),
    "fox": ("Fox", "cdba56c474ca21f1"),
    "elephant": ("Elephant", "1413d6d61b5d7f09"),
    "musk1": ("Musk1", "1bdb28b1dd7a3ee7"),
    "brown_creeper": ("BrownCreeper", "b0b41fcfc8135c75"),
}
TOXIC = "CC0, ipavlopoulos/toxic_spans"
SOURCES = {
    **{
        f"{name}.npz": Source(
            "MIT, komartom/MIDatasets.jl", total, {f"{file}.jld": f"{BAGS}/{file}.jld"}, convert_jld
        )
        for name, (file, total) in JLD.items()
    },
    "musk2.npz": Source(
        "research and education, jmarrietar/MILpy",
        "21fa426006342099",
        {f"musk2_{name}.mat": f"{MUSK2}/{name}.mat" for name in ("X", "Bag2", "BagI")},
        convert_mat,
    ),
    "comments_text.csv": Source(
        TOXIC,
        "5033caf5847e5f8d",
        {f"{name}.csv": f"{SPANS}/{at}/data/{name}.csv" for name, at in COMMITS.items()},
        convert_comments,
    ),
    "comments.npz": Source(
        f"{TOXIC}; MIT, wordllama",
        "269b0686aaf4c51f",
        by_hand="the tokens of comments_text.csv as vectors of wordllama 0.4.0 (256 features): "
        "`vectors[token]` are the tokens, `offsets` cuts them into comments, `y` and `evidence` as "
        "in the table",
    ),
    "probe_curves.csv": Source(
        "MIT, JoshEngels/SAE-Probes",
        "550847a2443523c3",
        by_hand="github.com/JoshEngels/SAE-Probes, results/baseline_probes_gemma-2-9b/scarcity: "
        "join its tables, keep dataset, method, num_train, test_acc, test_auc",
    ),
    "lcdb_curves.csv": Source(
        "LCDB 1.0, Mohr, Viering, Loog and van Rijn 2022",
        "b4b9436aec091583",
        by_hand="pip download lcdb==0.1.0; of every other table: error of one draw and the mean of "
        "all draws at each size (columns in benchmarks/curve_truth.py)",
    ),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    answers = []
    for name in SOURCES:
        answers.append(make(name, folder))
        print(f"{name}: {answers[-1]}", flush=True)
    sys.exit(any(not answer.startswith("as in the tables") for answer in answers))


if __name__ == "__main__":
    run(main)
