"""Accuracy on bags: 5 × StratifiedKFold(10), the same folds for all. Takes hours with all peers.

``python -m benchmarks.bags --data FOLDER`` takes the sets that ``python -m benchmarks.data FOLDER``
made, ``--sets needle`` bags of digits, which need no folder. Sets that are missing are skipped, and
so are peers that are not installed. ``--store FILE`` keeps the result of every fit, so that a run
that was stopped goes on where it was.

A row has accuracy and AUC with standard errors, and the differences to the first of ``--models``,
paired by fold. ``--models sparsetoken,only-attention,only-pooled,only-statistics`` sets the stack
beside each kind of member alone; ``without-sharp``, ``-posterior``, ``-mean``, ``-kernel`` and
``-trees`` are the stack without one. How right probabilities are: ``benchmarks.calibration``.

``python -m benchmarks.bags families`` does the same on families of simulated sequences, 100 of each
to learn from.
"""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.families import STORED, Labels, bag_sets, families, generator
from benchmarks.peers import ABLATED, MODELS, installed
from benchmarks.report import Kept, Table, plus_minus, run
from sparsetoken import Sequences

FOLDS = 10


Fit = tuple[float, float, float, list[float]]
"""Accuracy, AUC and seconds of a model fitted to one part of the bags; the scores of the others."""


def folds_of(y: Labels, rounds: int, folds: int = FOLDS) -> Iterator[tuple[str, Labels, Labels]]:
    """Yield names of repeated folds, the bags to train on and those to test on."""
    for seed in range(rounds):
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        for number, (train, test) in enumerate(splitter.split(y, y)):
            yield f"seed {seed} fold {number}", train, test


def fit_all(name: str, X: Sequences, y: Labels, model: str, rounds: int, store: Kept) -> list[Fit]:
    """Return the fits of a model to all folds, the same for every model."""

    def fit(train: Labels, test: Labels) -> Fit:
        start = time.process_time()
        fitted = (MODELS | ABLATED)[model]().fit(X[train], y[train])
        took = time.process_time() - start
        scores = fitted.decision_function(X[test])
        accuracy = float(np.mean((scores > 0) == y[test]))
        return accuracy, float(roc_auc_score(y[test], scores)), took, scores.tolist()

    return [
        store.get(f"{name}, {model}, {split}", partial(fit, train, test))
        for split, train, test in folds_of(y, rounds)
    ]


def main(
    *,
    data: Path | None = None,
    seeds: int = 5,
    sets: str = ",".join(["needle", *STORED, "musk2", "elephant"]),  # these two: reported only
    models: str = ",".join(MODELS),
    store: Path | None = None,
) -> None:
    kept, names = Kept(store), installed(models.split(","))
    table = Table("set:13", "model:15", "n:4d", "accuracy:15s", "AUC:15s", "less the first:16s",
                  "AUC:16s", "CPU s:7.2f")  # fmt: skip
    for name, (X, y) in bag_sets(data, sets.split(",")).items():
        fits: dict[str, Any] = {}
        for model in names:
            measured = np.array([fit[:3] for fit in fit_all(name, X, y, model, seeds, kept)]).T
            fits[model] = measured
            means = [plus_minus(measured[k], FOLDS) for k in (0, 1)]
            gaps = [plus_minus(measured[k] - fits[names[0]][k], FOLDS, "+.3f") for k in (0, 1)]
            size = round((1.0 - 1.0 / FOLDS) * len(y))
            table.add(name, model, size, *means, *gaps, measured[2].mean())


def on_families(*, draws: int = 3, models: str = ",".join(["sparsetoken", *ABLATED])) -> None:
    """Print the AUC of each model on new sequences of a family, and the mean over families."""
    names, rows, sources = models.split(","), [], families(None)
    table = Table("family:12", *(f"{name}:18.3f" for name in names))
    for family, source in sources.items():
        aucs = np.zeros(len(names))
        for draw in range(draws):
            (X, y), (new, labels) = source.split(min(100, source.most), generator(family, draw))
            for column, name in enumerate(names):
                scores = (MODELS | ABLATED)[name]().fit(X, y).decision_function(new)
                aucs[column] += roc_auc_score(labels, scores) / draws
        rows.append(aucs)
        table.add(family, *aucs)
    table.add("all", *np.mean(rows, axis=0))


if __name__ == "__main__":
    run(main, families=on_families)
