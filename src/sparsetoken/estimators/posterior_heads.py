"""Heads that learn as well as anything can where the model of docs/theory holds.

Their direction is the posterior mean that posterior_iteration.py finds. Nothing is minimized and
there is no ridge.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from sparsetoken._types import Floats, Indices
from sparsetoken.estimators.attention_heads import AttentionHeads, HeadSpec
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.posterior_iteration import MORE, Iteration, noise_shrinkage

_N_SIGNALS = (1, 2, 3, 5, 8)


@dataclass(kw_only=True)
class PosteriorHeads(AttentionHeads):
    """Heads for sequences of the model: the posterior mean of the direction, by iteration.

    Parameters
    ----------
    either_class : bool
        Whether the first of two classes may carry the signal, too.
    contiguous : bool
        Whether the tokens that carry it are neighbors.
    """

    kind: ClassVar[str] = "posterior"
    either_class: bool = True
    prior: Any = None
    """(K,): how likely each number of signal tokens is, as the training samples tell."""
    strengths: Any = None
    """(K,): the signal's strength with each number, for the first class."""
    strength_errors: Any = None
    """(K,): its standard error, from the fits without a fold."""
    evidence: Any = None
    """(K,): log-likelihood of the labels with each number."""

    def _choose_specs(self, training: TrainingSamples) -> list[HeadSpec]:
        either = self.either_class and training.signs.shape[1] == 1 and not self.sums_evidence
        most = 1 if self.sums_evidence else max(int(self.reference_length) // 2, 1)
        shrinkage = noise_shrinkage(training)
        return [
            HeadSpec(sign, shrinkage, 0.0, n_signal)
            for sign in ((1.0, -1.0) if either else (1.0,))
            for n_signal in _N_SIGNALS
            if n_signal <= most
        ]

    def _fit_columns(self, training: TrainingSamples, weights: Floats) -> tuple[Floats, Floats]:
        shape = (weights.shape[1], len(self.specs), training.signs.shape[1])
        directions, intercepts = np.empty((*shape, training.data.dim)), np.empty(shape)
        evidence, strengths = np.empty(shape), np.empty(shape)
        for heads, c, sign, iteration in self._iterations(training, weights):
            for k, columns in zip(heads, iteration.solve(self.n_signal[heads]), strict=True):
                vectors, offsets = iteration.in_data(columns)
                directions[:, k, c] = sign * vectors
                intercepts[:, k, c] = sign * offsets * columns.n_signal
                evidence[:, k, c] = columns.evidence + columns.likelihood
                strengths[:, k, c] = np.sqrt(columns.strength * columns.sharpness)
        self.prior = softmax(evidence[0].mean(axis=1))
        self.strengths, self.evidence = strengths[0, :, 0], evidence[0, :, 0]
        others = strengths[min(1, len(strengths) - 1) :, :, 0]  # without a fold: the jackknife
        self.strength_errors = np.sqrt(len(others) - 1.0) * others.std(axis=0)
        return directions, intercepts

    def refine(self, training: TrainingSamples) -> None:
        """Iterate on all samples, from the directions of some of them."""
        weights = training.weights[:, np.newaxis]
        for heads, c, sign, iteration in self._iterations(training, weights):
            vectors = sign * self.directions[heads, c]
            start = training.standard.to_standard(vectors, iteration.shrinkage)
            columns = iteration.at(start, np.zeros(len(heads), dtype=int))
            columns.n_signal = self.n_signal[heads]
            iteration.run(columns, MORE)
            vectors, offsets = iteration.in_data(columns)
            self.directions[heads, c] = sign * vectors
            self.intercepts[heads, c] = sign * offsets * columns.n_signal

    def prior_of(self, count: int) -> Floats:
        """Return how likely each head is, as the training samples tell."""
        return self.prior

    def _iterations(
        self, training: TrainingSamples, weights: Floats
    ) -> Iterator[tuple[Indices, int, float, Iteration]]:
        """Yield heads that are found together, their class, their sign and what finds them."""
        signs = np.unique(self.temperatures)
        for sign, (c, labels) in product(signs.tolist(), enumerate(training.signs.T)):
            heads = np.flatnonzero(self.temperatures == sign)
            yield heads, c, sign, Iteration(training, weights, sign * labels > 0, self.contiguous)
