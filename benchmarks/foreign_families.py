"""Bags that are nothing like our model, beside simple baselines.

``python -m benchmarks.robustness families [DRAWS] [SEED]``. In each family something else decides:
how many tokens there are, what a bag's tokens share, whether two kinds occur together. 200 bags to
fit to and 1000 new ones. The baselines are extra trees on mean, largest, smallest, deviation and
number of tokens, and logistic regression of the mean token.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.families import Rng
from benchmarks.peers import OURS, Embedded, Statistics
from benchmarks.report import Table
from sparsetoken import Sequences

Bag = NDArray[np.float64]
N_TRAINING, N_NEW = 200, 1000
BOUND = 0.03


class StatisticsAndLength(Statistics):
    """Statistics of a bag's tokens, and their number."""

    def embed(self, X: Sequences) -> Any:
        return np.column_stack([super().embed(X), X.lengths])


def _noise(rng: Rng, low: int = 6, high: int = 15, dim: int = 6) -> Bag:
    return rng.standard_normal((int(rng.integers(low, high)), dim))


def _changed(
    positive: Any, bag: Bag, rows: Any, columns: Any, plus: float = 0.0, times: float = 1.0
) -> Bag:
    """Change some numbers of a positive bag."""
    if positive:
        bag[rows, columns] = bag[rows, columns] * times + plus
    return bag


def ring(rng: Rng, y: int) -> Bag:
    bag, angle = _noise(rng, 4, 10), rng.uniform(0, 2 * np.pi)
    if y:
        bag[0, :2] = 3.0 * np.array([np.cos(angle), np.sin(angle)]) + 0.3 * rng.standard_normal(2)
    return bag


def two_kinds(rng: Rng, kinds: tuple[bool, bool]) -> Bag:
    """Return a bag with one token of each kind that is there."""
    bag = _noise(rng)
    for kind, there in enumerate(kinds):
        bag[kind, kind] += 4.0 * there
    return bag


def both_kinds(rng: Rng, y: int) -> Bag:
    first = bool(rng.integers(2))
    return two_kinds(rng, (True, True) if y else (first, not first))


def one_kind_but_not_both(rng: Rng, y: int) -> Bag:
    first = bool(rng.integers(2))
    return two_kinds(rng, (first, not first) if y else (first, first))


def correlation(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 10, 20, 4)
    bag[:, 1] = 0.8 * bag[:, 1] + (0.6 if y else -0.6) * bag[:, 0]
    return bag


def majority(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 9, 16)
    bag[rng.random(len(bag)) < (0.65 if y else 0.4), 0] += 3.0
    return bag


def two_humps(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 10, 20)
    if y:
        bag[:, 0] = 0.95 * rng.choice([-1.0, 1.0], len(bag)) + 0.31 * bag[:, 0]
    return bag


def alike(rng: Rng, y: int) -> Bag:
    bag, shared = _noise(rng), rng.standard_normal(6)
    return np.sqrt(0.6) * bag + np.sqrt(0.4) * shared if y else bag


def _needle(rng: Rng, y: Any) -> Bag:
    return _changed(y, _noise(rng, 8, 16, 12), 0, 0, 5.0)


def _length(rng: Rng, low: int = 6, high: int = 15) -> int:
    return int(rng.integers(low, high))


ALL = slice(None)
FAMILIES: dict[str, Callable[[Rng, int], Bag]] = {
    "length": lambda rng, y: rng.standard_normal((1 + rng.poisson(16 if y else 10), 6)),
    "shared noise": lambda rng, y: (
        2.0 * rng.standard_normal(6) + (1.35 if y else 1.0) * _noise(rng, 4, 8)
    ),
    "one wide token": lambda rng, y: _changed(y, _noise(rng), 0, ALL, times=2.5),
    "three wide tokens": lambda rng, y: _changed(y, _noise(rng, 20, 40), slice(3), ALL, times=1.8),
    "ring": ring,
    "both kinds": both_kinds,
    "one kind but not both": one_kind_but_not_both,
    "four of a kind": lambda rng, y: _changed(
        True, _noise(rng, 10, 20), slice(int(rng.integers(4 * y, 4 + 4 * y))), 0, 3.5
    ),
    "mean": lambda rng, y: _noise(rng) + 0.2 * y,
    "scale of a feature": lambda rng, y: _changed(y, _noise(rng), ALL, 0, times=1.5),
    "correlation": correlation,
    "largest": lambda rng, y: _changed(y, _noise(rng) ** 3, ALL, 0, times=1.8),
    "smallest": lambda rng, y: _changed(y, rng.exponential(1.0, (_length(rng), 6)), ALL, 0, 0.12),
    "heavy tails": lambda rng, y: _changed(
        y, rng.standard_t(2, (_length(rng), 6)), 0, slice(2), 5.0
    ),
    "any length": lambda rng, y: _changed(y, _noise(rng, 1, 60, 10), 0, 0, 5.0),
    "longer, and a needle": lambda rng, y: _changed(
        y, rng.standard_normal((2 + rng.poisson(12 if y else 9), 8)), 0, 0, 3.0
    ),
    "binary": lambda rng, y: rng.binomial(
        1, 0.25 + 0.12 * y * (np.arange(20) < 3), (_length(rng, 5), 20)
    ).astype(float),
    "counts": lambda rng, y: rng.poisson(
        1.0 + 0.35 * y * (np.arange(8) < 2), (_length(rng, 5), 8)
    ).astype(float),
    "needle": _needle,
    "absence": lambda rng, y: _needle(rng, not y),
    "wrong labels": lambda rng, y: _needle(rng, y == (rng.random() < 0.85)),
    "majority": majority,
    "two humps": two_humps,
    "alike": alike,
    "many features": lambda rng, y: _noise(rng, 4, 10, 50) + 0.45 * y * (np.arange(50) < 3),
}


def draw(name: str, n: int, rng: Rng) -> tuple[Sequences, Any]:
    """Return bags and labels, half of them positive."""
    y = rng.permutation(np.arange(n) % 2)
    return Sequences.from_list([FAMILIES[name](rng, int(label)) for label in y]), y


def accuracies(name: str, seed: int) -> list[float]:
    """Return the accuracy of ours, of the trees and of the mean token on new bags."""
    rng = np.random.default_rng(seed)
    (bags, y), (new, y_new) = draw(name, N_TRAINING, rng), draw(name, N_NEW, rng)
    models = (
        OURS["sparsetoken"](),
        StatisticsAndLength(ExtraTreesClassifier(500, random_state=0)),
        Embedded(make_pipeline(StandardScaler(), LogisticRegression(C=0.1))),
    )
    scores = [model.fit(bags, y).decision_function(new) for model in models]
    return [float(np.mean((one > 0) == y_new)) for one in scores]


def main(draws: int = 3, seed: int = 0) -> None:
    below = 0
    table = Table("what decides:30", "ours:7.3f", "trees:7.3f", "mean:7.3f", ":6s")
    for name in FAMILIES:
        each = np.mean([accuracies(name, seed + number) for number in range(draws)], axis=0)
        far = each[1:].max() - each[0] > BOUND
        below += far
        table.add(name, *each, "below" if far else "")
    print(f"{below} of {len(FAMILIES)} families more than {BOUND} below the better baseline")
