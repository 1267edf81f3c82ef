"""Random tables of labels: every sequence gets its own label, or the table is refused.

``python -m benchmarks.robustness labels [TABLES] [SEED]``. A table has the names of the sequences
in a column of a usual or an unusual name, rows in any order, perhaps some missing, too many or
twice, and what others put beside them: the index of pandas, row names of R, counts, doses, a second
code of the same kind, labels that look like names.
"""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from benchmarks.report import Table
from sparsetoken import read_dataset

NAMES = ("bag", "slide_id", "id", "file", "code", "V1", "probe")
VERDICTS = ("right", "refused", "some without a label", "wrong")


def random_table(names: list[str], y: Any, rng: np.random.Generator) -> tuple[Any, str, bool]:
    """Return a table, the column that names sequences, and whether its index is written."""
    n = len(names)
    order = rng.permutation(n)
    if rng.random() < 0.2:
        order = order[: rng.integers(1, n)]
    ending = rng.choice(["", ".svs", ".npy"])
    column = str(rng.choice(NAMES))
    rows: dict[str, Any] = {column: [f"{names[i]}{ending}" for i in order]}
    others = {
        "visits": rng.integers(0, n, len(order)),
        "dose": rng.integers(0, n, len(order)) + 0.5,
        "rank": rng.permutation(len(order)),
        "twin": [names[i] for i in rng.permutation(n)[: len(order)]],
        "site": rng.choice(list("pqr"), len(order)),
    }
    for name in rng.permutation(list(others))[: rng.integers(0, 4)]:
        rows[str(name)] = others[str(name)]
    rows["label"] = y[order]
    frame = pandas.DataFrame(rows)[rng.permutation(list(rows))]
    if rng.random() < 0.5:
        frame.index = frame.index + int(rng.integers(0, 2))
    if rng.random() < 0.2:
        frame = pandas.concat([frame, frame.iloc[:1]])
    return frame, column, bool(rng.random() < 0.5)


def judge(folder: Path, rng: np.random.Generator) -> dict[str, str]:
    """Return the verdict without a word, and that with the column's name."""
    n = int(rng.integers(4, 30))
    start = int(rng.integers(0, 2))
    kind = rng.integers(3)
    names = [[str(i + start), f"s{i:03d}", f"case {i} a.b"][kind] for i in range(n)]
    y = rng.integers(0, 2, n)
    for name, label in zip(names, y, strict=True):
        np.save(folder / f"{name}.npy", np.full((2, 2), label + 1.0))
    frame, column, index = random_table(names, y, rng)
    frame.to_csv(folder / "labels.csv", index=index)
    return {"found": _verdict(folder, None), "named": _verdict(folder, column)}


def _verdict(folder: Path, by: str | None) -> str:
    try:
        data = read_dataset(folder, by=by)
    except ValueError:
        return "refused"
    truth = [int(tokens[0, 0]) - 1 for tokens in data.sequences]
    labels = [None] * len(data) if data.labels is None else data.labels.tolist()
    if any(label not in (None, true) for label, true in zip(labels, truth, strict=True)):
        return "wrong"
    return "right" if data.labelled.all() else "some without a label"


def main(tables: int = 300, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    counts: dict[str, Counter[str]] = {"found": Counter(), "named": Counter()}
    for _ in range(tables):
        with tempfile.TemporaryDirectory() as folder:
            for how, verdict in judge(Path(folder), rng).items():
                counts[how][verdict] += 1
    table = Table("column of names:15", *(f"{verdict}:5d" for verdict in VERDICTS))
    for how, count in counts.items():
        table.add(how, *(count[verdict] for verdict in VERDICTS))
