"""Accuracy on bags: 5 × StratifiedKFold(10), the same folds for all. Takes hours with all peers.

``python -m benchmarks.bags --data FOLDER`` with ``tiger.npz``, ``fox.npz``, ``musk1.npz`` and
``brown_creeper.npz`` in the folder: arrays ``X`` (all instances stacked), ``bag`` (bag of each
instance, sorted) and ``y`` (0/1 per bag); and ``comments.npz``: ``vectors[token]`` are the tokens,
which ``offsets`` cuts, and ``y``. Sets that are missing are skipped, and so are peers that are not
installed. ``--curves 20`` shows learning curves from 20 random splits instead of the folds.
``--store FILE`` keeps the result of every fit, so that a run that was stopped goes on where it was.

A row has accuracy and AUC with standard errors; the differences to the first model, paired by fold;
the accuracy at the best threshold for each fold's held-out bags, and at the best one for those of
all ten folds; and how far probabilities are off (expected calibration error in ten bins), with what
calibrated ones would show for so few bags.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.bag_networks import AttentionProbe, EmbeddedABMIL
from benchmarks.bag_peers import (
    Embedded,
    InstanceMachine,
    MaxProbe,
    Quantiles,
    Statistics,
)
from benchmarks.report import Kept, Table, mean_and_error
from sparsetoken import (
    AttentionClassifier,
    BayesAttentionClassifier,
    PooledClassifier,
    Sequences,
    SparseTokenClassifier,
)

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
STORED = ("tiger", "fox", "musk1", "brown_creeper", "comments")
OURS = ("sparsetoken", "monotone", "attention", "bayes")  # their scores are log-odds
MODELS: dict[str, Callable[[], Any]] = {
    "sparsetoken": lambda: SparseTokenClassifier(random_state=0),
    "monotone": lambda: SparseTokenClassifier(monotone=True, random_state=0),
    "attention": lambda: AttentionClassifier(random_state=0),
    "bayes": lambda: BayesAttentionClassifier(random_state=0),
    "pooled": PooledClassifier,
    "mean": Embedded,
    "extra": lambda: Statistics(ExtraTreesClassifier(500, random_state=0)),
    "forest": lambda: Statistics(RandomForestClassifier(500, random_state=0)),
    "quantiles": lambda: Quantiles(ExtraTreesClassifier(500, random_state=0)),
    "misvm": InstanceMachine,
    "multimax": MaxProbe,
    "rolling": lambda: MaxProbe(heads=1, window=10),
    "probe": AttentionProbe,
    "abmil": EmbeddedABMIL,
}


def needle_digits(n_bags: int = 300, seed: int = 0) -> tuple[Sequences, Labels]:
    """Return bags of about 20 digits; each positive one holds exactly one 9, used nowhere else."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    nines = rng.permutation(images[digits == 9])
    others = images[digits != 9]
    y = (np.arange(n_bags) < n_bags // 2).astype(np.int64)
    bags = []
    for i, label in enumerate(y):
        bag = others[rng.choice(len(others), rng.integers(15, 26), replace=False)]
        if label:
            bag[rng.integers(len(bag))] = nines[i]
        bags.append(bag)
    return Sequences.from_list(bags), y


def stored_bags(path: Path) -> tuple[Sequences, Labels]:
    with np.load(path, allow_pickle=False) as stored:
        y = stored["y"].astype(np.int64)
        if "bag" not in stored:
            tokens = stored["vectors"][stored["token"]].astype(np.float32)
            return Sequences(tokens, stored["offsets"]), y
        offsets = np.concatenate([[0], np.cumsum(np.bincount(stored["bag"]))])
        return Sequences(stored["X"], offsets), y


class Fit(NamedTuple):
    """What a model fitted to one part of the bags did on the others."""

    accuracy: float
    auc: float
    seconds: float
    scores: Sequence[float] = ()
    """Of the bags tested on."""


Split = tuple[str, Labels, Labels]
"""Its name, the bags to train on and those to test on."""


def folds_of(y: Labels, seeds: int, folds: int = 10) -> Iterator[Split]:
    """Repeated folds, the same for every model."""
    for seed in range(seeds):
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        for number, (train, test) in enumerate(splitter.split(y, y)):
            yield f"seed {seed} fold {number}", train, test


def splits_of(y: Labels, size: int, repeats: int) -> Iterator[Split]:
    """Random splits, the same for every model: train on some, test on all the others."""
    for seed in range(repeats):
        train, test = train_test_split(
            np.arange(len(y)), train_size=size, stratify=y, random_state=seed
        )
        yield f"size {size} split {seed}", np.sort(train), test


def fit_all(
    name: str, X: Sequences, y: Labels, model: str, splits: Iterable[Split], store: Kept
) -> list[Fit]:
    def fit(train: Labels, test: Labels) -> Any:
        start = time.process_time()
        fitted = MODELS[model]().fit(X[train], y[train])
        took = time.process_time() - start
        scores = fitted.decision_function(X[test])
        accuracy = float(np.mean((scores > 0) == y[test]))
        return Fit(accuracy, float(roc_auc_score(y[test], scores)), took, scores.tolist())

    return [
        Fit(*store.get(f"{name}, {model}, {split}", partial(fit, train, test)))
        for split, train, test in splits
    ]


def best_accuracy(scores: Floats, y: Labels) -> float:
    """Return the accuracy at the threshold that is best for these very samples."""
    order = np.argsort(scores)
    ends = np.append(np.diff(scores[order]) > 0, True)  # equal scores stay on one side
    right = np.cumsum(np.where(y[order] == 1, -1, 1))[ends] + y.sum()
    return float(max(right.max(), y.sum()) / len(y))


def calibration_error(probability: Floats, y: Any, bins: int = 10) -> float:
    """Return the mean distance of probabilities and frequencies, in bins of equal size."""
    groups = np.array_split(np.argsort(probability, kind="stable"), bins)
    gaps = [len(g) * abs(probability[g].mean() - y[g].mean()) for g in groups]
    return float(sum(gaps) / len(y))


class Judged(NamedTuple):
    """Figures from all held-out bags of each round of folds, averaged."""

    best_fold: float
    best_round: float
    calibration: float
    if_calibrated: float


def judge(fits: list[Fit], tests: list[Labels], y: Labels, folds: int = 10) -> Judged:
    rng = np.random.default_rng(0)
    rows = []
    for first in range(0, len(fits), folds):
        parts = [np.array(fit.scores) for fit in fits[first : first + folds]]
        labels = [y[test] for test in tests[first : first + folds]]
        by_fold = [best_accuracy(*pair) for pair in zip(parts, labels, strict=True)]
        scores, label = np.concatenate(parts), np.concatenate(labels)
        chance = expit(scores)
        drawn = [calibration_error(chance, rng.random(len(y)) < chance) for _ in range(100)]
        off = calibration_error(chance, label), float(np.mean(drawn))
        rows.append([float(np.mean(by_fold)), best_accuracy(scores, label), *off])
    return Judged(*np.mean(rows, axis=0).tolist())


def sets(folder: Path | None, names: list[str]) -> Iterator[tuple[str, Sequences, Labels]]:
    if "needle" in names:
        yield "needle", *needle_digits()
    for name in STORED:
        if name not in names:
            continue
        path = None if folder is None else folder / f"{name}.npz"
        if path is None or not path.exists():
            print(f"{name}: skipped, --data FOLDER has no {name}.npz")
        else:
            yield name, *stored_bags(path)
    for number in range(5):
        if f"noise{number}" in names:
            X, y = needle_digits()
            yield f"noise{number}", X, np.random.default_rng(number).permutation(y)


COLUMNS = (
    *("set:13", "model:11", "n:4d", "accuracy:15s", "AUC:15s", "less the first:16s", "AUC:16s"),
    *("best of a fold:5.3f", "of a round:5.3f", "off:5.3f", "if calibrated:5.3f", "CPU s:7.2f"),
)


def row(
    name: str, model: str, size: int, fits: list[Fit], first: list[Fit], judged: Judged | None
) -> list[Any]:
    """Return a row of the table; ``first`` has the fits of the first model to the same bags."""
    values, others = (np.array([fit[:3] for fit in some]).T for some in (fits, first))
    means = ["{:.3f} ± {:.3f}".format(*mean_and_error(values[k], 10)) for k in (0, 1)]
    gaps = ["{:+.3f} ± {:.3f}".format(*mean_and_error(values[k] - others[k], 10)) for k in (0, 1)]
    figures: list[Any] = [""] * 4 if judged is None else list(judged)
    if model not in OURS:
        figures[2:] = "", ""
    return [name, model, size, *means, *gaps, *figures, values[2].mean()]


def verdict(name: str, fits: dict[str, list[Fit]]) -> str:
    """Return how the first model compares with the best peer by each measure."""
    measured = {model: np.array([fit[:2] for fit in its]) for model, its in fits.items()}
    ours, *others = measured
    peers = [model for model in others if model not in OURS]
    parts = []
    for column, measure in enumerate(("accuracy", "AUC")):
        means = {peer: measured[peer][:, column].mean() for peer in peers}
        best = max(means, key=means.__getitem__)
        mean, error = mean_and_error((measured[ours] - measured[best])[:, column], 10)
        parts.append(f"{measure} {mean:+.3f} ± {error:.3f} against {best}")
    return f"{name}: {ours} less the best peer: {', '.join(parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the sets that are files")
    parser.add_argument("--seeds", type=int, default=5, help="rounds of ten folds")
    parser.add_argument("--sets", default=",".join(["needle", *STORED, "noise0"]))
    parser.add_argument("--models", default=",".join(MODELS), help="the first is compared with")
    parser.add_argument("--curves", type=int, default=0, help="learning curves of so many splits")
    parser.add_argument("--store", type=Path, help="file that keeps the result of every fit")
    options = parser.parse_args()
    store = Kept(options.store)
    models = options.models.split(",")
    for name, needs in (("probe", "torch"), ("abmil", "torchmil")):
        if name in models and importlib.util.find_spec(needs) is None:
            print(f"{name}: skipped, {needs} is not installed")
            models.remove(name)
    table = Table(*COLUMNS)
    verdicts = []
    for name, X, y in sets(options.data, options.sets.split(",")):
        sizes = [size for size in (20, 40, 80, 160) if size <= 0.85 * len(y)]
        for size in sizes if options.curves else [round(0.9 * len(y))]:
            fits: dict[str, list[Fit]] = {}
            folds = folds_of(y, options.seeds)
            splits = list(splits_of(y, size, options.curves) if options.curves else folds)
            for model in models:
                fits[model] = fit_all(name, X, y, model, splits, store)
                tests = [test for _, _, test in splits]
                scored = not options.curves and all(fit.scores for fit in fits[model])
                judged = judge(fits[model], tests, y) if scored else None
                table.add(*row(name, model, size, fits[model], fits[models[0]], judged))
        if any(model not in OURS for model in models[1:]):
            verdicts.append(verdict(name, fits))
    print("\n".join(verdicts))


if __name__ == "__main__":
    main()
