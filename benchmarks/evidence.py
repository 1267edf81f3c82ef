"""Do explanations hit the evidence? ``python -m benchmarks.evidence --data FOLDER`` (two minutes).

Bags whose decisive tokens are known: needle digits, where it is the 9, and ``comments.npz``, where
annotators marked words (``evidence``, True for such tokens; see ``benchmarks.bags``). Each positive
bag is explained by a classifier that has not seen it, in five folds. A row says how often the token
that contributes most is evidence, how much of it is among the three that contribute most, how often
the token with most attention is, and how often any token would be.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from benchmarks.bags import needle_digits, stored_bags
from benchmarks.report import Table
from sparsetoken import BayesAttentionClassifier, Sequences, SparseTokenClassifier

MODELS: dict[str, Any] = {
    "sparsetoken": SparseTokenClassifier,
    "bayes": BayesAttentionClassifier,
}
Marks = NDArray[np.bool_]
Bags = tuple[Sequences, NDArray[np.int64], Marks]


def nines() -> Bags:
    """Return needle digits; the evidence is a 9."""
    X, y = needle_digits()
    images, digits = load_digits(return_X_y=True)
    wanted = {image.tobytes() for image in images[digits == 9]}
    return X, y, np.array([token.tobytes() in wanted for token in X.tokens])


def comments(path: Path) -> Bags:
    """Return comments; the evidence are the marked words."""
    X, y = stored_bags(path)
    with np.load(path, allow_pickle=False) as stored:
        return X, y, stored["evidence"]


def hits(model: Any, bags: Sequences, marks: list[Marks]) -> list[tuple[float, ...]]:
    """Return for each bag whether the strongest tokens are evidence."""
    rows: list[tuple[float, ...]] = []
    explained = model.explain(bags, top=int(bags.lengths.max()))
    for one, marked in zip(explained, marks, strict=True):
        sign = 1.0 if one.speaks_for == model.classes_[1] else -1.0
        strongest = one.tokens[np.argsort(-sign * one.contributions, kind="stable")]
        recall = marked[strongest[:3]].sum() / min(3, marked.sum())
        rows.append((marked[strongest[0]], recall, marked[one.tokens[0]], marked.mean()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with comments.npz")
    options = parser.parse_args()
    sets = {"needle": nines()}
    if options.data is not None and (options.data / "comments.npz").exists():
        sets["comments"] = comments(options.data / "comments.npz")
    table = Table("set:10", "model:12", "strongest:9.3f", "recall of 3:9.3f",
                  "most attention:9.3f", "chance:6.3f", "positives:9d")  # fmt: skip
    for name, (X, y, evidence) in sets.items():
        for label, make in MODELS.items():
            rows: list[tuple[float, ...]] = []
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            for train, test in folds.split(y, y):
                model = make(random_state=0).fit(X[train], y[train])
                bounds = [slice(*X.offsets[i : i + 2]) for i in range(len(X))]
                marked = [i for i in test if y[i] == 1 and evidence[bounds[i]].any()]
                rows += hits(model, X[marked], [evidence[bounds[i]] for i in marked])
            table.add(name, label, *np.mean(rows, axis=0), len(rows))


if __name__ == "__main__":
    main()
