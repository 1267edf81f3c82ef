"""The iteration that finds the posterior mean of the direction of the signal.

In coordinates in which the noise is white it is

    v = (Σ s·x − Σ(s − s²)·v) / (d/θ² + Σ s²)

if s are the tokens' chances to carry the signal, and these follow from v without the token's own
part of it (docs/theory, section 17). The iteration of both starts from the mean of the sequences
that carry the signal and from their longest tokens; what explains the labels best goes on.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import logit

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.posterior_passes import PosteriorSums, longest_tokens, posterior_sums
from sparsetoken.sequences.data import Data, MemoryData

_CARRIES = 0.99  # chance of a positive sample to carry the signal: labels may be wrong
_STARTS, _LEAST_STARTS = 8, 3  # tokens to start from, beside the mean
_NUMBERS = 2**25  # in all tokens, times starts, if these are more than the least
_ROUNDS = ((5, 2), (10, 1))  # iterations, after which so many of the starts go on
LAST = 20  # iterations of the best, at most
_SCARCE = 0.15  # samples a feature: with fewer, the strength may die out before the signal is found
_HELD = ((5, 2), (40, 1))  # iterations in which it is held then
MORE = 8  # iterations from the direction of another number of signal tokens
_TOLERANCE = 3e-4
_DAMPING = 0.5
_LEAST_COUNT = 1.0  # sequences of each kind, beside those that carry it
_SHARPEST = 4.0  # noise variance along v stays within this factor, either way
_COPIED = 2**26  # numbers: of so many, the sequences that may carry the signal are copied


@dataclass
class Columns:
    """What columns know after some iterations, an entry or a row each."""

    group: Indices  # which priors and weights of samples a column has
    kind: Indices  # which of its head's kinds of signal: a head is a run of columns
    frequency: Floats  # of the kind; what a head lacks to one are kinds without a direction
    n_signal: Indices
    vectors: Floats  # v, in white coordinates
    strength: Floats  # θ², what the squared length of v would be without doubt
    precision: Floats
    occupied: Floats  # fraction of the tokens that carry the signal
    sharpness: Floats  # inverse variance of the noise along v
    rate: Floats  # fraction of the sequences that carry the signal
    evidence: Floats  # log-likelihood of the labels, when it was last computed
    likelihood: Floats  # the same of unlabelled sequences, over that of noise

    @property
    def heads(self) -> Indices:
        """The first column of each head."""
        return np.flatnonzero(self.kind == 0)

    @property
    def head(self) -> Indices:
        """The number of each column's head."""
        return np.cumsum(self.kind == 0) - 1

    @property
    def all_evidence(self) -> Floats:
        """Log-likelihood of labels and unlabelled sequences, of each head."""
        return (self.evidence + self.likelihood)[self.heads]

    @property
    def strengths(self) -> Floats:
        """The signal's strength by each head: sharpness undoes the whitening, which sees it."""
        return np.sqrt(np.add.reduceat(self.strength * self.sharpness * self.frequency, self.heads))

    @property
    def squared(self) -> Floats:
        """Squared lengths of v."""
        return (self.vectors**2).sum(axis=1)

    @property
    def offsets(self) -> Floats:
        """What is added to ⟨z, v⟩ to center it, and to make log-odds of it."""
        return (self.occupied - 0.5) * self.squared

    def take(self, columns: Any) -> "Columns":
        """Return some of the columns."""
        return Columns(*(getattr(self, one.name)[columns].copy() for one in fields(self)))

    def followed_by(self, others: "Columns") -> "Columns":
        """Return these columns and others."""
        pairs = ((getattr(self, one.name), getattr(others, one.name)) for one in fields(self))
        return Columns(*map(np.concatenate, pairs))

    def put(self, columns: Any, new: "Columns") -> None:
        """Replace some of the columns."""
        for one in fields(self):
            getattr(self, one.name)[columns] = getattr(new, one.name)


