"""Bag-level randomized trees, after Komárek and Somol (2018)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sparsetoken import Sequences

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]


class CountingTrees(BaseEstimator):  # type: ignore[misc]
    """Bag-level randomized trees: a split asks which fraction of a bag's tokens has x > threshold.

    Of √d random features, each with a threshold drawn between the least and the largest of the
    node's tokens and a fraction drawn likewise, the split of least impurity is taken; leaves are
    pure, or no drawn feature divides them.
    """

    def __init__(self, n_trees: int = 200, random_state: int = 0) -> None:
        self.n_trees, self.random_state = n_trees, random_state

    def fit(self, X: Sequences, y: Labels) -> "CountingTrees":
        """Grow all trees on all bags."""
        rng = np.random.default_rng(self.random_state)
        tokens = np.ascontiguousarray(X.tokens.T)
        self.trees_ = [_grow(tokens, X.offsets, y, rng) for _ in range(self.n_trees)]
        return self

    def decision_function(self, X: Sequences) -> Floats:
        """Return the mean fraction of positives in a bag's leaves, less one half."""
        scores, tokens = np.zeros(len(X)), np.ascontiguousarray(X.tokens.T)
        for tree in self.trees_:
            _descend(tree, tokens, X.offsets, np.arange(len(X)), scores)
        return scores / len(self.trees_) - 0.5


class _Bags:
    """The tokens of some bags, one after another."""

    def __init__(self, offsets: Labels, bags: Labels) -> None:
        self.lengths = offsets[bags + 1] - offsets[bags]
        self.starts = np.cumsum(self.lengths) - self.lengths
        first = np.repeat(offsets[bags] - self.starts, self.lengths)
        self.rows = np.arange(self.lengths.sum()) + first

    def fractions(self, beyond: NDArray[np.bool_]) -> Floats:
        """Return which fraction of each bag's tokens is beyond something, (..., bags)."""
        return np.add.reduceat(beyond, self.starts, axis=-1, dtype=float) / self.lengths


def _grow(tokens: Any, offsets: Labels, y: Labels, rng: np.random.Generator) -> Any:
    """Return a tree as nested tuples (feature, cut, fraction, below, above), or a leaf's rate."""
    dim = len(tokens)

    def node(bags: Labels) -> Any:
        rate = float(y[bags].mean())
        if rate in (0.0, 1.0):
            return rate
        inside = _Bags(offsets, bags)
        features = rng.choice(dim, max(1, round(np.sqrt(dim))), replace=False)
        values = tokens[features[:, np.newaxis], inside.rows]
        cuts = rng.uniform(values.min(axis=1), values.max(axis=1))
        beyond = inside.fractions(values > cuts[:, np.newaxis])
        limits = rng.uniform(beyond.min(axis=1), beyond.max(axis=1))
        above = beyond > limits[:, np.newaxis]
        purity = _purity(above, y[bags]) + _purity(~above, y[bags])
        best = int(purity.argmax())
        if not 0 < above[best].sum() < bags.size:  # all of these features are constant
            return rate
        split = features[best], cuts[best], limits[best]
        return *split, node(bags[~above[best]]), node(bags[above[best]])

    return node(np.arange(len(y)))


def _purity(side: NDArray[np.bool_], y: Labels) -> Floats:
    """Return n·(p² + (1 − p)²) of the bags on a side; an empty side makes a split the worst."""
    count, positives = side.sum(axis=1), side @ y
    squares = positives**2 + (count - positives) ** 2
    return np.where(count > 0, squares / np.maximum(count, 1), -np.inf)


def _descend(tree: Any, tokens: Any, offsets: Labels, bags: Labels, scores: Floats) -> None:
    if isinstance(tree, float):
        scores[bags] += tree
    elif bags.size:
        feature, cut, limit, below, above = tree
        inside = _Bags(offsets, bags)
        beyond = inside.fractions(tokens[feature, inside.rows] > cut) > limit
        _descend(below, tokens, offsets, bags[~beyond], scores)
        _descend(above, tokens, offsets, bags[beyond], scores)
