"""Do plans from pilots hold? ``python -m benchmarks.pilot_truth --data FOLDER --out FILE``.

For families of real and simulated data: train a classifier on parts of small pilots, extrapolate to
twice and four times the pilot, and compare with the mean error of the classifier at these sizes, by
fresh samples or by held-out ones. Real sets are smaller than four times the larger pilots: there
the largest size is 0.9 of the set. Everything computed is kept in FILE, a line of JSON each; run
again to continue. FOLDER has the sets of ``bags``; those that are missing are left out.

With ``--tables`` the families are ten ordinary tables, stored and made by scikit-learn, the
classifiers six of its learners, the pilots of 60 to 150 rows. Nothing was chosen on these.

The prior was chosen on the other families, with the quick classifier. Those of ``FRESH`` were
written later, to judge whether a prior of steeper curves suits the default classifier better. It
did not, so the prior stayed as it was.
"""

import argparse
import json
import math
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri
from sklearn import datasets
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bags import STORED as STORED_SETS
from benchmarks.bags import stored_bags
from sparsetoken import AttentionClassifier, Sequences, SparseTokenClassifier
from sparsetoken.planner.curves import PILOT, CurvePoints, LearningCurves, extrapolate
from sparsetoken.planner.measured import cut_pilot, pilot_points, train_on_parts
from sparsetoken.planner.metric import Metric, get_metric

Labels = NDArray[np.int64]
Drawn = tuple[Sequences, Labels]

FRESH = ("sevens", "either", "scales", "words", "strong", "weak", "lengths", "unequal")
DIM = 30
PILOTS = (40, 80, 120)
ROWS_OF_PILOTS = (60, 100, 150)
REPEATS = 8
TRUTHS = 24
LEAST = 1e-3  # what a true error below counts as
ERROR = get_metric("error")
STORED = ("sizes", "errors", "bars", "n_tested", "unit", "chance", "fixed")
"""What is kept of the measurements of a pilot: of errors and, for two classes, of ranks."""


def balanced(n: int) -> Labels:
    return (np.arange(n) % 2).astype(np.int64)


# --- families -----------------------------------------------------------------------------------


class Simulated:
    """A family that draws as many sequences as are asked for."""

    most = 10**9

    def __init__(self, draw: Callable[[int, np.random.Generator], tuple[Any, Labels]]) -> None:
        self.draw = draw

    def pilot(self, n: int, rng: np.random.Generator) -> Drawn:
        """Return ``n`` sequences."""
        X, y = self.draw(n, rng)
        return Sequences.from_list(list(X)), y

    def split(self, n: int, rng: np.random.Generator) -> tuple[Drawn, Drawn]:
        """Return ``n`` sequences to train on, and others to test on."""
        return self.pilot(n, rng), self.pilot(2000, rng)


class Stored:
    """A set of bags: pilots are parts of it, the truth is tested on what is left."""

    def __init__(self, path: Path) -> None:
        self.X, self.y = stored_bags(path)
        self.most = int(0.9 * len(self.y))

    def split(self, n: int, rng: np.random.Generator) -> tuple[Drawn, Drawn]:
        """Return ``n`` sequences to train on, and others to test on."""
        order = np.concatenate([rng.permutation(np.flatnonzero(self.y == c)) for c in (0, 1)])
        rank = np.argsort(np.argsort(self.y[order], kind="stable"), kind="stable")
        count = np.bincount(self.y)
        within = np.where(self.y[order] == 0, rank, rank - count[0]) / count[self.y[order]]
        order = order[np.argsort(within + 1e-9 * rng.random(order.size))]
        train, test = order[:n], order[n:]
        return (self.X[train], self.y[train]), (self.X[test], self.y[test])

    def pilot(self, n: int, rng: np.random.Generator) -> Drawn:
        """Return ``n`` sequences."""
        return self.split(n, rng)[0]


