"""Heads that learn as well as anything can where the model of docs/theory holds.

Their directions are the posterior means that posterior_iteration.py and posterior_kinds.py find.
Nothing is minimized and there is no ridge.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from sparsetoken._types import Floats, Indices
from sparsetoken.estimators.attention_heads import AttentionHeads, HeadSpec
from sparsetoken.estimators.head_pooling import EvidencePooling
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.posterior_iteration import MORE, Columns, Iteration, noise_shrinkage
from sparsetoken.estimators.posterior_kinds import (
    discover_kinds,
    fit_kinds,
    label_likelihood,
    with_kinds,
)
from sparsetoken.estimators.stack import Stack
from sparsetoken.sequences.sequences import Sequences

_N_SIGNALS = (1, 2, 3, 5, 8)
_LEAST_EVIDENCE = 2.0  # for several kinds, over that of one
_LIKELY = 3.0  # evidence below the best: numbers of signal tokens worth a head of several kinds

Solved = dict[tuple[float, int], list[tuple[Iteration, list[Columns]]]]
"""By sign and number of kinds, for each class: columns for each number of signal tokens."""


@dataclass(kw_only=True)
class PosteriorHeads(AttentionHeads):
    """Heads for sequences of the model: the posterior mean of the direction, by iteration.

    Parameters
    ----------
    either_class : bool
        Whether the first of two classes may carry the signal, too.
    contiguous : bool
        Whether the tokens that carry it are neighbors.
    wanted_kinds : int or None
        How many kinds of signal there are; None to find out.
    """

    kind: ClassVar[str] = "posterior"
    either_class: bool = True
    wanted_kinds: int | None = None
    prior: Any = None
    """(K,): how likely the numbers of signal tokens and of kinds are, as training samples tell."""
    strengths: Any = None
    """(K,): the signal's strength with these numbers, for the first class."""
    strength_errors: Any = None
    """(K,): its standard error, from the fits without a fold."""
    evidence: Any = None
    """(K,): log-likelihood of the labels with these numbers."""
    frequencies: Any = None
    """(directions, C): how frequent each kind of signal is."""
    solved: Solved = field(default_factory=dict)
    """While fitting: what was found on the way to the specs."""

    def fit(self, training: TrainingSamples) -> Floats:
        """Fit a head for each likely number of signal tokens, and of kinds of signal."""
        held_out = super().fit(training)
        self.solved = {}
        kinds, seen = np.unique(self.n_kinds), np.isfinite(held_out).all(axis=(0, 2))
        if len(kinds) > 1:  # only samples held out tell fairly whether more directions help
            odds = held_out[:, seen] * training.signs[seen]
            likelihood = np.array([label_likelihood(one) for one in odds]) / odds.shape[2]
            best = [likelihood[self.n_kinds == k].max() for k in kinds]
            for k, part in zip(kinds, softmax(best), strict=True):
                self.prior[self.n_kinds == k] *= part / self.prior[self.n_kinds == k].sum()
        return held_out

    def kinds(self, sequences: Sequences, column: int) -> Indices | None:
        """Return each sequence's likeliest kind, by the most likely head."""
        k = int(np.argmax(self.prior))
        if self.n_kinds[k] == 1:
            return None
        u, pooling = self.scorer(column)(sequences.tokens), self.pooling()
        assert isinstance(pooling, EvidencePooling)
        first = self.first_directions[k]
        chances = pooling.kinds(u, sequences.offsets)[:, first : first + self.n_kinds[k], 0]
        return chances.argmax(axis=1)

    def kind_weights(self) -> Floats:
        """Return how frequent each direction's kind is, for the first class."""
        return self.frequencies[:, 0]

    def _choose_specs(self, training: TrainingSamples) -> list[HeadSpec]:
        either = self.either_class and training.signs.shape[1] == 1 and not self.sums_evidence
        most = 1 if self.sums_evidence else max(int(self.reference_length) // 2, 1)
        numbers = np.array([n for n in _N_SIGNALS if n <= most])
        specs, shrinkage, self.solved = [], noise_shrinkage(training), {}
        for sign in (1.0, -1.0) if either else (1.0,):
            for n_kinds, n_signals in self._choose_kinds(training, sign, numbers):
                specs += [HeadSpec(sign, shrinkage, 0.0, n, n_kinds) for n in n_signals.tolist()]
        return specs

    def _choose_kinds(
        self, training: TrainingSamples, sign: float, numbers: Indices
    ) -> list[tuple[int, Indices]]:
        """Return numbers of kinds, each with numbers of signal tokens that go with it."""
        one: list[tuple[Iteration, list[Columns]]] = []
        several: list[Columns] = []
        for labels in training.signs.T:
            carries = sign * labels > 0
            iteration = Iteration(training, training.fit_weights, carries, self.contiguous)
            columns, heads = iteration.solve(numbers), None
            least = max(one.evidence[0] + one.likelihood[0] for one in columns) + _LEAST_EVIDENCE
            if self.wanted_kinds is None and training.folds:
                heads = discover_kinds(iteration, columns[0], training.folds, least)
            elif self.wanted_kinds is not None and self.wanted_kinds > 1:
                heads = fit_kinds(iteration, columns[0], self.wanted_kinds)
            one.append((iteration, columns))
            several.append(columns[0] if heads is None else heads)
        chosen = []
        if self.wanted_kinds in (None, 1):
            self.solved[sign, 1], chosen = one, [(1, numbers)]
        n_kinds = max(int(heads.kind.max()) + 1 for heads in several)
        if n_kinds > 1:
            pairs = [(i, with_kinds(h, n_kinds)) for (i, _), h in zip(one, several, strict=True)]
            trials = [i.with_numbers(h.take(h.group == 0), numbers) for i, h in pairs]
            evidence = np.array([[t.evidence[0] + t.likelihood[0] for t in c] for c in trials])
            evidence = evidence.sum(axis=0)
            likely = numbers[evidence > evidence.max() - _LIKELY]
            self.solved[sign, n_kinds] = [(i, i.with_numbers(h, likely)) for i, h in pairs]
            chosen.append((n_kinds, likely))
        return chosen

    def _fit_columns(self, training: TrainingSamples, weights: Floats) -> tuple[Floats, Floats]:
        n_fits, n_classes = weights.shape[1], training.signs.shape[1]
        shape = (n_fits, int(self.n_kinds.sum()), n_classes)
        directions, intercepts = np.empty((*shape, training.data.dim)), np.empty(shape)
        frequencies = np.ones(shape[1:])
        evidence, strengths = np.empty((2, n_fits, len(self.specs), n_classes))
        for heads, c, sign in self._found_together(n_classes):
            if self.solved:
                iteration, found = self.solved[sign, self.specs[heads[0]].n_kinds][c]
            else:
                iteration, found = self._solve(training, weights, heads, c, sign)
            for k, columns in zip(heads, found, strict=True):
                rows = self.first_directions[k] + np.arange(self.n_kinds[k])
                vectors, offsets = iteration.in_data(columns)
                directions[:, rows, c] = sign * vectors.reshape(n_fits, len(rows), -1)
                offsets = sign * offsets * columns.n_signal
                intercepts[:, rows, c] = offsets.reshape(n_fits, -1)
                frequencies[rows, c] = columns.frequency[: len(rows)]
                evidence[:, k, c] = (columns.evidence + columns.likelihood)[columns.heads]
                squared = columns.strength * columns.sharpness * columns.frequency
                strengths[:, k, c] = np.sqrt(np.add.reduceat(squared, columns.heads))
        self.prior, by_head = np.empty(len(self.specs)), evidence[0].mean(axis=1)
        for same in (self.n_kinds == k for k in np.unique(self.n_kinds)):
            self.prior[same] = softmax(by_head[same])  # `fit` weighs the numbers of kinds
        self.strengths, self.evidence = strengths[0, :, 0], evidence[0, :, 0]
        self.frequencies = frequencies
        others = strengths[min(1, len(strengths) - 1) :, :, 0]  # without a fold: the jackknife
        self.strength_errors = np.sqrt(len(others) - 1.0) * others.std(axis=0)
        return directions, intercepts

    def _solve(
        self, training: TrainingSamples, weights: Floats, heads: Indices, c: int, sign: float
    ) -> tuple[Iteration, list[Columns]]:
        """Return what finds heads with known numbers, and the columns of each."""
        iteration = Iteration(training, weights, sign * training.signs[:, c] > 0, self.contiguous)
        n_kinds, numbers = int(self.n_kinds[heads[0]]), self.n_signal[self.first_directions[heads]]
        if n_kinds == 1:
            return iteration, iteration.solve(numbers)
        (single,) = iteration.solve(np.array([1]))
        return iteration, iteration.with_numbers(fit_kinds(iteration, single, n_kinds), numbers)

    def refine(self, training: TrainingSamples) -> None:
        """Iterate on all samples, from the directions of some of them."""
        kind = np.concatenate([np.arange(count) for count in self.n_kinds])
        head = np.repeat(np.arange(len(self.specs)), self.n_kinds)
        weights = training.weights[:, np.newaxis]
        for heads, c, sign in self._found_together(training.signs.shape[1]):
            carries = sign * training.signs[:, c] > 0
            iteration = Iteration(training, weights, carries, self.contiguous)
            rows = np.flatnonzero(np.isin(head, heads))
            vectors = sign * self.directions[rows, c]
            start = training.standard.to_standard(vectors, iteration.shrinkage)
            columns = iteration.at(start, np.zeros(len(rows), dtype=int))
            columns.n_signal, columns.kind = self.n_signal[rows], kind[rows]
            columns.frequency = self.frequencies[rows, c]
            iteration.run(columns, MORE)
            vectors, offsets = iteration.in_data(columns)
            self.directions[rows, c] = sign * vectors
            self.intercepts[rows, c] = sign * offsets * columns.n_signal

    def prior_of(self, count: int) -> Floats:
        """Return how likely each head is, as the training samples tell."""
        return self.prior

    def _found_together(self, n_classes: int) -> list[tuple[Indices, int, float]]:
        """Return heads of one sign and one number of kinds, with each class and the sign."""
        ways: dict[tuple[float, int], list[int]] = {}
        for k, spec in enumerate(self.specs):
            ways.setdefault((spec.temperature, spec.n_kinds), []).append(k)
        pairs = product(ways.items(), range(n_classes))
        return [(np.array(heads), c, sign) for ((sign, _), heads), c in pairs]


def likely_kinds(stack: Stack) -> int:
    """Return the most likely number of kinds of signal, one without posterior heads."""
    for member in stack.members:
        if isinstance(member, PosteriorHeads):
            kinds = np.unique(member.n_kinds)
            return int(kinds[np.argmax([member.prior[member.n_kinds == k].sum() for k in kinds])])
    return 1
