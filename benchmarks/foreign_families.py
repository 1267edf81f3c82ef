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

from sparsetoken import SparseTokenClassifier

Rng = np.random.Generator
Bag = NDArray[np.float64]
N_TRAINING, N_NEW = 200, 1000
BOUND = 0.03


def _noise(rng: Rng, low: int = 6, high: int = 15, dim: int = 6) -> Bag:
    return rng.standard_normal((int(rng.integers(low, high)), dim))


def length(rng: Rng, y: int) -> Bag:
    return rng.standard_normal((1 + rng.poisson(16 if y else 10), 6))


def shared_noise(rng: Rng, y: int) -> Bag:
    return 2.0 * rng.standard_normal(6) + (1.35 if y else 1.0) * _noise(rng, 4, 8)


def one_wide(rng: Rng, y: int) -> Bag:
    bag = _noise(rng)
    bag[0] *= 2.5 if y else 1.0
    return bag


def ring(rng: Rng, y: int) -> Bag:
    bag, angle = _noise(rng, 4, 10), rng.uniform(0, 2 * np.pi)
    if y:
        bag[0, :2] = 3.0 * np.array([np.cos(angle), np.sin(angle)]) + 0.3 * rng.standard_normal(2)
    return bag


def both_kinds(rng: Rng, y: int) -> Bag:
    bag, kinds = _noise(rng), (True, True) if y else [(True, False), (False, True)][rng.integers(2)]
    for place, (feature, there) in enumerate(enumerate(kinds)):
        bag[place, feature] += 4.0 * there
    return bag


def either_kind(rng: Rng, y: int) -> Bag:
    bag, both = _noise(rng), rng.random() < 0.5
    kinds = (both, not both) if y else (both, both)
    for feature, there in enumerate(kinds):
        bag[feature, feature] += 4.0 * there
    return bag


def three_of_a_kind(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 10, 20)
    bag[: rng.integers(4, 8) if y else rng.integers(0, 4), 0] += 3.5
    return bag


def shifted_mean(rng: Rng, y: int) -> Bag:
    return _noise(rng) + 0.2 * y


def scale_of_a_feature(rng: Rng, y: int) -> Bag:
    return _noise(rng) * np.array([1.5 if y else 1.0, 1, 1, 1, 1, 1])


def correlation(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 10, 20, 4)
    bag[:, 1] = 0.8 * bag[:, 1] + (0.6 if y else -0.6) * bag[:, 0]
    return bag


def largest(rng: Rng, y: int) -> Bag:
    bag = _noise(rng) ** 3
    bag[:, 0] *= 1.8 if y else 1.0
    return bag


def heavy_tails(rng: Rng, y: int) -> Bag:
    bag = rng.standard_t(2, (int(rng.integers(6, 15)), 6))
    bag[0, :2] += 5.0 * y
    return bag


def any_length(rng: Rng, y: int) -> Bag:
    bag = rng.standard_normal((int(rng.integers(1, 60)), 10))
    bag[0, 0] += 5.0 * y
    return bag


def longer_and_needle(rng: Rng, y: int) -> Bag:
    bag = rng.standard_normal((2 + rng.poisson(12 if y else 9), 8))
    bag[0, 0] += 3.0 * y
    return bag


def binary(rng: Rng, y: int) -> Bag:
    chances = 0.25 + 0.12 * y * (np.arange(20) < 3)
    return rng.binomial(1, chances, (int(rng.integers(5, 15)), 20)).astype(float)


def counts(rng: Rng, y: int) -> Bag:
    rates = 1.0 + 0.35 * y * (np.arange(8) < 2)
    return rng.poisson(rates, (int(rng.integers(5, 15)), 8)).astype(float)


def wrong_labels(rng: Rng, y: int) -> Bag:
    return needle(rng, y if rng.random() < 0.85 else 1 - y)


def needle(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 8, 16, 12)
    bag[0, 0] += 5.0 * y
    return bag


