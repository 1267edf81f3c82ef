"""Do explanations hit the evidence? ``python -m benchmarks.evidence --data FOLDER`` (two minutes).

Bags whose decisive tokens are known: needle digits, where it is the 9, and ``comments.npz``, where
annotators marked words (``evidence``, True for such tokens). Each positive bag is explained by a
classifier that has not seen it, in five folds. A row says how often the token that contributes most
is evidence, how often the token with most attention is, and how often any token would be.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.bags import folds_of
from benchmarks.families import bag_sets
from benchmarks.peers import OURS
from benchmarks.report import Table, run
from sparsetoken import Sequences


def nines(tokens: Any) -> NDArray[np.bool_]:
    """Return which tokens are a 9."""
    images, digits = load_digits(return_X_y=True)
    wanted = {image.tobytes() for image in images[digits == 9]}
    return np.array([token.tobytes() in wanted for token in tokens])


def hits(model: Any, bags: Sequences, marks: list[Any]) -> list[tuple[float, ...]]:
    """Return for each bag whether its strongest token is evidence, and how many tokens are."""
    rows: list[tuple[float, ...]] = []
    explained = model.explain(bags, top=int(bags.lengths.max()))
    for one, marked in zip(explained, marks, strict=True):
        sign = 1.0 if one.speaks_for == model.classes_[1] else -1.0
        strongest = one.tokens[np.argmax(sign * one.contributions)]
        rows.append((marked[strongest], marked[one.tokens[0]], marked.mean()))
    return rows


def main(*, data: Path | None = None) -> None:
    table = Table("set:10", "model:12", "strongest:9.3f", "most attention:9.3f", "chance:6.3f",
                  "positives:9d")  # fmt: skip
    for name, (X, y) in bag_sets(data, ["needle", "comments"]).items():
        if name == "needle":
            evidence = nines(X.tokens)
        else:
            evidence = np.load(f"{data}/comments.npz", allow_pickle=False)["evidence"]
        marks = np.split(evidence, X.offsets[1:-1])
        for label in ("sparsetoken", "bayes"):
            rows: list[tuple[float, ...]] = []
            for _, train, test in folds_of(y, 1, 5):
                model = OURS[label]().fit(X[train], y[train])
                marked = [i for i in test if y[i] == 1 and marks[i].any()]
                rows += hits(model, X[marked], [marks[i] for i in marked])
            table.add(name, label, *np.mean(rows, axis=0), len(rows))


if __name__ == "__main__":
    run(main)
