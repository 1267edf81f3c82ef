"""Heads that learn as well as anything can where the model of docs/theory holds.

Their direction is the posterior mean that posterior_iteration.py finds. Nothing is minimized and
there is no ridge.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.special import comb, gammaln, softmax

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimators.attention_heads import AttentionHeads, HeadSpec
from sparsetoken.estimators.members import Member, TokenPart, TrainingSamples
from sparsetoken.estimators.posterior_iteration import MORE, Iteration, noise_shrinkage
from sparsetoken.estimators.posterior_passes import join_subsets, place_scores, place_tokens
from sparsetoken.inspection.measures import mean_auc
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.sequences import Sequences

_N_SIGNALS = (1, 2, 3, 5, 8)


@dataclass
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

    def fit(self, training: TrainingSamples) -> Floats:
        """Learn the directions from all samples and without each fold."""
        n_classes = training.signs.shape[1]
        self.typical = float(np.median(training.data.lengths))
        turns = (1.0, -1.0) if self.both and n_classes == 1 and not self.adds else (1.0,)
        most = max(int(np.median(training.data.lengths)) // 2, 1)
        n_signals = [r for r in _N_SIGNALS if r <= most and not (self.adds and r > 1)]
        shrinkage = noise_shrinkage(training)
        self.specs = [HeadSpec(turn, shrinkage, 0.0, r) for turn in turns for r in n_signals]
        parts = [
            [
                self._solve(training, training.fit_weights, turn * c > 0, n_signals)
                for c in training.signs.T
            ]
            for turn in turns
        ]
        # By turns, classes, numbers of signal tokens and fits; to fits, heads and classes.
        vectors, offsets, evidence = (
            np.array([[solved[part] for solved in turn] for turn in parts]) for part in range(3)
        )
        n_fits = vectors.shape[3]
        order = (3, 0, 2, 1)
        vectors = vectors.transpose(*order, 4).reshape(n_fits, len(self.specs), n_classes, -1)
        offsets = offsets.transpose(order).reshape(n_fits, len(self.specs), n_classes)
        self.prior = softmax(evidence[..., 0].mean(axis=1).ravel())
        heads = [self._in_data(training, *fit) for fit in zip(vectors, offsets, strict=True)]
        (self.directions, self.intercepts), self.folds = heads[0], [list(h) for h in heads[1:]]
        return self._judge(training, self._training_scores(training, vectors, offsets))

    def _solve(
        self,
        training: TrainingSamples,
        weights: Floats,
        carries: Bools,
        n_signals: list[int],
    ) -> tuple[Floats, Floats, Floats]:
        """Return directions, offsets and evidence, by numbers of signal tokens and fits."""
        iteration = Iteration(training, weights, carries, self.contiguous)
        results = iteration.solve(n_signals)
        directions = [iteration.directions(columns) for columns in results]
        vectors, offsets = (np.stack(part) for part in zip(*directions, strict=True))
        return vectors, offsets, np.stack([columns.evidence for columns in results])

    def refine(self, training: TrainingSamples) -> None:
        """Iterate on all samples, from the directions of some of them."""
        vectors, offsets = self._exponents()
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.nan_to_num(vectors / training.scale, posinf=0.0, neginf=0.0)
        weights, turns = training.weights[:, np.newaxis], self._temperatures
        for turn, (c, sign) in product(np.unique(turns), enumerate(training.signs.T)):
            iteration = Iteration(training, weights, turn * sign > 0, self.contiguous)
            heads = np.flatnonzero(turns == turn)
            start = training.standard.to_standard(scaled[heads, c], iteration.shrinkage)
            columns = iteration.at(start, np.zeros(len(heads), dtype=int), 1)
            columns.n_signal = self._n_signal[heads]
            iteration.run(columns, MORE)
            scaled[heads, c], offsets[heads, c] = iteration.directions(columns)
        self.directions, self.intercepts = self._in_data(training, scaled, offsets)

    def half_fits(
        self, training: TrainingSamples, spec: HeadSpec, halves: Floats
    ) -> tuple[Floats, float]:
        """Fit a kind of head to two halves of the samples, as other heads are."""
        n_signals = [1] if spec.n_signal == 1 else [1, spec.n_signal]
        solved = [
            self._solve(training, halves, spec.temperature * sign > 0, n_signals)
            for sign in training.signs.T
        ]
        vectors, offsets = (np.stack([s[part][-1] for s in solved], axis=1) for part in range(2))
        alone = replace(self, specs=[spec])
        scores = alone._training_scores(training, vectors[:, np.newaxis], offsets[:, np.newaxis])
        other = [(halves[:, half] == 0) & (training.weights > 0) for half in range(2)]
        aucs = [mean_auc(scores[half, 0][o], training.signs[o]) for half, o in enumerate(other)]
        return spec.temperature * vectors, float(np.mean(aucs))

    def prior_of(self, count: int) -> Floats:
        """Return how likely each head is, as the training samples tell."""
        prior: Floats = self.prior
        return prior

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, K, C) of sequences."""
        vectors, offsets = self._exponents()
        flat = vectors.reshape(-1, vectors.shape[-1]).T, offsets.ravel(), self._flat_n_signal
        scores = data.per_sample(place_scores, *flat, self.contiguous)
        return self._turn * scores.reshape(-1, *offsets.shape) + self.by_length(data.lengths)

    def by_length(self, lengths: Any) -> Floats:
        """Return what turns means over choices of tokens into sums, (n, K, 1)."""
        lengths = np.reshape(lengths, (-1, 1))
        ways, usual = (
            gammaln(n + 1) - gammaln(n - np.minimum(self._n_signal, n) + 1)
            for n in (lengths, np.full((1, 1), self.typical))
        )
        return self._turn * (ways - usual)[..., np.newaxis] * self.adds

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return attention and contribution of every token: they divide the score by attention."""
        vectors, offsets = self._exponents()
        n_signal, turn = self._n_signal, self._turn[:, 0]
        attention, scores = place_tokens(
            sequences, vectors[:, column].T, offsets[:, column], n_signal, self.contiguous
        )
        baseline = turn * n_signal * (vectors[:, column] @ center + offsets[:, column])
        scores = turn * scores + self.by_length(sequences.lengths)[..., 0]
        apart = np.repeat(scores - baseline, sequences.lengths, axis=0)
        return TokenPart(attention, attention * apart, baseline)

    def summarize(self, token: Array) -> Any:
        """Return the number of tokens, the largest score, and sums over subsets of the tokens."""
        if self.contiguous:  # the order of the tokens matters
            return Member.summarize(self, token)
        vectors, offsets = self._exponents()
        sums = np.zeros((int(self._n_signal.max()) + 1, *offsets.shape))
        sums[:2] = 1.0
        return 1, vectors @ token + offsets, sums

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others."""
        return earlier + later if self.contiguous else join_subsets(earlier, later)

    def scores_of(self, summary: Any) -> Floats:
        """Return the scores (K, C) of the tokens of a summary."""
        if self.contiguous:
            return Member.scores_of(self, summary)
        count, largest, sums = summary
        size = np.minimum(self._n_signal, count)
        chosen = np.maximum(sums[size, np.arange(len(size))], 1e-300)
        log_mean = np.log(chosen) - np.log(comb(count, size))[:, np.newaxis]
        scores: Floats = self._turn * (log_mean + size[:, np.newaxis] * largest)
        return scores + self.by_length(count)[0]

    @property
    def _turn(self) -> Floats:
        return self._temperatures[:, np.newaxis]

    @property
    def _n_signal(self) -> Indices:
        return np.array([spec.n_signal for spec in self.specs])

    @property
    def _flat_n_signal(self) -> Indices:
        return np.repeat(self._n_signal, self.intercepts.shape[1])

    def _exponents(self) -> tuple[Floats, Floats]:
        """Return what a token's exponent is: direction (K, C, d) and offset (K, C)."""
        per_token = self.intercepts / self._n_signal[:, np.newaxis]
        return self.directions * self._turn[..., np.newaxis], per_token * self._turn

    def _in_data(
        self, training: TrainingSamples, vectors: Floats, offsets: Floats
    ) -> tuple[Floats, Floats]:
        """Return directions and intercepts, for tokens as they are, of exponents of scaled ones."""
        directions = vectors * training.scale
        intercepts = (offsets - directions @ training.mean) * self._n_signal[:, np.newaxis]
        return directions * self._turn[..., np.newaxis], intercepts * self._turn

    def _training_scores(
        self, training: TrainingSamples, vectors: Floats, offsets: Floats
    ) -> Floats:
        """Return the scores (fits, K, n, C) of the samples by exponents of scaled tokens."""
        n_fits, _, n_classes = offsets.shape
        n_signal = np.tile(np.repeat(self._n_signal, n_classes), n_fits)
        flat = vectors.reshape(-1, vectors.shape[-1]).T, offsets.ravel(), n_signal
        scores = training.data.per_sample(
            place_scores, *flat, self.contiguous, *training.pass_scale
        )
        scores = scores.reshape(-1, *offsets.shape) * self._turn
        return np.moveaxis(scores, 0, 2)