def absence(rng: Rng, y: int) -> Bag:
    return needle(rng, 1 - y)


def majority(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 9, 16)
    many = rng.random(len(bag)) < (0.65 if y else 0.4)
    bag[many, 0] += 3.0
    return bag


def two_humps(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 10, 20)
    if y:
        bag[:, 0] = 0.95 * rng.choice([-1.0, 1.0], len(bag)) + 0.31 * bag[:, 0]
    return bag


def alike(rng: Rng, y: int) -> Bag:
    bag, shared = _noise(rng), rng.standard_normal(6)
    return np.sqrt(0.6) * bag + np.sqrt(0.4) * shared if y else bag


def smallest(rng: Rng, y: int) -> Bag:
    bag = rng.exponential(1.0, (int(rng.integers(6, 15)), 6))
    bag[:, 0] += 0.12 * y
    return bag


def many_features(rng: Rng, y: int) -> Bag:
    return _noise(rng, 4, 10, 50) + 0.45 * y * (np.arange(50) < 3)


def few_of_many_wide(rng: Rng, y: int) -> Bag:
    bag = _noise(rng, 20, 40)
    bag[:3] *= 1.8 if y else 1.0
    return bag


FAMILIES: tuple[Callable[[Rng, int], Bag], ...] = (
    *(length, shared_noise, one_wide, ring, both_kinds),
    *(either_kind, three_of_a_kind, shifted_mean, scale_of_a_feature, correlation),
    *(largest, heavy_tails, any_length, longer_and_needle, binary),
    *(counts, wrong_labels, needle, absence, majority),
    *(two_humps, alike, smallest, many_features, few_of_many_wide),
)


def draw(family: Callable[[Rng, int], Bag], n: int, rng: Rng) -> tuple[list[Bag], Any]:
    """Return bags and labels, half of them positive."""
    y = rng.permutation(np.arange(n) % 2)
    return [family(rng, int(label)) for label in y], y


def statistics(bags: list[Bag]) -> NDArray[np.float64]:
    """Return mean, largest, smallest, deviation and number of the tokens of each bag."""
    rows = [
        [bag.mean(axis=0), bag.max(axis=0), bag.min(axis=0), bag.std(axis=0), [len(bag)]]
        for bag in bags
    ]
    return np.array([np.concatenate(row) for row in rows])


def accuracies(family: Callable[[Rng, int], Bag], seed: int) -> list[float]:
    """Return the accuracy of ours, of the trees and of the mean token on new bags."""
    rng = np.random.default_rng(seed)
    (bags, y), (new, y_new) = draw(family, N_TRAINING, rng), draw(family, N_NEW, rng)
    ours = SparseTokenClassifier(random_state=0).fit(bags, y).score(new, y_new)
    trees = ExtraTreesClassifier(500, random_state=0).fit(statistics(bags), y)
    mean = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    means, new_means = (np.array([bag.mean(axis=0) for bag in each]) for each in (bags, new))
    rows = statistics(new)
    return [ours, trees.score(rows, y_new), mean.fit(means, y).score(new_means, y_new)]


def main(draws: int = 3, seed: int = 0) -> None:
    """Print the accuracies for each family, and how often ours is more than 0.03 below."""
    below = 0
    print(f"{'what decides':30} {'ours':>7} {'trees':>7} {'mean':>7}")
    for family in FAMILIES:
        each = np.array([accuracies(family, seed + number) for number in range(draws)])
        ours, *others = each.mean(axis=0)
        far = max(others) - ours > BOUND
        below += far
        mark = "  below" if far else ""
        print(
            f"{family.__name__:30} {ours:7.3f} {others[0]:7.3f} {others[1]:7.3f}{mark}", flush=True
        )
    print(f"{below} of {len(FAMILIES)} families more than {BOUND} below the better baseline")


if __name__ == "__main__":
    main()
