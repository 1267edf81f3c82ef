"""Heads that learn as well as anything can where the model of docs/theory holds.

The direction v of the signal, in coordinates in which the noise is white, has the posterior mean

    v = (Σ s·x − Σ(s − s²)·v) / (d/θ² + Σ s²)

if s are the tokens' chances to carry the signal, and these follow from v without the token's own
part of it (docs/theory, section 17). The iteration of both starts from the mean of the sequences
that carry the signal and from their longest tokens, since signals are long; what explains the
labels best goes on. The strength θ, the noise along v and the mean of the tokens without signal are
found on the way. Nothing is minimized and there is no ridge.
"""

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, gammaln, softmax

from sparsetoken.estimators.attention_heads import LARGEST_COVARIANCE, AttentionHeads, HeadSpec
from sparsetoken.estimators.members import COPIED, Member, TokenPart, TrainingSamples
from sparsetoken.estimators.posterior_passes import (
    Directions,
    PosteriorSums,
    join_subsets,
    place_scores,
    place_tokens,
    posterior_sums,
)
from sparsetoken.inspection.measures import mean_auc
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.passes import longest_tokens
from sparsetoken.sequences.sequences import Sequences

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_N_SIGNALS = (1, 2, 3, 5, 8)
_CARRIES = 0.99  # chance of a positive sample to carry the signal: labels may be wrong
_LEAST_SHRINKAGE = 0.3  # as that of other heads
_STARTS = 8  # tokens to start from, beside the mean
_NUMBERS = 2**25  # in all tokens, times starts: with many samples the mean is a good start
_ROUNDS = ((5, 2), (10, 1))  # iterations, after which so many of the starts go on
_LAST = 20  # iterations of the best, at most
_MORE = 8  # iterations from the direction of another number of signal tokens
_TOLERANCE = 3e-4
_DAMPING = 0.5
_SHARPEST = 4.0  # the noise along v may have this part of the variance, or be so much larger


@dataclass
class _Columns:
    """What columns know after some iterations, an entry or a row each."""

    group: Indices
    """Which priors and weights of samples a column has."""
    n_signal: Indices
    vectors: Floats
    """v, in white coordinates."""
    strength: Floats
    """θ², what the squared length of v would be without doubt."""
    precision: Floats
    occupied: Floats
    """Fraction of the tokens that carry the signal."""
    sharpness: Floats
    """Inverse variance of the noise along v."""
    evidence: Floats
    """Log-likelihood of the labels, when it was last computed."""

    @property
    def squared(self) -> Floats:
        """Squared lengths of v."""
        lengths: Floats = (self.vectors**2).sum(axis=1)
        return lengths

    @property
    def offsets(self) -> Floats:
        """What is added to ⟨z, v⟩ to center it, and to make log-odds of it."""
        return (self.occupied - 0.5) * self.squared

    def take(self, columns: Any) -> "_Columns":
        """Return some of the columns."""
        return _Columns(*(getattr(self, one.name)[columns].copy() for one in fields(self)))

    def put(self, columns: Any, new: "_Columns") -> None:
        """Replace some of the columns."""
        for one in fields(self):
            getattr(self, one.name)[columns] = getattr(new, one.name)