class Iteration:
    """The iteration for one class and many columns: a step of all is one pass over the tokens.

    A group of columns has the samples' ``weights`` of one fit, (n, fits).
    """

    def __init__(
        self, training: TrainingSamples, weights: Floats, carries: Bools, contiguous: bool
    ) -> None:
        self.contiguous, self.least_strength = contiguous, 0.0
        self.training, self.dim = training, training.data.dim
        self.shrinkage = training.standard.noise_shrinkage
        self.data, n_unlabelled = training.all_data, len(training.all_data) - len(carries)
        labelled = weights * np.count_nonzero(weights, axis=0)
        self.positives, self.labelled = carries @ labelled, labelled.sum(axis=0)
        self.n_samples = self.labelled + n_unlabelled
        self.weights = np.concatenate([labelled, np.ones((n_unlabelled, weights.shape[1]))])
        self.priors = np.where(carries, _CARRIES, 0.0)
        self.priors = np.append(self.priors, np.full(n_unlabelled, -1.0))
        self.n_tokens = self.data.lengths @ self.weights
        self.carriers, self.rows = self.data, np.arange(len(self.data))
        if isinstance(self.data, MemoryData) and self.data.size <= _COPIED:
            self.rows = np.flatnonzero((self.priors != 0.0) & self.weights.any(axis=1))
            self.carriers = self.data.take(self.rows)

    def solve(self) -> Columns:
        """Return a column of one signal token for each group: the best of several starts."""
        n_groups = self.weights.shape[1]
        starts, groups = [np.zeros((n_groups, self.dim))], [np.arange(n_groups)]
        count = min(_STARTS, max(_LEAST_STARTS, _NUMBERS // self.training.data.size))
        longest = self.longest_tokens()
        order = np.argsort(-(longest**2).sum(axis=1), kind="stable")
        for number in range(n_groups):
            usable = self.is_usable(number)[order]
            starts.append(longest[order[usable][:count]])
            groups.append(np.full(len(starts[-1]), number))
        start = self.started(np.concatenate(starts), np.concatenate(groups))
        columns = self._best(start, _ROUNDS)
        if self.labelled.max() < _SCARCE * self.dim:
            held = self._best(start, _HELD, self.first_strength)
            better = np.flatnonzero(held.evidence > columns.evidence)
            columns.put(better, held.take(better))
        return columns

    def _best(
        self, columns: Columns, rounds: tuple[tuple[int, int], ...], least_strength: float = 0.0
    ) -> Columns:
        """Return the column of each group whose evidence is best after some rounds."""
        columns, self.least_strength = columns.take(slice(None)), least_strength
        for steps, count in rounds:
            self.run(columns, steps)
            order = np.lexsort((-columns.evidence, columns.group))
            group = columns.group[order]
            rank = np.arange(len(order)) - np.searchsorted(group, group)
            columns = columns.take(order[rank < count])
        self.least_strength = 0.0
        self.run(columns, LAST)
        return columns

    @property
    def first_strength(self) -> float:
        """θ² of a signal that can be told from the largest of the other tokens."""
        return 9.0 + 2.0 * float(np.log(np.mean(self.training.lengths)))

    def with_numbers(self, columns: Columns, n_signals: Indices) -> list[Columns]:
        """Return columns for each of these numbers of signal tokens, from those for one."""
        count, several = len(columns.group), n_signals[n_signals > 1]
        more = columns.take(np.tile(np.arange(count), len(several)))
        more.n_signal = np.repeat(several, count)
        if len(several):
            self.run(more, MORE)
        parts = iter(np.arange(len(more.group)).reshape(-1, count))
        return [columns if n == 1 else more.take(next(parts)) for n in n_signals]

    def run(self, columns: Columns, steps: int) -> None:
        """Iterate, at most so many times, and judge the columns at the end."""
        active = np.arange(len(columns.group))
        for _ in range(steps):
            moving = columns.take(active)
            moved = np.maximum.reduceat(self._step(moving), moving.heads)[moving.head]
            columns.put(active, moving)
            active = active[moved > _TOLERANCE]
            if not active.size:
                break
        sums = self._sums(columns, self.data, (self.priors, self.weights), True)
        # Scores may be too sure of themselves.
        columns.evidence = sums.evidence.max(axis=0)[columns.head]
        columns.likelihood = sums.unlabelled[1][columns.head]
        count, first, second = sums.noise
        variance = np.maximum(second / count - (first / count) ** 2, 1e-300)
        columns.sharpness = np.clip(columns.squared / variance, 1.0 / _SHARPEST, _SHARPEST)

    def in_data(self, columns: Columns) -> tuple[Floats, Floats]:
        """Return directions (columns, d) and offsets of log-odds, for tokens as they are."""
        directions, centers = self.training.standard.to_data(columns.vectors, self.shrinkage)
        offsets = (columns.offsets + centers) * columns.sharpness
        offsets += (logit(columns.rate) + np.log(columns.frequency)) / columns.n_signal
        return directions * columns.sharpness[:, np.newaxis], offsets

    def at(self, vectors: Floats, group: Indices) -> Columns:
        """Return columns of one signal token that start from vectors in white coordinates."""
        ones = np.ones(len(group))
        strength = self.first_strength * ones
        rate = (self.positives / self.labelled)[group]
        start = (self.dim / strength, 0.0 * ones, ones, rate, -np.inf * ones, 0.0 * ones)
        single = np.zeros(len(group), dtype=int), ones.copy(), np.ones(len(group), dtype=int)
        return Columns(group, *single, vectors, strength, *start)

    def started(self, tokens: Floats, group: Indices) -> Columns:
        """Return columns whose directions have seen one white token each."""
        columns = self.at(tokens, group)
        columns.vectors /= (columns.precision + 1.0)[:, np.newaxis]
        return columns

    def longest_tokens(self) -> Floats:
        """Return the longest token of each sequence that may carry the signal, white."""
        standard = self.training.standard
        return self.white(self.carriers.per_sample(longest_tokens, standard.mean, standard.scale))

    def white(self, tokens: Floats) -> Floats:
        """Return tokens in white coordinates."""
        return self.training.standard.from_data(tokens, np.ones(len(tokens)), self.shrinkage)

    def is_usable(self, group: int) -> Bools:
        """Return which of the carriers have a label, and a weight in a group."""
        return (self.priors * self.weights[:, group])[self.rows] > 0

    def _step(self, columns: Columns) -> Floats:
        """Make one step, and return by what part of its length each vector moved."""
        rows = self.priors[self.rows], self.weights[self.rows]
        sums = self._sums(columns, self.carriers, rows, False)
        precision = self.dim / columns.strength + sums.squares
        along = self.training.standard.from_data(sums.along.T, sums.total, self.shrinkage)
        reaction = sums.total * columns.occupied - (sums.total - sums.squares)
        new = (along + reaction[:, np.newaxis] * columns.vectors) / precision[:, np.newaxis]
        damping = np.where(columns.squared > 0, _DAMPING, 1.0)
        step = damping[:, np.newaxis] * (new - columns.vectors)
        columns.vectors, columns.precision = columns.vectors + step, precision
        strength = columns.squared + self.dim / precision
        columns.strength = np.maximum(strength, self.least_strength)
        columns.occupied = sums.total / self.n_tokens[columns.group]
        head, heads = columns.head, columns.heads
        counts = sums.total / columns.n_signal + _LEAST_COUNT
        share = counts / np.add.reduceat(counts, heads)[head]
        columns.frequency = share * np.add.reduceat(columns.frequency, heads)[head]
        carriers = self.positives[columns.group] + sums.unlabelled[0][head]
        columns.rate = carriers / self.n_samples[columns.group]
        return np.linalg.norm(step, axis=1) / np.sqrt(np.maximum(columns.squared, 1e-300))

    def _sums(
        self, columns: Columns, data: Data, rows: tuple[Floats, Floats], judge: bool
    ) -> PosteriorSums:
        standard = self.training.standard
        vectors, centers = standard.to_data(columns.vectors, self.shrinkage)
        geometry = standard.mean, standard.scale, np.ascontiguousarray(vectors.T), centers
        odds = columns.offsets, columns.sharpness, columns.precision
        beliefs = np.stack([*odds, columns.rate, columns.frequency])
        kind = columns.heads, columns.n_signal, columns.group, self.contiguous, judge
        return PosteriorSums(*data.total(posterior_sums, rows, geometry, (beliefs, kind)))
