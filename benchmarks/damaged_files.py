"""Mutated files of every format: a sentence that names the file, or the same data.

``python -m benchmarks.damaged_files [FILES] [SEED]``: so many of each format, with bytes flipped
or the end cut off. A format with checksums must never give other data; of one without we say how
often it does, as no reader can know. A child process reads, as a library may crash. Formats whose
library is not installed are left out: ``.pt`` needs torch, ``.h5ad`` anndata.
"""

import importlib.util
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from multiprocessing import Pool, TimeoutError
from pathlib import Path
from typing import Any

import numpy as np
from tests import every_format
from tests.every_format import X, Y

from benchmarks.report import Table, run
from sparsetoken import AttentionClassifier, load, read_dataset, save

CHUNK, SECONDS = 25, 300.0  # files that one task reads, and its time


def write_model(path: Path) -> None:
    model = AttentionClassifier(refine_steps=2, random_state=0).fit(X.repeat(3, 0), Y.repeat(3))
    save(model, path)


FORMATS: dict[str, Callable[[Path], None]] = {**every_format.FORMATS, "model.npz": write_model}
NEEDS = {".pt": "torch", ".h5ad": "anndata"}
CHECKED = ("x.npz", "x.pt", "lists.pt", "x.mat", "x.csv.gz", "model.npz")


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
        return ("same data" if found == expected else "other data"), ""
    except (ValueError, OSError, MemoryError) as error:
        named = path.name in str(error) or file.name in str(error)
        return ("refused" if named else "no name"), f"{type(error).__name__}: {error}"
    except Exception as error:
        return "bare error", f"{type(error).__name__}: {error}"


VERDICTS = ("same data", "refused", "other data", "no name", "bare error", "crash, hang")


def read_in_a_process(name: str, n_files: int, seed: int) -> list[tuple[str, str]]:
    with Pool(1) as child:
        try:
            return child.apply_async(read_mutants, (name, n_files, seed)).get(SECONDS)
        except TimeoutError:  # the process has ended, or reads for ever
            return [("crash, hang", f"seed {seed}")]


def main(files: int = 300, seed: int = 0) -> None:
    table = Table("format:14", "checksums:9", *(f"{verdict}:5d" for verdict in VERDICTS))
    wrong = 0
    for name in FORMATS:
        library = NEEDS.get(Path(name).suffix)
        if library and not importlib.util.find_spec(library):
            continue
        results = []
        for chunk, low in enumerate(range(0, files, CHUNK)):
            results += read_in_a_process(name, min(CHUNK, files - low), seed * 10_000 + chunk)
        counts, checked = Counter(verdict for verdict, _ in results), name in CHECKED
        bad = ["bare error", "crash, hang", *(["other data"] if checked else [])]
        wrong += sum(counts[verdict] for verdict in bad)
        table.add(name, "yes" if checked else "no", *(counts[verdict] for verdict in VERDICTS))
        for verdict, words in dict(results).items():
            if verdict in ("no name", "bare error", "crash, hang"):
                print(f"    {verdict}: {words}", flush=True)
    print(f"{wrong} files gave another error, a crash, no end, or other data in spite of checksums")


if __name__ == "__main__":
    run(main)