class Needle:
    """Bags of common tokens; a positive one holds one rare token, and each of them is used once.

    Common tokens come again, in a pilot as in what is tested on later.
    """

    def __init__(self, tokens: Any, rare: Any, n_tokens: int) -> None:
        self.n_tokens = n_tokens
        self.rare, self.common = tokens[rare], tokens[~rare]
        self.most = 2 * int(0.89 * len(self.rare))

    def split(self, n: int, rng: np.random.Generator) -> tuple[Drawn, Drawn]:
        """Return ``n`` sequences to train on, and others to test on."""
        rare, left = np.split(rng.permutation(self.rare), [n // 2])
        train = self._bags(balanced(n), rare, self.common, rng)
        return train, self._bags(balanced(2 * len(left)), left, self.common, rng)

    def pilot(self, n: int, rng: np.random.Generator) -> Drawn:
        """Return ``n`` sequences."""
        return self._bags(balanced(n), rng.permutation(self.rare), self.common, rng)

    def _bags(self, y: Labels, rare: Any, common: Any, rng: np.random.Generator) -> Drawn:
        bags = []
        for i, label in enumerate(y):
            length = rng.integers(round(0.75 * self.n_tokens), round(1.25 * self.n_tokens) + 1)
            bag = common[rng.choice(len(common), length, replace=False)]
            if label:
                bag[rng.integers(length)] = rare[i // 2]
            bags.append(bag)
        return Sequences.from_list(bags), y


class Rows:
    """A table, a row a sample: pilots are parts of it, the truth is tested on what is left."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, y
        self.most = int(0.9 * len(y))

    def split(self, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return ``n`` rows to train on, and others to test on."""
        train, test = train_test_split(
            np.arange(len(self.y)), train_size=n, stratify=self.y,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        return (self.X[train], self.y[train]), (self.X[test], self.y[test])

    def pilot(self, n: int, rng: np.random.Generator) -> Any:
        """Return ``n`` rows."""
        return self.split(n, rng)[0]


def tables() -> dict[str, Any]:
    """Return ten tables: four that scikit-learn has, and six that it makes."""
    made: dict[str, tuple[Any, Any]] = {
        "sparse": datasets.make_classification(3000, 40, n_informative=5, random_state=1),
        "noisy": datasets.make_classification(3000, 20, flip_y=0.2, random_state=2),
        "three": datasets.make_classification(
            3000, 15, n_informative=6, n_classes=3, random_state=3
        ),
        "moons": datasets.make_moons(3000, noise=0.25, random_state=4),
        "hastie": datasets.make_hastie_10_2(3000, random_state=5),
        "rare": datasets.make_classification(
            3000, 12, n_informative=4, weights=[0.85], random_state=6
        ),
    }
    loaders = {name: getattr(datasets, f"load_{name}") for name in ("digits", "wine", "iris")}
    stored = {name: load(return_X_y=True) for name, load in loaders.items()}
    stored["cancer"] = load_breast_cancer(return_X_y=True)
    return {name: Rows(*table) for name, table in (stored | made).items()}


def noise(n: int, length: int, rng: np.random.Generator) -> Any:
    return rng.standard_normal((n, length, DIM))


def plant(X: Any, y: Labels, strength: Any, rng: np.random.Generator, count: int = 1) -> Any:
    """Add a signal along the first feature to some tokens of each positive sequence."""
    for i in np.flatnonzero(y):
        rows = rng.choice(X.shape[1], count, replace=False)
        X[i, rows, 0] += strength[i] if np.ndim(strength) else strength
    return X


def heavy(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Noise with heavy tails: Student's t with three degrees of freedom."""
    y = balanced(n)
    return plant(rng.standard_t(3, (n, 15, DIM)), y, 6.0, rng, 1), y


def clustered(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Tokens gather around centers shared by all sequences, and each sequence is shifted."""
    y = balanced(n)
    centers = 2.0 * np.random.default_rng(0).standard_normal((6, DIM))
    X = noise(n, 12, rng) + centers[rng.integers(6, size=(n, 12))]
    return plant(X + 0.7 * rng.standard_normal((n, 1, DIM)), y, 6.0, rng, 2), y


def strengths(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Strengths that vary from one positive sequence to the next; a tenth carry none."""
    y = balanced(n)
    return plant(
        noise(n, 15, rng), y, np.where(rng.random(n) < 0.1, 0, rng.gamma(4, 1.5, n)), rng
    ), y


def mislabelled(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """One label in ten is wrong, in training and in test."""
    y = balanced(n)
    X = plant(noise(n, 10, rng), y, 5.0, rng, 2)
    return X, np.where(rng.random(n) < 0.1, 1 - y, y)


def correlated(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Noise of very different variances in mixed directions; the signal is in a quiet one."""
    y = balanced(n)
    fixed = np.random.default_rng(1)
    turn = np.linalg.qr(fixed.standard_normal((DIM, DIM)))[0]
    X = plant(noise(n, 15, rng), y, 6.0, rng, 1) * np.geomspace(0.3, 6.0, DIM)
    return X @ turn, y


def variance(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Signal tokens have a larger variance in five features, and no other mean."""
    y = balanced(n)
    X = noise(n, 10, rng)
    for i in np.flatnonzero(y):
        X[i, rng.choice(10, 3, replace=False), :5] *= 3.0
    return np.abs(X) ** 0.9 * np.sign(X), y


def majority(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Handwritten digits, more of them even in positive sequences: the whole decides."""
    y = balanced(n)
    images, digits = load_digits(return_X_y=True)
    even, odd = (np.flatnonzero(digits % 2 == part) for part in (0, 1))
    counts = rng.binomial(10, np.where(y == 1, 0.65, 0.35))
    drawn = [
        np.concatenate([rng.choice(even, k, replace=False), rng.choice(odd, 10 - k, replace=False)])
        for k in counts
    ]
    return images[np.array(drawn)] + rng.uniform(0.0, 1.0, (n, 10, 1)), y


def dense(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Every token has a weak signal."""
    y = balanced(n)
    return plant(noise(n, 12, rng), y, 0.8, rng, 12), y


def bursts(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Tokens are counts; in one of a positive sequence three features have a burst."""
    y = balanced(n)
    X = rng.poisson(1.0, (n, 15, DIM)).astype(float)
    for i in np.flatnonzero(y):
        X[i, rng.integers(15), :3] += rng.poisson(2.5, 3)
    return X, y


def drifting(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Noise that depends on the token before; the signal is in two neighboring tokens."""
    y = balanced(n)
    X = noise(n, 15, rng)
    for t in range(1, 15):
        X[:, t] = 0.8 * X[:, t - 1] + 0.6 * X[:, t]
    for i in np.flatnonzero(y):
        first = rng.integers(14)
        X[i, first : first + 2, 0] += 4.0
    return X, y


def rare(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """One sequence in four is positive."""
    y = (np.arange(n) % 4 == 0).astype(np.int64)
    return plant(noise(n, 10, rng), y, 6.0, rng, 1), y


def either(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """One of two features has the signal of a positive sequence."""
    y = balanced(n)
    X = noise(n, 15, rng)
    for i in np.flatnonzero(y):
        X[i, rng.integers(15), rng.integers(2)] += 6.5
    return X, y


def scales(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Each sequence has a scale of its own."""
    y = balanced(n)
    X = plant(noise(n, 12, rng), y, 6.0, rng, 1)
    return X * np.exp(0.4 * rng.standard_normal((n, 1, 1))), y


def words(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Vectors of words, common and rare; a positive sequence has two words of a topic of eight."""
    y = balanced(n)
    vectors = np.random.default_rng(2).standard_normal((300, DIM))
    vectors[:8] += vectors[0]
    frequency = 1.0 / np.arange(5, 305)
    drawn = rng.choice(np.arange(8, 300), (n, 25), p=frequency[8:] / frequency[8:].sum())
    for i in np.flatnonzero(y):
        drawn[i, rng.choice(25, 2, replace=False)] = rng.integers(8, size=2)
    return vectors[drawn], y


def strong(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """One token that can hardly be missed."""
    y = balanced(n)
    return plant(noise(n, 12, rng), y, 8.0, rng, 1), y


def weak(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """One token of five has a weak signal."""
    y = balanced(n)
    return plant(noise(n, 20, rng), y, 1.7, rng, 4), y


def lengths(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Sequences of 5 to 60 tokens."""
    y = balanced(n)
    bags = [rng.standard_normal((rng.integers(5, 61), DIM)) for _ in range(n)]
    for bag, label in zip(bags, y, strict=True):
        bag[rng.integers(len(bag)), 0] += 6.5 * label
    return bags, y


def unequal(n: int, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Three sequences in ten are positive, with three signal tokens in noise of heavier tails."""
    y = (np.arange(n) % 10 < 3).astype(np.int64)
    return plant(rng.standard_t(5, (n, 15, DIM)), y, 3.0, rng, 3), y


def families(folder: Path | None) -> dict[str, Any]:
    images, digits = load_digits(return_X_y=True)
    cells, benign = load_breast_cancer(return_X_y=True)
    by_name: dict[str, Any] = {
        **{f"needle-{length}": Needle(images, digits == 9, length) for length in (10, 20, 30, 50)},
        "fours": Needle(images, digits == 4, 15),
        "sevens": Needle(images, digits == 7, 25),
        "cells": Needle(np.log1p(cells), benign == 0, 8),
    }
    for name in STORED_SETS:
        if folder is not None and (folder / f"{name}.npz").exists():
            by_name[name] = Stored(folder / f"{name}.npz")
    broken = (heavy, clustered, strengths, mislabelled, correlated, variance)
    fresh = (either, scales, words, strong, weak, lengths, unequal)
    for draw in (*broken, majority, dense, bursts, drifting, rare, *fresh):
        by_name[draw.__name__] = Simulated(draw)
    return by_name


# --- classifiers --------------------------------------------------------------------------------


class Trees(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Extra trees on mean, largest, smallest and standard deviation of a sequence's tokens."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "Trees":
        """Fit the trees."""
        self.model_ = ExtraTreesClassifier(100, random_state=self.random_state)
        self.model_.fit(self._statistics(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class."""
        return self.model_.predict_proba(self._statistics(X))

    def predict(self, X: Any) -> Any:
        """Return the likelier class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _statistics(self, X: Any) -> Any:
        at, lengths = X.offsets[:-1], X.lengths[:, None]
        mean = np.add.reduceat(X.tokens, at) / lengths
        square = np.add.reduceat(X.tokens**2, at) / lengths
        extremes = np.maximum.reduceat(X.tokens, at), np.minimum.reduceat(X.tokens, at)
        return np.hstack([mean, *extremes, np.sqrt(np.maximum(square - mean**2, 0))])


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "attention": lambda: AttentionClassifier(
        reg=0.03, shrinkage=1.0, cv=2, refine_steps=30, random_state=0
    ),
    "trees": Trees,
    "default": lambda: SparseTokenClassifier(random_state=0),
}
LEARNERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(
        StandardScaler(), GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.01, 1.0]}, cv=2)
    ),
    "neighbors": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "forest": lambda: RandomForestClassifier(50, random_state=0),
    "bayes": GaussianNB,
    "kernel": lambda: make_pipeline(StandardScaler(), SVC()),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
}
ESTIMATORS |= LEARNERS


# --- what is computed ---------------------------------------------------------------------------


def generator(*key: Any) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def observe_pilot(family: Any, name: str, estimator: str, n: int, index: int) -> dict[str, Any]:
    X, y = family.pilot(n, generator(name, n, index))
    rng = generator(name, n, index, "cuts")
    cuts = [cut_pilot(y, None, rng) for _ in range(2)]
    measured = pilot_points(train_on_parts(ESTIMATORS[estimator](), X, y, cuts))
    values = {name: getattr(measured, name) for name in STORED}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def true_error(family: Any, name: str, estimator: str, n: int, index: int) -> dict[str, Any]:
    (X, y), (X_test, y_test) = family.split(n, generator(name, n, index, "truth"))
    return {"error": 1.0 - float(ESTIMATORS[estimator]().fit(X, y).score(X_test, y_test))}


def targets(n: int, most: int) -> list[int]:
    """Return twice and four times the pilot, as far as the family has samples."""
    return sorted({m for m in (2 * n, min(4 * n, most)) if n * 1.3 <= m <= most})


def cells(
    by_name: dict[str, Any], estimator: str, pilots: Any, repeats: int, truths: int
) -> Iterator[tuple[Any, ...]]:
    """Yield what to compute, a pilot of each family first; so an early stop leaves no gap."""
    sizes = {
        name: [n for n in pilots if targets(n, family.most)] for name, family in by_name.items()
    }
    for index in range(repeats):
        for name in by_name:
            for n in sizes[name]:
                yield ("pilot", estimator, name, n, index)
        for name, family in by_name.items():
            # Held-out parts of a stored set are small: more of them.
            total = truths if isinstance(family, Simulated) else 5 * truths // 2
            for n in sorted({m for pilot in sizes[name] for m in targets(pilot, family.most)}):
                for one in range(index * total // repeats, (index + 1) * total // repeats):
                    yield ("truth", estimator, name, n, one)


# --- what is compared ---------------------------------------------------------------------------


class PowerLaws(LearningCurves):
    """The rival: e = c [f + (1 − f) (1 + n/n₀)^−b], c the error of chance."""

    def __init__(self, normal: Any, chance: float, prior: Any) -> None:
        super().__init__(normal, chance, prior)
        self.chance = chance
        self.exponent = 0.8 * np.exp(0.6 * normal[:, :1])
        self.scale = 0.6 * np.exp(1.8 * normal[:, 1:2])
        self.floor = betaincinv(0.5, 3.0, ndtr(normal[:, 2:3]))

    def error(self, metric: Metric, size: Any) -> Any:
        """Return the error, or the ranks of two Gaussian classes with this error."""
        fall = (1.0 + size / self.scale) ** -self.exponent
        error = self.chance * (self.floor + (1.0 - self.floor) * fall)
        if metric.name == "error":
            return error
        distance = -2.0 * ndtri(np.minimum(0.5 * error / self.chance, 0.5)) + self.ranking
        return metric.of_gaussians(np.maximum(distance, 0.0), 0.0, 0.5)


class Prediction(NamedTuple):
    """What was predicted for a size, and what is true."""

    family: str
    pilot: int
    size: int
    true: float
    lower: float
    median: float
    upper: float


METHODS: dict[str, Callable[[CurvePoints], Any]] = {
    "ours": extrapolate,
    "power law, errors and ranks": lambda m: extrapolate(m, PowerLaws),
    "power law, errors alone": lambda m: extrapolate(without_ranks(m), PowerLaws),
}


def without_ranks(measured: CurvePoints) -> CurvePoints:
    k = measured.sizes.size
    return measured._replace(
        metrics=measured.metrics[:1],
        errors=measured.errors[:1],
        bars=measured.bars[:1],
        fixed=measured.fixed[:k, :k],
    )


def predictions(
    pilots: dict[tuple[Any, ...], CurvePoints],
    truth: dict[tuple[str, int], float],
    method: Callable[[CurvePoints], Any],
) -> Iterator[Prediction]:
    for (name, n, _), measured in pilots.items():
        sizes = [m for family, m in truth if family == name and 1.3 * n <= m <= 4 * n]
        if not sizes:
            continue
        table = method(measured).quantiles(ERROR, np.array(sizes, dtype=float), (0.1, 0.5, 0.9))
        for m, (lower, median, upper) in zip(sizes, table, strict=True):
            yield Prediction(name, n, m, truth[name, m], lower, median, upper)


def line(title: str, rows: list[Prediction]) -> str:
    true, lower, median, upper = np.array([row[3:] for row in rows]).T
    off = np.log(median / true)
    score = upper - lower + 10.0 * (np.maximum(lower - true, 0.0) + np.maximum(true - upper, 0.0))
    return (
        f"{title:<30} {len(rows):>4} {np.mean((lower <= true) & (true <= upper)):>8.0%} "
        f"{np.median(np.abs(off)):>8.3f} {np.median(off):>+7.3f} {np.median(upper - lower):>7.3f} "
        f"{np.mean(score):>7.3f}"
    )


def report(path: Path, estimators: list[str]) -> None:
    errors: dict[tuple[str, int], list[float]] = defaultdict(list)
    pilots: dict[tuple[Any, ...], CurvePoints] = {}
    for text in path.open():
        row = json.loads(text)
        kind, used, name, n, index = row.pop("key")
        name = f"{name}, {used}" if len(estimators) > 1 else name
        if used in estimators and kind == "truth":
            errors[name, n].append(row["error"])
        elif used in estimators:
            arrays: Any = {k: np.array(v) if isinstance(v, list) else v for k, v in row.items()}
            metrics = (ERROR, get_metric("auc"))[: len(arrays["errors"])]
            pilots[name, n, index] = CurvePoints(metrics=metrics, prior=PILOT, **arrays)
    truth = {key: max(float(np.mean(values)), LEAST) for key, values in errors.items()}
    stays = [
        abs(math.log(max(measured.errors[0, -1], 0.5 / n) / truth[name, m]))
        for (name, n, _), measured in pilots.items()
        for family, m in truth
        if family == name and 1.3 * n <= m <= 4 * n
    ]
    print(f"{'':<30} {'n':>4} {'covered':>8} {'|log|':>8} {'bias':>7} {'width':>7} {'score':>7}")
    for title, method in METHODS.items():
        rows = list(predictions(pilots, truth, method))
        print(line(title, rows))
        kinds = (("designed on", False), ("fresh", True)) if len(estimators) == 1 else ()
        for kind, fresh in kinds:
            of_kind = [row for row in rows if (row.family in FRESH) is fresh]
            if of_kind:
                print(line(f"  {kind}", of_kind))
        for part in (0, -1) if title == "ours" and len(estimators) > 1 else (slice(None),):
            by: dict[Any, list[Prediction]] = defaultdict(list)
            for row in rows if title == "ours" else ():
                by[str(row.family.split(", ")[part])].append(row)
            for name in sorted(by):
                print(line(f"    {name}", by[name]))
    print(f"{'the error stays':<30} {len(stays):>4} {'':>8} {np.median(stays):>8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the real sets")
    parser.add_argument("--out", type=Path, default=Path("pilot_truth.jsonl"))
    parser.add_argument("--tables", action="store_true", help="tables and learners of scikit-learn")
    parser.add_argument("--estimator", default="attention", choices=[*ESTIMATORS])
    parser.add_argument("--families", nargs="*", help="only these")
    parser.add_argument("--pilots", nargs="*", type=int, help="their sizes")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="pilots of each size")
    parser.add_argument("--truths", type=int, default=TRUTHS, help="trainings for each true error")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    parser.add_argument("--report", action="store_true", help="compute nothing more")
    options = parser.parse_args()
    estimators = [*LEARNERS] if options.tables else [options.estimator]
    sizes = options.pilots or (ROWS_OF_PILOTS if options.tables else PILOTS)
    by_name = tables() if options.tables else families(options.data)
    by_name = {name: by_name[name] for name in options.families or by_name}
    done, begun = set(), time.monotonic()
    if options.out.exists():
        done = {tuple(json.loads(text)["key"]) for text in options.out.open()}
    if not options.report:
        with options.out.open("a") as out:
            asked = (sizes, options.repeats, options.truths)
            for key in (key for name in estimators for key in cells(by_name, name, *asked)):
                if key in done or time.monotonic() - begun > 60.0 * options.minutes:
                    continue
                kind, estimator, name, n, index = key
                work = observe_pilot if kind == "pilot" else true_error
                result = work(by_name[name], name, estimator, n, index)
                print(json.dumps({"key": key, **result}), file=out, flush=True)
    report(options.out, estimators)


if __name__ == "__main__":
    main()
