"""Heads that learn as well as anything can where the model of docs/theory holds.

Their direction is the posterior mean that posterior_iteration.py finds. Nothing is minimized and
there is no ridge.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.special import comb, gammaln, softmax

from sparsetoken._types import Array, Floats, Indices
from sparsetoken.estimators.attention_heads import AttentionHeads, HeadSpec
from sparsetoken.estimators.members import Member, TokenPart, TrainingSamples
from sparsetoken.estimators.posterior_iteration import MORE, Iteration, noise_shrinkage
from sparsetoken.estimators.posterior_passes import join_subsets, place_scores, place_tokens
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.sequences import Sequences

_N_SIGNALS = (1, 2, 3, 5, 8)


@dataclass(kw_only=True)
class PosteriorHeads(AttentionHeads):
    """Heads for sequences of the model: the posterior mean of the direction, by iteration.

    Parameters
    ----------
    both : bool
        Whether the first of two classes may carry the signal, too.
    contiguous : bool
        Whether the tokens that carry it are neighbors.
    """

    kind: ClassVar[str] = "posterior"
    both: bool = True
    contiguous: bool = False
    prior: Any = None
    """(K,): how likely each number of signal tokens is, as the training samples tell."""

    def __post_init__(self) -> None:
        if any(spec.n_signal < 1 for spec in self.specs):  # compiled loops rely on it
            raise ValueError("a head looks for less than one signal token")

    def _choose_specs(self, training: TrainingSamples) -> list[HeadSpec]:
        both = self.both and training.signs.shape[1] == 1 and not self.adds
        most = 1 if self.adds else max(int(self.typical) // 2, 1)
        shrinkage = noise_shrinkage(training)
        return [
            HeadSpec(turn, shrinkage, 0.0, n_signal)
            for turn in ((1.0, -1.0) if both else (1.0,))
            for n_signal in _N_SIGNALS
            if n_signal <= most
        ]

    def _fit_columns(self, training: TrainingSamples, weights: Floats) -> tuple[Floats, ...]:
        shape = (weights.shape[1], len(self.specs), training.signs.shape[1])
        vectors, (offsets, evidence) = np.empty((*shape, training.data.dim)), np.empty((2, *shape))
        for turn, (c, sign) in product(np.unique(self.temperatures), enumerate(training.signs.T)):
            heads = np.flatnonzero(self.temperatures == turn)
            iteration = Iteration(training, weights, turn * sign > 0, self.contiguous)
            for k, columns in zip(heads, iteration.solve(self.n_signal[heads]), strict=True):
                vectors[:, k, c], offsets[:, k, c] = iteration.directions(columns)
                evidence[:, k, c] = columns.evidence + columns.likelihood
        self.prior = softmax(evidence[0].mean(axis=1))
        in_data = self._in_data(training, vectors, offsets)
        scores = self._place(training.data, vectors, offsets, *training.pass_scale)
        vectors *= self._turn[..., np.newaxis]
        return *in_data, np.moveaxis(scores, 0, 2), vectors

    def refine(self, training: TrainingSamples) -> None:
        """Iterate on all samples, from the directions of some of them."""
        vectors, offsets = self._exponents()
        scale = training.scale
        scaled = np.divide(vectors, scale, out=np.zeros_like(vectors), where=scale > 0)
        weights, turns = training.weights[:, np.newaxis], self.temperatures
        for turn, (c, sign) in product(np.unique(turns), enumerate(training.signs.T)):
            iteration = Iteration(training, weights, turn * sign > 0, self.contiguous)
            heads = np.flatnonzero(turns == turn)
            start = training.standard.to_standard(scaled[heads, c], iteration.shrinkage)
            columns = iteration.at(start, np.zeros(len(heads), dtype=int))
            columns.n_signal = self.n_signal[heads]
            iteration.run(columns, MORE)
            scaled[heads, c], offsets[heads, c] = iteration.directions(columns)
        self.directions, self.intercepts = self._in_data(training, scaled, offsets)

    def prior_of(self, count: int) -> Floats:
        """Return how likely each head is, as the training samples tell."""
        prior: Floats = self.prior
        return prior

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, K, C) of sequences."""
        return self._place(data, *self._exponents()) + self.by_length(data.lengths)

    def by_length(self, lengths: Any) -> Floats:
        """Return what turns means over choices of tokens into sums, (n, K, 1)."""
        lengths = np.reshape(lengths, (-1, 1))
        ways, usual = (
            gammaln(n + 1) - gammaln(n - np.minimum(self.n_signal, n) + 1)
            for n in (lengths, np.full((1, 1), self.typical))
        )
        return self._turn * (ways - usual)[..., np.newaxis] * self.adds

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return attention and contribution of every token: they divide the score by attention."""
        vectors, offsets = self._exponents()
        n_signal, turn = self.n_signal, self._turn[:, 0]
        attention, scores = place_tokens(
            sequences, vectors[:, column].T, offsets[:, column], n_signal, self.contiguous
        )
        baseline = turn * n_signal * (vectors[:, column] @ center + offsets[:, column])
        scores = turn * scores + self.by_length(sequences.lengths)[..., 0]
        apart = np.repeat(scores - baseline, sequences.lengths, axis=0)
        return TokenPart(attention, attention * apart, baseline)

    def summarize(self, token: Array) -> Any:
        """Return the largest score, and sums over subsets of the tokens."""
        if self.contiguous:  # the order of the tokens matters
            return Member.summarize(self, token)
        vectors, offsets = self._exponents()
        sums = np.zeros((int(self.n_signal.max()) + 1, *offsets.shape))
        sums[:2] = 1.0
        return vectors @ token + offsets, sums

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others."""
        return earlier + later if self.contiguous else join_subsets(earlier, later)

    def scores_of(self, summary: Any, n_tokens: int) -> Floats:
        """Return the scores (K, C) of the tokens of a summary."""
        if self.contiguous:
            return Member.scores_of(self, summary, n_tokens)
        largest, sums = summary
        size = np.minimum(self.n_signal, n_tokens)
        total = np.maximum(sums[size, np.arange(len(size))], 1e-300)
        log_mean = np.log(total) - np.log(comb(n_tokens, size))[:, np.newaxis]
        scores: Floats = self._turn * (log_mean + size[:, np.newaxis] * largest)
        return scores + self.by_length(n_tokens)[0]

    @property
    def n_signal(self) -> Indices:
        """(K,): how many tokens carry the signal, in each head's model."""
        return np.array([spec.n_signal for spec in self.specs])

    @property
    def _turn(self) -> Floats:
        return self.temperatures[:, np.newaxis]

    def _exponents(self) -> tuple[Floats, Floats]:
        """Return what a token's exponent is: direction (K, C, d) and offset (K, C)."""
        per_token = self.intercepts / self.n_signal[:, np.newaxis]
        return self.directions * self._turn[..., np.newaxis], per_token * self._turn

    def _in_data(
        self, training: TrainingSamples, vectors: Floats, offsets: Floats
    ) -> tuple[Floats, Floats]:
        """Return directions and intercepts, for tokens as they are, of exponents of scaled ones."""
        directions = vectors * training.scale
        intercepts = (offsets - directions @ training.mean) * self.n_signal[:, np.newaxis]
        return directions * self._turn[..., np.newaxis], intercepts * self._turn

    def _place(self, data: Data, vectors: Floats, offsets: Floats, *scaling: Any) -> Floats:
        """Return the scores (n, ..., K, C) of sequences by exponents of their scaled tokens."""
        n_signal = np.broadcast_to(self.n_signal[:, np.newaxis], offsets.shape).ravel()
        flat = vectors.reshape(-1, vectors.shape[-1]).T, offsets.ravel(), n_signal
        scores = data.per_sample(place_scores, *flat, self.contiguous, *scaling)
        return scores.reshape(-1, *offsets.shape) * self._turn
