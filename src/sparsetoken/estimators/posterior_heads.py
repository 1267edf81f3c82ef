"""Heads that learn as well as anything can where the model holds: posterior means."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.special import softmax

from sparsetoken._types import Floats, Indices
from sparsetoken.estimators.attention_heads import AttentionHeads
from sparsetoken.estimators.head_objective import HeadSpec
from sparsetoken.estimators.head_pooling import EvidencePooling
from sparsetoken.estimators.members import Heads, TrainingSamples
from sparsetoken.estimators.posterior_iteration import MORE, Columns, Iteration
from sparsetoken.estimators.posterior_kinds import (
    discover_kinds,
    fit_kinds,
    label_likelihood,
    with_kinds,
)
from sparsetoken.estimators.stack import Stack
from sparsetoken.sequences.sequences import Sequences

_N_SIGNALS = (1, 2, 3, 5, 8)
_LEAST_EVIDENCE = -2.0  # for several kinds, over that of one: labels held out decide between them
_CLEAR = 0.8  # chance of a number of kinds to be named rather than a smaller one
_LIKELY = 3.0  # evidence below the best: numbers of signal tokens worth a head of several kinds

Solution = tuple[Columns, Floats, Floats]
"""Columns for one class, their directions and offsets for tokens as they are."""


@dataclass(kw_only=True)
class PosteriorHeads(AttentionHeads):
    """Heads for sequences of the model: the posterior mean of the direction, by iteration."""

    kind = "posterior"
    either_class: bool = True  # whether the first of two classes may carry the signal, too
    wanted_kinds: int | None = None  # how many kinds of signal there are; None to find out
    prior: Annotated[Any, "k"] = None  # how likely these numbers of signal tokens and kinds are
    strengths: Annotated[Any, "k"] = None  # the signal's with these numbers, for the first class
    strength_errors: Annotated[Any, "k"] = None  # standard errors, from the fits without a fold
    evidence: Annotated[Any, "k"] = None  # log-likelihood of the labels with these numbers

    def fit(self, training: TrainingSamples) -> Floats:
        """Fit a head for each likely number of signal tokens, and of kinds of signal."""
        held_out = super().fit(training)
        kinds, seen = np.unique(self.n_kinds), np.isfinite(held_out).all(axis=(0, 2))
        if len(kinds) > 1:  # only samples held out tell fairly whether more directions help
            odds = held_out[:, seen] * training.signs[seen]
            likelihood = np.array([label_likelihood(one) for one in odds]) / odds.shape[2]
            best = [likelihood[self.n_kinds == k].max() for k in kinds]
            for k, part in zip(kinds, softmax(best), strict=True):
                self.prior[self.n_kinds == k] *= part / self.prior[self.n_kinds == k].sum()
        return held_out

    def refine(self, training: TrainingSamples) -> None:
        """Iterate on all samples, from the directions of some of them."""
        Heads.refine(self, training)
        for sign in np.unique(self.temperatures):
            for c in range(training.signs.shape[1]):
                self._refine_class(training, sign, c)

    def _refine_class(self, training: TrainingSamples, sign: float, c: int) -> None:
        rows, carries = np.flatnonzero(self.temperatures == sign), sign * training.signs[:, c] > 0
        weights = training.fit_weights
        iteration = Iteration(training, weights, carries, self.contiguous)
        fits = np.arange(weights.shape[1])
        place = fits[:, np.newaxis], rows, c
        vectors = sign * self.directions[place].reshape(-1, training.data.dim)
        start = training.standard.to_standard(vectors, training.standard.noise_shrinkage)
        columns = iteration.at(start, np.repeat(fits, len(rows)))
        kind = np.concatenate([np.arange(count) for count in self.n_kinds])
        numbers = self.n_signal[rows], kind[rows], self.frequencies[rows, c]
        columns.n_signal, columns.kind, columns.frequency = (np.tile(n, len(fits)) for n in numbers)
        iteration.run(columns, MORE)
        vectors, offsets = iteration.in_data(columns)
        self.directions[place] = sign * vectors.reshape(len(fits), len(rows), -1)
        self.intercepts[place] = (sign * offsets * columns.n_signal).reshape(len(fits), -1)

    @property
    def likely_kinds(self) -> int:
        """How many kinds of signal there are; the fewest, unless more are clearly likelier."""
        fewest, most = self.n_kinds.min(), self.n_kinds.max()
        return int(most if self.prior[self.n_kinds == most].sum() > _CLEAR else fewest)

    def kinds(self, sequences: Sequences, column: int) -> Indices | None:
        """Return each sequence's likeliest kind, by the most likely head."""
        likely = self.likely_kinds
        if likely == 1:
            return None
        k = int(np.argmax(np.where(self.n_kinds == likely, self.prior, -1.0)))
        u, pooling = self.token_scores(sequences.tokens), self.pooling()
        assert isinstance(pooling, EvidencePooling)
        first = self.first_directions[k]
        chances = pooling.kinds(u, sequences.offsets)[:, first : first + self.n_kinds[k], column]
        return chances.argmax(axis=1)

    def _learn(self, training: TrainingSamples, weights: Floats) -> None:
        """Find the only head, of known numbers, or heads of all likely numbers for either sign."""
        solved: list[tuple[HeadSpec, list[Solution]]] = []
        if self.specs:
            ((sign, _, _, n_signal, n_kinds),) = self.specs
            solved += self._solve(training, weights, sign, np.array([n_signal]), n_kinds)
        else:
            either = self.either_class and training.signs.shape[1] == 1 and not self.sums_evidence
            most = 1 if self.sums_evidence else max(int(self.reference_length) // 2, 1)
            numbers = np.array([n for n in _N_SIGNALS if n <= most])
            for sign in (1.0, -1.0) if either else (1.0,):
                solved += self._solve(training, weights, sign, numbers, self.wanted_kinds)
        self.specs = [spec for spec, _ in solved]
        n_fits, n_classes = weights.shape[1], training.signs.shape[1]
        shape = (n_fits, int(self.n_kinds.sum()), n_classes)
        self.directions, self.intercepts = np.empty((*shape, training.data.dim)), np.empty(shape)
        self.frequencies = np.ones(shape[1:])
        for k, (spec, of_classes) in enumerate(solved):
            rows = self.first_directions[k] + np.arange(spec.n_kinds)
            for c, (columns, vectors, offsets) in enumerate(of_classes):
                vectors = vectors.reshape(n_fits, len(rows), -1)
                biases = (offsets * columns.n_signal).reshape(n_fits, -1)
                self.directions[:, rows, c] = spec.temperature * vectors
                self.intercepts[:, rows, c] = spec.temperature * biases
                self.frequencies[rows, c] = columns.frequency[: len(rows)]
        evidence = np.array([[c.all_evidence[0] for c, *_ in found] for _, found in solved])
        self.evidence, self.prior = evidence[:, 0], np.empty(len(solved))
        for same in (self.n_kinds == k for k in np.unique(self.n_kinds)):
            self.prior[same] = softmax(evidence[same].mean(axis=1))  # `fit` weighs their numbers
        strengths = np.array([found[0][0].strengths for _, found in solved])  # of the first class
        others = strengths[:, min(1, n_fits - 1) :]  # without a fold: the jackknife
        self.strengths = strengths[:, 0]
        self.strength_errors = np.sqrt(others.shape[1] - 1.0) * others.std(axis=1)

    def _solve(
        self,
        training: TrainingSamples,
        weights: Floats,
        sign: float,
        numbers: Indices,
        n_kinds: int | None,
    ) -> list[tuple[HeadSpec, list[Solution]]]:
        """Return heads of these numbers of signal tokens and kinds, and what each class finds.

        Without a number of kinds they are of one, and of several where that does better.
        """
        carries = [sign * labels > 0 for labels in training.signs.T]
        iterations = [Iteration(training, weights, one, self.contiguous) for one in carries]
        several = [iteration.solve() for iteration in iterations]
        pairs, found = list(zip(iterations, several, strict=True)), []
        if n_kinds in (None, 1):
            found = [(1, numbers, [i.with_numbers(single, numbers) for i, single in pairs])]
        if n_kinds is None and training.folds:
            for c, (iteration, single) in enumerate(pairs):
                least = max(h.all_evidence[0] for h in found[0][2][c]) + _LEAST_EVIDENCE
                heads = discover_kinds(iteration, single, training.folds, least)
                several[c] = single if heads is None else heads
        elif n_kinds is not None and n_kinds > 1:
            several = [fit_kinds(iteration, single, n_kinds) for iteration, single in pairs]
        most = max(int(heads.kind.max()) + 1 for heads in several)
        if most > 1:
            pairs = [(i, with_kinds(h, most)) for i, h in zip(iterations, several, strict=True)]
            trials = [i.with_numbers(h.take(h.group == 0), numbers) for i, h in pairs]
            evidence = np.array([[t.all_evidence[0] for t in c] for c in trials]).sum(axis=0)
            likely = numbers[evidence > evidence.max() - _LIKELY]
            found.append((most, likely, [i.with_numbers(h, likely) for i, h in pairs]))
        common = sign, training.standard.noise_shrinkage, 0.0
        return [
            (
                HeadSpec(*common, n_signal, count),
                [(c[k], *i.in_data(c[k])) for i, c in zip(iterations, columns, strict=True)],
            )
            for count, n_signals, columns in found
            for k, n_signal in enumerate(n_signals.tolist())
        ]


def likely_kinds(stack: Stack) -> int | None:
    """Return the number of kinds of signal, None without posterior heads."""
    for member in stack.members:
        if isinstance(member, PosteriorHeads):
            return member.likely_kinds
    return None
