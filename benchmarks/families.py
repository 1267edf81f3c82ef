"""Data by name: stored bags, bags of digits, simulated sequences.

A family has ``split(n, rng)``, which returns ``n`` sequences with labels to train on and others to
test on, and ``most``, how many there are to train on.
"""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from sparsetoken import Sequences

Rng = np.random.Generator
Labels = NDArray[np.int64]
Drawn = tuple[Sequences, Labels]
DIM = 30
STORED = ("tiger", "fox", "musk1", "brown_creeper", "comments")
"""Sets that ``python -m benchmarks.data FOLDER`` makes."""


def generator(*key: Any) -> Rng:
    """Return a generator seeded by names and numbers."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def train_and_test(
    problem: Any, n_samples: int, dim: int, n_new: int, seeds: tuple[int, int]
) -> tuple[Any, Any, Any, Any]:
    """Draw samples and labels of a problem to train on, and new ones of the same directions."""
    X, y, truth = problem.sample(n_samples, dim, random_state=seeds[0], return_truth=True)
    new = problem.sample(n_new, dim, random_state=seeds[1], direction=truth.directions)
    return X, y, *new


def planted_bags(y: Labels, rare: Any, common: Any, lengths: tuple[int, int], rng: Rng) -> Any:
    """Return bags of common tokens; each positive one holds the next of the rare ones."""
    bags, following = [], iter(rare)
    for label in y:
        bag = common[rng.choice(len(common), rng.integers(*lengths), replace=False)]
        if label:
            bag[rng.integers(len(bag))] = next(following)
        bags.append(bag)
    return Sequences.from_list(bags)


def needle_digits(n_bags: int = 300, seed: int = 0, needles: tuple[int, ...] = (9,)) -> Drawn:
    """Return bags of about 20 digits; each positive one holds one needle, used nowhere else."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    wanted = np.isin(digits, needles)
    y = (np.arange(n_bags) < n_bags // 2).astype(np.int64)
    rare = rng.permutation(images[wanted])
    return planted_bags(y, rare, images[~wanted], (15, 26), rng), y


def stored_bags(path: Path) -> Drawn:
    with np.load(path, allow_pickle=False) as stored:
        y = stored["y"].astype(np.int64)
        if "bag" not in stored:
            tokens = stored["vectors"][stored["token"]].astype(np.float32)
            return Sequences(tokens, stored["offsets"]), y
        offsets = np.concatenate([[0], np.cumsum(np.bincount(stored["bag"]))])
        return Sequences(stored["X"], offsets), y


def bag_sets(folder: Path | None, names: list[str]) -> dict[str, Drawn]:
    """Return the sets of bags of these names, but for those that the folder has not."""
    found = {"needle": needle_digits()} if "needle" in names else {}
    for name in (name for name in names if name != "needle"):
        if folder is not None and (folder / f"{name}.npz").exists():
            found[name] = stored_bags(folder / f"{name}.npz")
        else:
            print(f"{name}: skipped, --data FOLDER has no {name}.npz")
    return found


class Stored:
    """Bags or rows of a table: pilots are parts of them, the truth is tested on what is left."""

    def __init__(self, X: Any, y: Labels) -> None:
        self.X, self.y = X, y
        self.most = int(0.9 * len(self.y))

    def split(self, n: int, rng: Rng) -> Any:
        train, test = train_test_split(
            np.arange(len(self.y)), train_size=n, stratify=self.y,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        return (self.X[train], self.y[train]), (self.X[test], self.y[test])


class Needle:
    """Bags of common tokens; a positive one holds one rare token, and each of them is used once.

    Common tokens come again, in a pilot as in what is tested on later.
    """

    def __init__(self, tokens: Any, rare: Any, n_tokens: int) -> None:
        self.lengths = round(0.75 * n_tokens), round(1.25 * n_tokens) + 1
        self.rare, self.common = tokens[rare], tokens[~rare]
        self.most = 2 * int(0.89 * len(self.rare))

    def split(self, n: int, rng: Rng) -> tuple[Drawn, Drawn]:
        rare, left = np.split(rng.permutation(self.rare), [n // 2])
        return self._bags(n, rare, rng), self._bags(2 * len(left), left, rng)

    def _bags(self, n: int, rare: Any, rng: Rng) -> Drawn:
        y = np.arange(n) % 2
        return planted_bags(y, rare, self.common, self.lengths, rng), y


class Simulated(NamedTuple):
    """A family that draws as many sequences as are asked for."""

    draw: Callable[[Labels, Rng], Any]
    """(labels, generator) → sequences."""
    labels: tuple[int, ...] = (0, 1)
    """Again and again."""
    wrong_labels: float = 0.0
    most: int = 10**9

    def sample(self, n: int, rng: Rng) -> Drawn:
        y = np.resize(self.labels, n)
        X = Sequences.from_list(list(self.draw(y, rng)))
        if self.wrong_labels:
            y = np.where(rng.random(n) < self.wrong_labels, 1 - y, y)
        return X, y

    def split(self, n: int, rng: Rng) -> tuple[Drawn, Drawn]:
        return self.sample(n, rng), self.sample(2000, rng)


def noise(y: Labels, length: int, rng: Rng) -> Any:
    return rng.standard_normal((len(y), length, DIM))


def plant(X: Any, y: Labels, strength: Any, rng: Rng, count: int = 1) -> Any:
    """Add a signal along the first feature to some tokens of each positive sequence."""
    for i in np.flatnonzero(y):
        rows = rng.choice(X.shape[1], count, replace=False)
        X[i, rows, 0] += strength[i] if np.ndim(strength) else strength
    return X


def needles(length: int, strength: float, count: int = 1) -> Callable[[Labels, Rng], Any]:
    """Return a draw of Gaussian tokens, ``count`` of which carry the signal."""
    return lambda y, rng: plant(noise(y, length, rng), y, strength, rng, count)


def clustered(y: Labels, rng: Rng) -> Any:
    """Tokens gather around centers shared by all sequences, and each sequence is shifted."""
    centers = 2.0 * np.random.default_rng(0).standard_normal((6, DIM))
    X = noise(y, 12, rng) + centers[rng.integers(6, size=(len(y), 12))]
    return plant(X + 0.7 * rng.standard_normal((len(y), 1, DIM)), y, 6.0, rng, 2)


def strengths(y: Labels, rng: Rng) -> Any:
    """Strengths that vary from one positive sequence to the next; a tenth carry none."""
    n, X = len(y), noise(y, 15, rng)
    return plant(X, y, np.where(rng.random(n) < 0.1, 0, rng.gamma(4, 1.5, n)), rng)


def correlated(y: Labels, rng: Rng) -> Any:
    """Noise of very different variances in mixed directions; the signal is in a quiet one."""
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((DIM, DIM)))[0]
    return needles(15, 6.0)(y, rng) * np.geomspace(0.3, 6.0, DIM) @ turn


def variance(y: Labels, rng: Rng) -> Any:
    """Signal tokens have a larger variance in five features, and no other mean."""
    X = noise(y, 10, rng)
    for i in np.flatnonzero(y):
        X[i, rng.choice(10, 3, replace=False), :5] *= 3.0
    return np.abs(X) ** 0.9 * np.sign(X)


def majority(y: Labels, rng: Rng) -> Any:
    """Handwritten digits, more of them even in positive sequences: the whole decides."""
    images, digits = load_digits(return_X_y=True)
    even, odd = (np.flatnonzero(digits % 2 == part) for part in (0, 1))
    drawn = [
        np.concatenate([rng.choice(even, k, replace=False), rng.choice(odd, 10 - k, replace=False)])
        for k in rng.binomial(10, np.where(y == 1, 0.65, 0.35))
    ]
    return images[np.array(drawn)] + rng.uniform(0.0, 1.0, (len(y), 10, 1))


def bursts(y: Labels, rng: Rng) -> Any:
    """Tokens are counts; in one of a positive sequence three features have a burst."""
    X = rng.poisson(1.0, (len(y), 15, DIM)).astype(float)
    for i in np.flatnonzero(y):
        X[i, rng.integers(15), :3] += rng.poisson(2.5, 3)
    return X


def drifting(y: Labels, rng: Rng) -> Any:
    """Noise that depends on the token before; the signal is in two neighboring tokens."""
    X = noise(y, 15, rng)
    for t in range(1, 15):
        X[:, t] = 0.8 * X[:, t - 1] + 0.6 * X[:, t]
    for i in np.flatnonzero(y):
        first = rng.integers(14)
        X[i, first : first + 2, 0] += 4.0
    return X


def either(y: Labels, rng: Rng) -> Any:
    """One of two features has the signal of a positive sequence."""
    X = noise(y, 15, rng)
    for i in np.flatnonzero(y):
        X[i, rng.integers(15), rng.integers(2)] += 6.5
    return X


def scales(y: Labels, rng: Rng) -> Any:
    """Each sequence has a scale of its own."""
    return needles(12, 6.0)(y, rng) * np.exp(0.4 * rng.standard_normal((len(y), 1, 1)))


def words(y: Labels, rng: Rng) -> Any:
    """Vectors of words, common and rare; a positive sequence has two words of a topic of eight."""
    vectors = np.random.default_rng(2).standard_normal((300, DIM))
    vectors[:8] += vectors[0]
    frequency = 1.0 / np.arange(5, 305)
    drawn = rng.choice(np.arange(8, 300), (len(y), 25), p=frequency[8:] / frequency[8:].sum())
    for i in np.flatnonzero(y):
        drawn[i, rng.choice(25, 2, replace=False)] = rng.integers(8, size=2)
    return vectors[drawn]


def lengths(y: Labels, rng: Rng) -> Any:
    """Sequences of 5 to 60 tokens."""
    bags = [rng.standard_normal((rng.integers(5, 61), DIM)) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        bag[rng.integers(len(bag)), 0] += 6.5 * label
    return bags


def student(freedom: int, strength: float, count: int) -> Callable[[Labels, Rng], Any]:
    """Return a draw of noise with heavy tails."""
    return lambda y, rng: plant(rng.standard_t(freedom, (len(y), 15, DIM)), y, strength, rng, count)


SIMULATED = {
    "heavy": Simulated(student(3, 6.0, 1)),
    "clustered": Simulated(clustered),
    "strengths": Simulated(strengths),
    "mislabelled": Simulated(needles(10, 5.0, 2), wrong_labels=0.1),
    "correlated": Simulated(correlated),
    "variance": Simulated(variance),
    "majority": Simulated(majority),
    "dense": Simulated(needles(12, 0.8, 12)),  # every token has a weak signal
    "bursts": Simulated(bursts),
    "drifting": Simulated(drifting),
    "rare": Simulated(needles(10, 6.0), labels=(1, 0, 0, 0)),
    "either": Simulated(either),
    "scales": Simulated(scales),
    "words": Simulated(words),
    "strong": Simulated(needles(12, 8.0)),  # can hardly be missed
    "weak": Simulated(needles(20, 1.7, 4)),
    "lengths": Simulated(lengths),
    "unequal": Simulated(student(5, 3.0, 3), labels=(1, 1, 1, *[0] * 7)),
}


def families(folder: Path | None) -> dict[str, Any]:
    """Return all families: bags of rare tokens, the stored sets that there are, simulated ones."""
    images, digits = load_digits(return_X_y=True)
    cells, benign = load_breast_cancer(return_X_y=True)
    return {
        **{f"needle-{length}": Needle(images, digits == 9, length) for length in (10, 20, 30, 50)},
        "fours": Needle(images, digits == 4, 15),
        "sevens": Needle(images, digits == 7, 25),
        "cells": Needle(np.log1p(cells), benign == 0, 8),
        **{name: Stored(*drawn) for name, drawn in bag_sets(folder, [*STORED]).items()},
        **SIMULATED,
    }
