"""Heads on the mean of a kernel map of the tokens: for sequences whose whole distribution decides.

The score is the mean over the tokens of f(x) = Σ coefₘ exp(−γ‖z(x) − landmarkₘ‖²), plus a constant,
with z the scaled token: logistic regression with the set kernel, which compares two sequences by
the mean kernel of their pairs of tokens, in the span of a few landmarks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from sparsetoken._types import Array, Floats
from sparsetoken.estimators.head_objective import HeadObjective, HeadSpec
from sparsetoken.estimators.members import SQUARED_NORM, Heads, TrainingSamples
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import Sequences

_LANDMARKS = 200
_WIDTHS = (0.25, 1.0, 4.0)  # γ, in units of one over the median squared distance of landmarks;
# each is four times the one before, so that one exponential is enough
_RIDGE = 0.1  # over the number of samples, for features whose mean square is one
_FLOOR = 1e-6  # of the landmarks' kernel matrix, in units of its largest eigenvalue
_STEPS, _TOLERANCE = 100, 1e-9
_FAR = 1e100  # a scaled token that is as far from all landmarks as one can be
_AT_ONCE = 512  # tokens whose kernels are in the processor's cache together


@dataclass(kw_only=True)
class KernelHeads(Heads):
    """Heads whose directions are the coefficients of the landmarks, (fits, K, C, M)."""

    name, kind = "pooled", "kernel"
    mean: Annotated[Any, "d"] = None
    scale: Annotated[Any, "d"] = None  # what scales a token
    landmarks: Annotated[Any, "md"] = None  # scaled tokens
    gammas: Annotated[Any, "K"] = None  # each four times the one before

    def fit(self, training: TrainingSamples) -> Floats:
        """Fit all heads to all samples and without each fold, all of them together."""
        standard = training.standard
        self.mean, self.scale = standard.mean, standard.scale
        self.landmarks = (_pick_tokens(training) - self.mean) * self.scale
        squared = _squared_distances(self.landmarks, self.landmarks)
        apart = squared[np.triu_indices(len(squared), 1)]
        typical = float(np.median(apart)) if apart.size else 0.0
        self.gammas = np.array(_WIDTHS) / (typical if typical > 0.0 else 1.0)
        means = training.data.per_sample(self.mean_kernels)
        spec = HeadSpec(1.0, None, SQUARED_NORM * _RIDGE / np.count_nonzero(training.weights))
        fits = []
        for k, gamma in enumerate(self.gammas):
            # K^(−1/2), smooth where eigenvalues vanish: rounding must not decide.
            values, vectors = np.linalg.eigh(np.exp(-gamma * squared))
            roots = np.sqrt(np.maximum(values, 0.0) + _FLOOR * values[-1])
            root = (vectors / roots) @ vectors.T
            rows = Sequences(means[:, k] @ root, np.arange(len(means) + 1))
            samples = replace(training, data=MemoryData(rows), unlabelled=None)
            objective = HeadObjective(samples, [spec], training.fit_weights, pooled=True)
            directions, intercepts = objective.minimize(_STEPS, _TOLERANCE)
            fits.append((directions @ root, intercepts))
        parts = (np.concatenate(part, axis=1) for part in zip(*fits, strict=True))
        self.directions, self.intercepts = parts
        return self.held_out(training)

    def token_scores(self, tokens: Array) -> Floats:
        """Return f of tokens, and the intercept."""
        scores = np.empty((len(tokens), *self.intercepts.shape[1:]))
        for rows, k, kernel in self._kernels(tokens):
            scores[rows, k] = kernel @ self.directions[0, k].T
        return scores + self.intercepts[0]

    def mean_kernels(self, sequences: Sequences) -> Floats:
        """Return the mean kernels of each sequence's tokens with the landmarks, (n, K, M)."""
        sums = np.zeros((len(sequences), len(self.gammas), len(self.landmarks)))
        owner = np.repeat(np.arange(len(sequences)), sequences.lengths)
        for tokens, k, kernel in self._kernels(sequences.tokens):
            rows, starts = np.unique(owner[tokens], return_index=True)
            sums[rows, k] += np.add.reduceat(kernel, starts)
        return sums / sequences.lengths[:, np.newaxis, np.newaxis]

    @property
    def n_scores(self) -> int:
        """One for each width."""
        return len(self.gammas)

    def _kernels(self, tokens: Array) -> Iterator[tuple[slice, int, Floats]]:
        """Yield some of the tokens, and their kernels with the landmarks: one array, γ after γ."""
        for low in range(0, len(tokens), _AT_ONCE):
            rows = slice(low, low + _AT_ONCE)
            kernel = _squared_distances((tokens[rows] - self.mean) * self.scale, self.landmarks)
            kernel *= -self.gammas[0]
            np.exp(kernel, out=kernel)
            for k in range(len(self.gammas)):
                if k > 0:
                    np.square(np.square(kernel, out=kernel), out=kernel)
                yield rows, k, kernel


def _squared_distances(tokens: Floats, landmarks: Floats) -> Floats:
    return euclidean_distances(np.clip(tokens, -_FAR, _FAR), landmarks, squared=True)


def _pick_tokens(training: TrainingSamples) -> Floats:
    """Return random tokens that depend neither on the order of sequences nor of their tokens."""
    rng = np.random.default_rng(training.seed)
    order = training.order[training.weights[training.order] > 0]
    rows = order[rng.permutation(len(order))][:_LANDMARKS]
    most = -(-_LANDMARKS // len(rows))
    tokens = []
    for row in rows:
        sequence = training.data.take(np.array([row])).sequences[0]
        last = sequence[:, -4:]  # usually enough to order tokens, and much quicker
        keys = last if len(np.unique(last, axis=0)) == len(last) else sequence
        picked = np.sort(rng.permutation(len(sequence))[:most])
        tokens.append(sequence[np.lexsort(keys.T)][picked])
    return np.concatenate(tokens)[:_LANDMARKS].astype(np.float64)
