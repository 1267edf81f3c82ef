"""Thresholds that hold a false-positive rate, at any length, over windows and along streams."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.sequences import Sequences

_KEPT_NUMBERS = 2**21  # in the tokens that thresholds for other lengths are drawn from
_DRAWS = 4000  # sequences that such a threshold is the quantile of
_STREAMS = 400  # streams, whose scores are looked at many times each
_SCORED, _FEWEST = 2**23, 100  # tokens in all of them; but never fewer sequences than that
_BATCH_NUMBERS = 2**22
_IN_TAIL = 10.0  # tokens or scores that are enough to tell how rare they are
_LARGEST = 15.0  # scores whose tail is continued; with 10 or 20 rates are as right
_FACTOR = 1.5  # by which a rate may be off in one of five cases, and be said to hold
_LEAST_BEYOND = 0.25  # expected number of negatives that decide; with fewer there is a warning


@dataclass
class Reference:
    """What ``fit`` remembers for thresholds: held-out scores, and some of its tokens.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        Scores of samples when they were held out; NaN for those that never were.
    classes : ndarray of int, shape (n,)
        Their classes.
    tokens : ndarray of shape (N, d), or None
        Training tokens as they were given; None in a model saved without them.
    offsets : ndarray of int, shape (m + 1,)
        Where the sequences of these tokens begin and end.
    kept_classes, kept_folds : ndarray of int, shape (m,)
        The class of each of these sequences, and the fold that held it out, or −1.
    lengths : ndarray of shape (2,)
        Tokens of a sequence: the mean, and the length that a tenth of them stays below.
    """

    scores: Any
    classes: Any
    tokens: Any
    offsets: Any
    kept_classes: Any
    kept_folds: Any
    lengths: Any

    def held_out(self, column: int, is_negative: Bools) -> Floats:
        """Return a column of scores of the negatives that were held out."""
        scores: Floats = self.scores[is_negative[self.classes], column]
        return scores[np.isfinite(scores)]


def remember(
    data: Data, index: Indices, folds: list[Any], held_out: Floats, order: Indices
) -> Reference:
    """Return the reference of a fit to these samples; tokens are kept in this random order."""
    rows = np.sort(order[np.cumsum(data.lengths[order]) * data.dim <= _KEPT_NUMBERS])
    kept = data.take(rows).sequences if len(rows) else Sequences(np.empty((0, data.dim)), [0])
    fold_of = np.full(len(index), -1)
    for number, fold in enumerate(folds):
        fold_of[fold.held_out] = number
    return Reference(
        held_out,
        index,
        kept.tokens,
        kept.offsets,
        index[rows],
        fold_of[rows],
        np.array([np.mean(data.lengths), np.quantile(data.lengths, 0.1)]),
    )


class Scoring(NamedTuple):
    """How sequences of a length are scored: whole, by their windows, or as a stream at checks."""

    column: int
    """Of the scores that are compared with a threshold."""
    direction: Floats
    """(d,), in which rare tokens stand out."""
    length: int
    window: int | None = None
    checks: Indices | None = None

    def scores(self, stack: Any, data: MemoryData) -> Floats:
        """Return the score of each sequence."""
        if self.checks is None:
            return windowed_scores(stack.scores, data, self.window)[:, self.column]
        return stream_scores(stack.scores, data, self.window, self.checks)[:, self.column]

    @property
    def n_scored(self) -> int:
        """Tokens that are scored in a sequence, each counted as often as it is."""
        if self.checks is None:
            return self.length
        return int(np.minimum(self.checks, self.window or self.length).sum())


def held_out_threshold(scores: Floats, fpr: float) -> Estimate:
    """Return the score that a fraction of the held-out negatives exceeds."""
    quantile = upper_quantile(scores, fpr)
    return _with_rate(quantile, quantile.uncertainty, scores, fpr, len(scores) * fpr)


def drawn_threshold(
    stack: Any, reference: Reference, is_negative: Bools, scoring: Scoring, fpr: float
) -> Estimate:
    """Return the upper quantile of scores of sequences made of negatives, one after the other.

    Their tokens were seen in ``fit``. How much higher new ones score is known from the fits without
    a fold: by how much they rank the fold's tokens above the others, more than the fit to all does,
    which has seen both.
    """
    if reference.tokens is None:
        raise ValueError(
            "a threshold for another length needs training tokens, and this model was saved "
            "without them (tokens=False)"
        )
    rows = np.flatnonzero(is_negative[reference.kept_classes])
    sequences, folds = (
        Sequences(reference.tokens, reference.offsets)[rows],
        reference.kept_folds[rows],
    )
    if not len(sequences):
        return upper_quantile(np.empty(0), fpr)
    length = scoring.length
    rng = np.random.default_rng(0)
    draws = _DRAWS if scoring.n_scored == length else _STREAMS
    draws = min(draws, max(_FEWEST, _SCORED // max(scoring.n_scored, length)))
    batch = max(1, _BATCH_NUMBERS // (length * sequences.dim))

    def scores(sequences: Sequences, draws: int, *stacks: Any) -> Floats:
        """Return the scores of the same sequences by several stacks, a row each."""
        source, parts = TailResampler(sequences, scoring.direction), []
        for low in range(0, draws, batch):
            count = min(batch, draws - low)
            drawn = source.draw(count * length, rng)
            data = MemoryData(Sequences(drawn, np.arange(count + 1) * length))
            parts.append([scoring.scores(one, data) for one in stacks])
        return np.concatenate(parts, axis=1)

    beyond = min(len(sequences.tokens) / length, len(sequences)) * fpr
    if beyond < _LEAST_BEYOND:
        _warn_of_rare_tokens(sequences, length, fpr)
    drawn = scores(sequences, draws, stack)[0]
    quantile = upper_quantile(drawn, fpr)
    gaps, levels = [], []
    n_folds = int(reference.kept_folds.max(initial=-1)) + 1
    for fold in np.unique(folds[folds >= 0]):
        inside = folds == fold
        if not inside.all():
            stacks = stack.without_fold(int(fold)), stack
            fewer = draws // (2 * n_folds)
            new, old = (scores(sequences[rows], fewer, *stacks) for rows in (inside, ~inside))
            gaps.append(_gap(new, quantile) - _gap(old, quantile))
            levels.append(upper_quantile(new[1], fpr))
    if not gaps:
        return _with_rate(quantile, quantile.uncertainty, drawn, fpr, beyond)
    error = float(np.sqrt((np.var(gaps) + np.var(levels)) / max(1, len(gaps) - 1)))
    return _with_rate(quantile + float(np.mean(gaps)), error, drawn, fpr, beyond)


def _warn_of_rare_tokens(negatives: Sequences, length: int, fpr: float) -> None:
    needed = _IN_TAIL * length / fpr / np.mean(negatives.lengths)
    warnings.warn(
        f"a threshold for fpr={fpr:g} at {length:,} tokens depends on tokens as rare as one in "
        f"{length / fpr:,.0f}, but fit kept {len(negatives.tokens):,} tokens of negatives: the "
        "rate can be several times off; the result is marked converged=False. About "
        f"{needed:,.0f} negatives like those of fit would be enough",
        ConvergenceWarning,
        stacklevel=5,
    )


def _gap(scores: Floats, at: float) -> float:
    """Return by how much quantiles of the first row exceed those of the second, which are ``at``.

    It is the line through the larger half, where thresholds lie: the gap grows with the score.
    """
    one, other = np.sort(scores)[:, scores.shape[1] // 2 :]
    spread = other - other.mean()
    slope = float(spread @ one / max(float(spread @ spread), 1e-300))
    return float(one.mean() + slope * (at - other.mean()) - at)


def _with_rate(
    threshold: float, error: float, scores: Floats, rate: float, beyond: float
) -> Estimate:
    """Return a threshold with the interval that the true rate lies in, in 8 of 10 cases.

    The rate is as uncertain as the threshold, and as the number of negatives that tell.
    """
    factor = np.log(_FACTOR)
    low, high = (float(upper_quantile(scores, min(rate * f, 0.99))) for f in (_FACTOR, 1 / _FACTOR))
    of_log = max(error * 2.0 * factor / max(high - low, 1e-300), 1.0 / np.sqrt(beyond))
    width = min(float(ndtri(0.9)) * of_log, 700.0)
    interval = float(rate * np.exp(-width)), min(float(rate * np.exp(width)), 1.0)
    return Estimate(threshold, error, bool(width <= factor), rate_interval=interval)


def windowed_scores(score: Callable[[Data], Floats], data: Data, window: int | None) -> Floats:
    """Return the largest score over windows of at most ``window`` tokens of each sequence."""
    if window is None:
        return score(data)
    if not isinstance(data, MemoryData):
        raise ValueError("window needs X in memory or in a folder, got a Dask array")
    counts, ends = -(-data.lengths // window), np.cumsum(data.lengths)
    first = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(first, counts)
    lengths, starts, parts = (
        np.repeat(a, counts) for a in (data.lengths, ends - data.lengths, counts)
    )
    cuts = np.append(starts + within * lengths // parts, ends[-1])
    return np.maximum.reduceat(score(data.cut(cuts)), first)


def stream_scores(
    score: Callable[[Data], Floats], data: MemoryData, window: int | None, checks: Indices
) -> Floats:
    """Return the largest score that a stream of each sequence has at any of its checks.

    All sequences have the same length, that of the last check.
    """
    tokens = data.sequences.tokens
    starts = np.arange(len(data)) * checks[-1]
    sizes = checks if window is None else np.minimum(checks, window)
    at_once = np.cumsum(sizes) * len(data) * data.dim // _BATCH_NUMBERS
    largest = np.full((1, 1), -np.inf)
    for ends in np.split(checks, 1 + np.flatnonzero(np.diff(at_once))):
        sizes = np.tile(ends if window is None else np.minimum(ends, window), len(data))
        first = np.add.outer(starts, ends).ravel() - sizes
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, sizes)
        scores = score(MemoryData(Sequences(tokens[rows], offsets)))
        largest = np.maximum(largest, scores.reshape(len(data), len(ends), -1).max(axis=1))
    return largest


class TailResampler:
    """Sequences to draw from; the rarest tokens along a direction stand for others as rare.

    Long sequences hold rarer tokens than were seen. So with the probability that a new token is
    unseen (Good–Turing), a top token is moved to a score drawn from a normal tail.
    """

    def __init__(self, sequences: Sequences, direction: Floats) -> None:
        self.sequences, tokens = sequences, sequences.tokens
        n_tail = min(int(_IN_TAIL), len(tokens) // 20)
        if n_tail < 2:
            self.rank = None
            return
        scores = tokens @ direction
        order = np.argsort(scores)[::-1]
        self.rank = np.full(len(tokens), -1)
        self.rank[order[:n_tail]] = np.arange(n_tail)
        self.top = scores[order[:n_tail]]
        self.rarity = n_tail / len(tokens)
        # Of two slopes, of a line through the upper scores and of the normal law with the mean of
        # the rarest, the steeper one: tails may be heavy.
        rarest = (self.top[:-1].mean() - self.top[-1]) / _mean_excess(self.rarity)
        self.slope = max(rarest, _upper_slope(scores, self.rarity))
        seen = np.unique(scores, return_counts=True)[1]
        self.unseen_mass = float((seen == 1).sum()) / len(tokens)
        along = (scores - scores.mean()) @ (tokens - tokens.mean(axis=0))
        self.shift_direction = along / max(float(along @ direction), 1e-300)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Return so many tokens: whole sequences, one after the other."""
        rows = self._rows(count, rng)
        drawn = self.sequences.tokens[rows]
        if self.rank is None:
            return drawn
        moved = np.flatnonzero((self.rank[rows] >= 0) & (rng.random(count) < self.unseen_mass))
        deviates = -ndtri(self.rarity * rng.random(len(moved)))
        scores = self.top[-1] + self.slope * (deviates + ndtri(self.rarity))
        far = scores - self.top[self.rank[rows[moved]]]
        drawn[moved] += (far[:, np.newaxis] * self.shift_direction).astype(drawn.dtype)
        return drawn

    def _rows(self, count: int, rng: np.random.Generator) -> Indices:
        lengths, starts = self.sequences.lengths, self.sequences.offsets[:-1]
        picked = rng.integers(len(lengths), size=2 + int(2 * count / lengths.mean()))
        while lengths[picked].sum() < count + lengths.max():
            picked = np.append(picked, rng.integers(len(lengths), size=len(picked)))
        ends = np.cumsum(lengths[picked])
        rows = np.arange(ends[-1]) - np.repeat(
            ends - lengths[picked] - starts[picked], lengths[picked]
        )
        first = int(rng.integers(lengths[picked[0]]))
        return rows[first : first + count]