class _Iteration:
    """The iteration for one class and many columns: a step of all is one pass over the tokens.

    Parameters
    ----------
    training : TrainingSamples
        The samples.
    weights : ndarray of shape (n, fits)
        Their weights in each fit; a group of columns has those of one fit.
    carries : ndarray of bool, shape (n,)
        Which of them may carry the signal.
    contiguous : bool
        Whether the tokens that do are neighbors.
    """

    def __init__(
        self,
        training: TrainingSamples,
        weights: Floats,
        carries: NDArray[np.bool_],
        contiguous: bool,
    ) -> None:
        self.contiguous = contiguous
        self.training, self.dim = training, training.data.dim
        self.shrinkage = _shrinkage(training)
        self.weights = weights * np.count_nonzero(weights, axis=0)
        self.priors = np.where(carries, _CARRIES, 0.0)
        self.n_tokens = training.data.lengths @ self.weights
        self.carriers, self.rows = training.data, np.arange(len(carries))
        if isinstance(training.data, MemoryData) and training.data.size <= COPIED:
            self.rows = np.flatnonzero(carries & self.weights.any(axis=1))
            self.carriers = training.data.take(self.rows)
        self.unlabelled = training.unlabelled
        if self.unlabelled is not None:
            self.rate = np.full(len(self.unlabelled), self.priors @ training.weights)
            self.n_tokens = self.n_tokens + self.unlabelled.lengths.sum()

    def solve(self, n_signals: list[int]) -> list[_Columns]:
        """Return a column for each group, for each number of signal tokens."""
        columns = self._begin()
        for steps, count in _ROUNDS:
            self.run(columns, steps)
            columns = columns.take(_best(columns, count))
        self.run(columns, _LAST)
        count = len(columns.group)
        more = columns.take(np.tile(np.arange(count), len(n_signals) - 1))
        more.n_signal = np.repeat(n_signals[1:], count).astype(np.int64)
        if len(n_signals) > 1:
            self.run(more, _MORE)
        parts = np.arange(len(more.group)).reshape(-1, count)
        return [columns, *(more.take(part) for part in parts)]

    def run(self, columns: _Columns, steps: int) -> None:
        """Iterate, at most so many times, and judge the columns at the end."""
        active = np.arange(len(columns.group))
        for _ in range(steps):
            moving = columns.take(active)
            moved = self._step(moving)
            columns.put(active, moving)
            active = active[moved > _TOLERANCE]
            if not active.size:
                break
        sums = self._sums(columns, self.training.data, (self.priors, self.weights), True)
        columns.evidence = sums.evidence.max(axis=0)  # scores may be too sure of themselves
        count, first, second = sums.noise
        variance = np.maximum(second / count - (first / count) ** 2, 1e-300)
        columns.sharpness = np.clip(columns.squared / variance, 1.0 / _SHARPEST, _SHARPEST)

    def directions(self, columns: _Columns) -> tuple[Floats, Floats]:
        """Return directions (columns, d) and offsets of log-odds, for scaled tokens."""
        rows = self.training.standard.to_scaled(columns.vectors, self.shrinkage)
        return rows * columns.sharpness[:, np.newaxis], columns.offsets * columns.sharpness

    def at(self, vectors: Floats, group: Indices, n_signal: int) -> _Columns:
        """Return columns that start from vectors in white coordinates."""
        length = max(float(np.mean(self.training.data.lengths)) / n_signal, 1.0)
        ones = np.ones(len(group))
        strength = (9.0 + 2.0 * np.log(length)) * ones
        counts = np.full(len(group), n_signal)
        known = (self.dim / strength, 0.0 * ones, ones, -np.inf * ones)
        return _Columns(group, counts, vectors, strength, *known)

    def _begin(self) -> _Columns:
        """Return columns that know nothing, and that start from the longest tokens."""
        n_groups = self.weights.shape[1]
        starts, group = [np.zeros((n_groups, self.dim))], [np.arange(n_groups)]
        count = min(_STARTS, _NUMBERS // self.training.data.size)
        if count > 0:
            longest = self.carriers.per_sample(longest_tokens, *self.training.pass_scale)
            longest = self.training.standard.from_scaled(longest, self.shrinkage)
            order = np.argsort(-(longest**2).sum(axis=1), kind="stable")
            for number, weights in enumerate(self.weights.T):
                usable = (self.priors * weights)[self.rows[order]] > 0
                starts.append(longest[order[usable][:count]])
                group.append(np.full(len(starts[-1]), number))
        columns = self.at(np.concatenate(starts), np.concatenate(group), 1)
        columns.vectors /= (columns.precision + 1.0)[:, np.newaxis]
        return columns

    def _step(self, columns: _Columns) -> Floats:
        """Make one step, and return by what part of its length each vector moved."""
        rows = self.priors[self.rows], self.weights[self.rows]
        sums = self._sums(columns, self.carriers, rows, False)
        if self.unlabelled is not None:
            ones = np.ones((len(self.rate), self.weights.shape[1]))
            more = self._sums(columns, self.unlabelled, (self.rate, ones), False)
            sums = PosteriorSums(*(a + b for a, b in zip(sums, more, strict=True)))
        precision = self.dim / columns.strength + sums.squares
        along = self.training.standard.from_scaled(sums.along.T, self.shrinkage)
        own = sums.total * columns.occupied - (sums.total - sums.squares)
        new = (along + own[:, np.newaxis] * columns.vectors) / precision[:, np.newaxis]
        damping = np.where(columns.squared > 0, _DAMPING, 1.0)
        step = damping[:, np.newaxis] * (new - columns.vectors)
        columns.vectors, columns.precision = columns.vectors + step, precision
        columns.strength = columns.squared + self.dim / precision
        columns.occupied = sums.total / self.n_tokens[columns.group]
        moved: Floats = np.linalg.norm(step, axis=1) / np.sqrt(np.maximum(columns.squared, 1e-300))
        return moved

    def _sums(
        self, columns: _Columns, data: Data, rows: tuple[Floats, Floats], judge: bool
    ) -> PosteriorSums:
        vectors = self.training.standard.to_scaled(columns.vectors, self.shrinkage)
        directions = Directions(
            *self.training.pass_scale,
            np.ascontiguousarray(vectors.T),
            columns.offsets,
            columns.sharpness,
            columns.precision,
            columns.n_signal,
            columns.group,
            self.contiguous,
        )
        return PosteriorSums(*data.total(posterior_sums, rows, directions, judge))


def _best(columns: _Columns, count: int) -> Indices:
    """Return the columns with the most evidence, so many of each group, group by group."""
    order = np.lexsort((-columns.evidence, columns.group))
    rank = np.arange(len(order)) - np.searchsorted(columns.group[order], columns.group[order])
    return order[rank < count]


def _shrinkage(training: TrainingSamples) -> float:
    if training.data.dim > LARGEST_COVARIANCE:
        return 1.0
    return max(training.standard.noise_shrinkage, _LEAST_SHRINKAGE)


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
        shrinkage = _shrinkage(training)
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
        carries: NDArray[np.bool_],
        n_signals: list[int],
    ) -> tuple[Floats, Floats, Floats]:
        """Return directions, offsets and evidence, by numbers of signal tokens and fits."""
        iteration = _Iteration(training, weights, carries, self.contiguous)
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
            iteration = _Iteration(training, weights, turn * sign > 0, self.contiguous)
            heads = np.flatnonzero(turns == turn)
            start = training.standard.to_standard(scaled[heads, c], iteration.shrinkage)
            columns = iteration.at(start, np.zeros(len(heads), dtype=int), 1)
            columns.n_signal = self._n_signal[heads]
            iteration.run(columns, _MORE)
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

    def summarize(self, token: NDArray[Any]) -> Any:
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
