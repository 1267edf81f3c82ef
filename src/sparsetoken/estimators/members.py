"""What a stack is made of: the contract of a member, what members are fitted to, coordinates.

A member learns one or several scores of a sequence, and says what they are when samples are held
out. All else has a default: a new member is ``fit``, ``scores`` and ``without_fold``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from sparsetoken._types import Array, Floats, Indices
from sparsetoken.estimators.folds import Fold, class_signs, selection_rows
from sparsetoken.estimators.head_pooling import HeadPooling, pooled_scores
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.passes import (
    largest_magnitudes,
    pooled_features,
    token_covariance,
    token_variances,
)
from sparsetoken.sequences.sequences import Sequences

LARGEST_COVARIANCE = 1000  # features; the cost of whitening grows with their third power
_LEAST_SHRINKAGE = 0.3  # of noise, as that of other heads
SQUARED_NORM = 10.0  # of a mean token in coordinates of shrinkage None
_LARGEST = 1e290  # sums of so many tokens still fit into floats
_SMALLEST = 1e-290
_ROUNDING = 1e-13  # a deviation smaller than this fraction of the magnitude is rounding


@dataclass
class TrainingSamples:
    """Labelled sequences, the folds that hold them out, and common coordinates of their tokens.

    ``index`` and ``weights``, of sum one, are class and weight of each sample; one without weight
    is left out. ``order`` holds all samples, ordered by their tokens alone. Members may draw random
    numbers from ``seed``, use ``n_jobs`` threads, and learn from ``unlabelled`` sequences.
    """

    data: Data
    index: Indices
    weights: Floats
    folds: list[Fold]
    order: Indices
    seed: int
    n_jobs: int | None = None
    unlabelled: MemoryData | None = None

    @cached_property
    def signs(self) -> Floats:
        """Labels ±1: one column for two classes, else one for each."""
        return class_signs(self.index)

    @property
    def lengths(self) -> Indices:
        """Numbers of tokens of the samples that have a weight."""
        return self.data.lengths[self.weights > 0]

    @cached_property
    def all_data(self) -> Data:
        """The sequences, with the unlabelled ones at the end."""
        if self.unlabelled is None or not isinstance(self.data, MemoryData):
            return self.data
        return self.data.followed_by(self.unlabelled)

    @cached_property
    def standard(self) -> "Standard":
        """Coordinates of all tokens: an unlabelled sequence weighs as much as a mean one."""
        each = np.full(len(self.all_data) - len(self.data), 1.0 / np.count_nonzero(self.weights))
        return Standard(self.all_data, np.append(self.weights, each))

    @property
    def fit_weights(self) -> Floats:
        """Weights of the fit to all samples and of the fits without each fold, (n, 1 + folds)."""
        columns = np.zeros((len(self.index), len(self.folds) + 1))
        columns[:, 0] = self.weights
        for number, fold in enumerate(self.folds, start=1):
            columns[fold.rows, number] = self.weights[fold.rows] / self.weights[fold.rows].sum()
        return columns

    def counts(self, among: Indices | None = None) -> Indices:
        """Return how many of each class have a weight, of some samples or of all."""
        rows = self.order if among is None else among
        return np.bincount(self.index[rows[self.weights[rows] > 0]], minlength=self.index.max() + 1)

    def enough(
        self, rng: np.random.Generator, among: Indices | None = None
    ) -> tuple["TrainingSamples", Indices]:
        """Return as many of some samples as tell enough, and the rows that these are.

        In memory if they fit, else all samples of which only these have a weight.
        """
        order = self.order if among is None else self.order[np.isin(self.order, among)]
        rows, stands_for = selection_rows(self.data, self.index, order, rng)
        weights = self.weights[rows] * stands_for
        weights /= weights.sum()
        if self.data.lengths[rows].sum() * self.data.dim > self.data.memory_budget:
            of_all = np.zeros(len(self.data))
            of_all[rows] = weights
            return replace(self, weights=of_all), np.arange(len(self.data))
        places, index = np.argsort(self.order)[rows].argsort(), self.index[rows]
        data = self.data.take(rows)
        return replace(self, data=data, index=index, weights=weights, order=places), rows


class TokenPart(NamedTuple):
    """What every token did: attention (tokens, K) of sum one over a sequence, and contributions.

    These add up to the score with the baseline (K,), the score of tokens that are all the center.
    """

    attention: Floats
    contributions: Floats
    baseline: Floats


class Member:
    """A member of a stack gives K scores for each of C classes, or the log-odds of two: C = 1.

    Fitted, it is numbers, strings, arrays, lists and dicts in public attributes: it can be saved.
    """

    name: str  # the name in ``members_``
    prior: Any = None  # (K,): weights of the scores before held-out samples tell; None: equal

    def fit(self, training: TrainingSamples) -> Floats:
        """Learn, and return the scores (K, n, C) of the samples when they were held out."""
        raise NotImplementedError

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, K, C) of sequences."""
        raise NotImplementedError

    def without_fold(self, fold: int) -> Self:
        """Return the member as it was fitted without a fold."""
        raise NotImplementedError

    def held_out(self, samples: TrainingSamples) -> Floats:
        """Return the scores (K, n, C) of samples by the fits without them, NaN if there is none."""
        held_out = np.full((self.n_scores, *samples.signs.shape), np.nan)
        for number, fold in enumerate(samples.folds):
            scores = self.without_fold(number).scores(samples.data.take(fold.held_out))
            held_out[:, fold.held_out] = scores.swapaxes(0, 1)
        return held_out

    def refine(self, training: TrainingSamples) -> None:
        """Go on from a fit to some samples to a fit to all of them, and to fits without the folds.

        No fold holds a sample that was seen before, so the first fit may stay, and stand for those.
        """

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart | None:
        """Return what each token did for a class; None if scores are no sums over tokens."""
        return None

    def kinds(self, sequences: Sequences, column: int) -> Indices | None:
        """Return each sequence's likeliest kind of signal; None if the member knows one only."""
        return None

    @property
    def kind(self) -> str:
        """The name in ``heads_``: several members may have one name in ``members_``."""
        return self.name

    @property
    def n_scores(self) -> int:
        """K, the number of scores for each class."""
        return 1

    # Scores token by token, from a summary of tokens; by default it holds the tokens themselves.

    def summarize(self, token: Array) -> Any:
        """Return the summary of one token."""
        return [token]

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others."""
        return earlier + later

    def scores_of(self, summary: Any, n_tokens: int) -> Floats:
        """Return the scores (K, C) of the ``n_tokens`` tokens of a summary."""
        return self.scores(MemoryData(Sequences(np.stack(summary), [0, n_tokens])))[0]


@dataclass(kw_only=True)
class Heads(Member):
    """Heads that score every token and pool the scores: of all samples, and without each fold."""

    directions: Annotated[Any, "FKCm"] = None  # of all samples, and without each fold
    intercepts: Annotated[Any, "FKC"] = None

    def token_scores(self, tokens: Array) -> Floats:
        """Return the scores (tokens, K, C) of tokens."""
        raise NotImplementedError

    def pooling(self) -> HeadPooling:
        """Return how the tokens' scores make one."""
        return HeadPooling()

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, K, C) of sequences."""
        return data.per_sample(pooled_scores, self.token_scores, self.pooling())

    def without_fold(self, fold: int) -> Self:
        """Return the heads that were fitted without a fold."""
        return self.of_fit(fold + 1)

    def refine(self, training: TrainingSamples) -> None:
        """Let the fit to some of the samples stand for those without the folds."""
        if training.folds:
            first = [0] * (1 + len(training.folds))
            self.directions, self.intercepts = self.directions[first], self.intercepts[first]

    def of_fit(self, number: int) -> Self:
        """Return the heads of one of the fits."""
        one = [number]
        return replace(self, directions=self.directions[one], intercepts=self.intercepts[one])

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return attention and contribution of every token."""
        u, at_center = (
            self.token_scores(tokens)[..., [column]]
            for tokens in (sequences.tokens, center[np.newaxis])
        )
        parts = self.pooling().divide(u, sequences.offsets, at_center[0])
        return TokenPart(*(part[..., 0] for part in parts))

    def summarize(self, token: Array) -> Any:
        """Return the summary of one token."""
        return self.pooling().begin(self.token_scores(token[np.newaxis])[0])

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others."""
        return self.pooling().join(earlier, later)

    def scores_of(self, summary: Any, n_tokens: int) -> Floats:
        """Return the scores (K, C) of the ``n_tokens`` tokens of a summary."""
        return self.pooling().end(summary, n_tokens)


class Standard:
    """Coordinates of weighted tokens for each shrinkage of their correlations.

    A token x is seen as Mᵀz with z = (x − mean)·scale, feature by feature. No token is changed:
    directions are carried to the tokens as they are, and sums over tokens back.

    Shrinkage 1 only scales each feature; below 1, the matrix is the inverse root of the correlation
    matrix drawn towards the identity. None scales all features alike, so that the tokens' mean
    squared norm is ten. A feature that never varies, judged by its own magnitude, gets scale zero.
    Squares are taken of features divided by their magnitudes, so that 1e200 does not matter.
    """

    def __init__(self, data: Data, weights: Floats) -> None:
        weights = weights * data.lengths
        self._data, self._weights = data, weights / weights.sum()
        self._token_weights = self._weights / np.sqrt(data.lengths)
        magnitude = data.per_sample(largest_magnitudes).max(axis=0)
        if magnitude.max() > _LARGEST:
            raise ValueError(
                f"X must not exceed {_LARGEST:g} in magnitude, got {magnitude.max():g} in feature "
                f"{int(magnitude.argmax())}; scale it down"
            )
        self._unit = 1.0 / np.where(magnitude > _SMALLEST, magnitude, np.inf)
        self.mean = self._weights @ data.per_sample(pooled_features).astype(np.float64)
        (variance,) = data.total(token_variances, (self._weights,), self.mean, self._unit)
        varies = variance > _ROUNDING**2
        self._deviation = np.where(varies, np.sqrt(variance) * magnitude, 0.0)
        to_one = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        self.scale = to_one * self._unit
        self._matrices: dict[float | None, Floats] = {1.0: np.ones(data.dim)}

    def matrix(self, shrinkage: float | None) -> Floats:
        """Return the matrix of a shrinkage, a vector for a diagonal."""
        if shrinkage not in self._matrices:
            if shrinkage is None:  # back to the features' relative sizes
                relative = self._deviation / max(self._deviation.max(), _SMALLEST)
                norm = max(float(np.linalg.norm(relative)), _SMALLEST)
                self._matrices[None] = np.sqrt(SQUARED_NORM) * relative / norm
            else:
                values, vectors = self._spectrum
                root = 1.0 / np.sqrt((1.0 - shrinkage) * np.maximum(values, 0.0) + shrinkage)
                self._matrices[shrinkage] = (vectors * root) @ vectors.T
        return self._matrices[shrinkage]

    @cached_property
    def noise_shrinkage(self) -> float:
        """What part of all squared correlations so many tokens of independent features show."""
        dim = np.count_nonzero(self.scale)
        if len(self.scale) > LARGEST_COVARIANCE:
            return 1.0
        values, _ = self._spectrum
        correlated = float(values @ values) - dim
        chance = dim * (dim - 1) * float(self._token_weights @ self._token_weights)
        return max(min(1.0, chance / correlated), _LEAST_SHRINKAGE) if correlated > 0 else 1.0

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        (correlation,) = self._data.total(token_covariance, (self._weights,), self.mean, self.scale)
        values, vectors = np.linalg.eigh(correlation)
        return values, vectors

    def to_data(self, rows: Floats, shrinkage: Any) -> tuple[Floats, Floats]:
        """Return directions and offsets of standard ones: ⟨x, direction⟩ + offset is ⟨Mᵀz, row⟩.

        Here and below ``shrinkage`` is that of all rows, or a list with one for each.
        """
        directions = self._map(_times, rows, shrinkage) * self.scale
        return directions, -(directions @ self.mean)

    def from_data(self, sums: Floats, totals: Floats, shrinkage: Any) -> Floats:
        """Return Σ s·Mᵀz for each row of Σ s·x, given Σ s."""
        return self._map(_times, (sums - totals[:, np.newaxis] * self.mean) * self.scale, shrinkage)

    def to_standard(self, directions: Floats, shrinkage: Any) -> Floats:
        """Return the rows that :meth:`to_data` makes such directions of."""
        return self._map(_undo, _undo(directions, self.scale), shrinkage)

    def _map(self, change: Callable[..., Floats], rows: Floats, shrinkage: Any) -> Floats:
        if not isinstance(shrinkage, list):
            return change(rows, self.matrix(shrinkage))
        changed = np.empty_like(rows)
        for one in dict.fromkeys(shrinkage):
            alike = [other == one for other in shrinkage]
            changed[alike] = change(rows[alike], self.matrix(one))
        return changed


def _times(rows: Floats, matrix: Floats) -> Floats:
    """Return the rows times a symmetric matrix, or times a diagonal one, given as a vector."""
    return rows * matrix if matrix.ndim == 1 else rows @ matrix


def _undo(rows: Floats, matrix: Floats) -> Floats:
    """Return what :func:`_times` makes such rows of; zero where a diagonal is."""
    if matrix.ndim == 1:
        return np.divide(rows, matrix, out=np.zeros_like(rows), where=matrix > 0)
    return np.asarray(np.linalg.solve(matrix, rows.T).T, dtype=np.float64)