def _upper_slope(scores: Floats, rate: float) -> float:
    """Return the slope of the line of scores over normal deviates, beyond a rate."""
    rates = np.geomspace(rate, min(8.0 * rate, 0.5), 16)
    quantiles = np.quantile(scores, 1.0 - rates, method="weibull")
    return max(float(np.polyfit(ndtri(1.0 - rates), quantiles, 1)[0]), 0.0)


def _mean_excess(rate: float) -> float:
    """Return by how much the upper part ``rate`` of a normal law exceeds its start, on average."""
    deviate = -float(ndtri(rate))
    return float(np.exp(-0.5 * deviate**2) / np.sqrt(2.0 * np.pi) / rate) - deviate


def upper_quantile(scores: Floats, rate: float) -> Estimate:
    """Return the value that a fraction ``rate`` of the scores exceeds.

    Where fewer than fifteen lie beyond, it is that of a normal law: the one whose tail begins where
    the fifteen largest scores do and exceeds its beginning by as much as they do on average.
    """
    if not scores.size:
        raise ValueError(
            "threshold needs negatives that were held out in fit, and there is none: fit to at "
            "least two samples of each class, from different groups if there are groups"
        )
    support = min(_LARGEST / len(scores), 0.25)
    if rate >= support:
        # How far off the fraction of so many scores may be tells how far off the quantile is.
        noise = np.sqrt(rate * (1.0 - rate) / len(scores))
        rates = np.clip([rate, rate - noise, rate + noise], 0.1 * rate, 1.0)
        at, above, below = np.quantile(scores, 1.0 - rates, method="weibull")
        return Estimate(at, 0.5 * float(above - below))
    start = float(np.quantile(scores, 1.0 - support, method="hazen"))
    excess = float(np.mean(np.maximum(scores - start, 0.0))) / support
    # Of the rate itself: one minus a small one is one.
    further = float(ndtri(support) - ndtri(rate)) / _mean_excess(support)
    # Start and excess are each as uncertain as the mean of so many exponential deviates.
    error = excess * np.sqrt((1.0 - support + further**2) / (support * len(scores)))
    return Estimate(start + excess * further, float(error))
