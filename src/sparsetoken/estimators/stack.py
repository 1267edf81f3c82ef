"""Members weighed and calibrated by their held-out scores, and what a fit keeps of these."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken.estimators.folds import Fold
from sparsetoken.estimators.members import Member, TrainingSamples
from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.losses import Logistic
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.sequences import Sequences

# Tuned on needle digits, tiger, fox and musk1 in 0.2; the next two on simulated families in 0.4.
_SHIFT = 0.35  # prior deviation of a shift between equal classes, in log-odds
_PULL = 20.0  # of the weights towards their prior: like that many samples
_BELIEVED = 0.15  # power of a score's likelihood in the prior: folds share samples
_OUTSIDE, _MARGIN = 0.05, 0.25  # what of held-out scores may lie beyond the limits before a margin
_MOST = 30.0  # of the logarithm of a scale
_LEAST = 1e-3
_KEPT_NUMBERS = 2**21  # in the tokens that thresholds for other lengths are found from


@dataclass
class Stack:
    """Fitted members, and how their scores make one: Σ weight·(scale·score + shift).

    The members' scores, K of them in all, follow each other; there are C of each, one for two
    classes. Contributions of tokens are counted from the token ``center``, (d,).
    """

    members: list[Member]
    weights: Annotated[Any, "K"]  # of sum one
    scales: Annotated[Any, "K"]  # what calibrates each score
    shift: Annotated[Any, "C"]
    limits: Annotated[Any, "2K"]  # of scores: a rare token can score arbitrarily high
    center: Annotated[Any, "d"]

    def parts(self) -> Iterator[tuple[Member, Floats, Floats]]:
        """Yield each member, with the weights and the scales of its scores."""
        weights, scales = self.split(self.weights), self.split(self.scales)
        yield from zip(self.members, weights, scales, strict=True)

    def without_zero_weights(self) -> "Stack":
        """Return the stack of those members that have any weight: its scores are the same."""
        rows = self.split(np.arange(len(self.weights)))
        kept = [k for k, one in enumerate(rows) if self.weights[one].any()]
        members, used = [self.members[k] for k in kept], np.concatenate([rows[k] for k in kept])
        weights, scales, limits = self.weights[used], self.scales[used], self.limits[:, used]
        return replace(self, members=members, weights=weights, scales=scales, limits=limits)

    def combine(self, raw: Floats) -> Floats:
        """Return the scores (..., C) of all members together, given theirs, (..., K, C)."""
        low, high = self.limits[..., np.newaxis]
        calibrated = np.clip(raw, low, high) * self.scales[:, np.newaxis] + self.shift
        return np.einsum("...kc,k->...c", calibrated, self.weights)

    def scores(self, data: Data, window: int | None = None) -> Floats:
        """Return the scores (n, C) of sequences, or the largest over windows of so many tokens."""
        if window is not None:
            if not isinstance(data, MemoryData):
                raise ValueError("window needs X in memory or in a folder, got a Dask array")
            counts, ends = -(-data.lengths // window), np.cumsum(data.lengths)
            first, owner = np.cumsum(counts) - counts, np.repeat(np.arange(len(data)), counts)
            within = (np.arange(len(owner)) - first[owner]) * data.lengths[owner] // counts[owner]
            cuts = np.append((ends - data.lengths)[owner] + within, ends[-1])
            return np.maximum.reduceat(self.scores(data.cut(cuts)), first)
        stack = self.without_zero_weights()
        raw = np.concatenate([member.scores(data) for member in stack.members], axis=1)
        return stack.combine(raw)

    def without_fold(self, fold: int) -> "Stack":
        """Return the stack of the members that were fitted without a fold."""
        return replace(self, members=[member.without_fold(fold) for member in self.members])

    def split(self, values: Array) -> list[Array]:
        """Return what belongs to each member of one value for every score."""
        return np.split(values, np.cumsum([m.n_scores for m in self.members])[:-1])


def weigh_members(
    members: list[Member], samples: TrainingSamples, held_out: list[Floats], center: Floats
) -> tuple[Stack, Floats]:
    """Weigh fitted members by their scores (K, n, C) of samples held out.

    Return the stack, and its scores (n, C) of these samples.
    """
    scores = np.concatenate(held_out)
    alike = Counter(member.name for member in members)
    priors = [
        (np.full(len(s), 1.0 / len(s)) if m.prior is None else m.prior) / alike[m.name]
        for m, s in zip(members, held_out, strict=True)
    ]
    prior = np.concatenate(priors) / np.concatenate(priors).sum()
    limits = _score_limits(scores, samples.index)
    clipped = np.clip(scores, *limits[..., np.newaxis, np.newaxis])
    weighed = weigh(clipped, samples.index, samples.weights, prior)
    stack = Stack(members, *weighed, limits, center)
    return stack, stack.combine(scores.swapaxes(0, 1))


def _score_limits(scores: Floats, index: Indices) -> Floats:
    """Return bounds (2, K) of which nine tenths of each class, and a margin, lie within."""
    seen = np.isfinite(scores).all(axis=(0, 2))
    if not seen.any():
        return np.outer([-np.inf, np.inf], np.ones(len(scores)))
    ends = [
        np.quantile(scores[:, seen & (index == c)], (_OUTSIDE, 1.0 - _OUTSIDE), axis=1)
        for c in np.unique(index[seen])
    ]
    low, high = np.min(ends, axis=(0, 1, 3)), np.max(ends, axis=(0, 1, 3))
    return np.stack([low, high]) + _MARGIN * np.outer([-1.0, 1.0], high - low)


def weigh(
    scores: Floats, index: Indices, sample_weights: Floats, prior: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return weights and scales (K,), and a shift (C,), for scores (K, n, C) of held-out samples.

    Each score is first scaled and shifted to fit the labels ``index``. Then the weights of all are
    found by the same loss, with a penalty like that of twenty samples for leaving their prior:
    ``prior``, (K,) of sum one, times a power of the likelihood of the labels by each score alone.
    """
    n_scores, _, n_columns = scores.shape
    seen = np.isfinite(scores).all(axis=(0, 2)) & (sample_weights > 0)
    if np.unique(index[seen]).size < 2:
        return prior, np.ones(n_scores), np.zeros(n_columns)
    scores, index = scores[:, seen], index[seen]
    sample_weights = sample_weights[seen] / sample_weights[seen].sum()
    # Regularized members under-predict the rare class: the prior on shifts widens with imbalance.
    logs = np.bincount(index, sample_weights, minlength=max(n_columns, 2))
    logs = np.log(np.maximum(logs, 1e-12))
    deviation = np.hypot(_SHIFT, np.diff(logs) if n_columns == 1 else logs - logs.mean())
    scales, shifts = _calibrate(scores, index, sample_weights, deviation)
    calibrated = scales[:, np.newaxis, np.newaxis] * scores + shifts[:, np.newaxis]
    n_samples = len(index)
    losses = _loss(calibrated, index, sample_weights)[0]
    prior = prior * np.exp(-_BELIEVED * n_samples * (losses - losses.min()))
    prior = np.maximum(prior / prior.sum(), _LEAST)
    prior /= prior.sum()

    def objective(point: Floats) -> tuple[float, Floats]:
        weights, shift = point[:n_scores], point[n_scores:]
        value, slope = _loss(np.tensordot(weights, calibrated, 1) + shift, index, sample_weights)
        pull = (weights - prior) / prior * _PULL / n_scores
        pull_back = shift / deviation**2
        value += 0.5 * (pull @ (weights - prior) + pull_back @ shift) / n_samples
        by_weights = np.tensordot(calibrated, slope, 2) + pull / n_samples
        return value, np.append(by_weights, slope.sum(axis=0) + pull_back / n_samples)

    start = np.append(prior, np.zeros(n_columns))
    bounds = [(0.0, None)] * n_scores + [(None, None)] * n_columns
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    point = minimize(objective, start, jac=True, bounds=bounds, options=options).x
    weights, shift = point[:n_scores], point[n_scores:]
    if weights.sum() < _LEAST:  # nothing helps; keep the order that the members suggest
        weights = _LEAST * prior
    # A score that was scaled down to nothing has no part, whatever its factor.
    spread = np.maximum(calibrated.std(axis=(1, 2)), 1e-9)
    total = float(weights @ spread)
    return weights * spread / total, total / spread * scales, shift + weights @ shifts


def _loss(score: Floats, index: Indices, weights: Floats) -> tuple[Any, Floats]:
    """Return the weighted log-loss of scores (..., n, classes) and its slope in each."""
    if score.shape[-1] == 1:
        sign = np.where(index == 1, 1.0, -1.0)[:, np.newaxis]
        slope = weights[:, np.newaxis] * Logistic.derivative(score, sign)
        return (Logistic.value(score, sign)[..., 0] @ weights), slope
    logs = log_softmax(score, axis=-1)
    rows = np.arange(len(index))
    slope = np.exp(logs)
    slope[..., rows, index] -= 1.0
    return -(logs[..., rows, index] @ weights), weights[:, np.newaxis] * slope


def _calibrate(
    scores: Floats, index: Indices, weights: Floats, deviation: Floats
) -> tuple[Floats, Floats]:
    """Return a positive scale and a shift for each score; the prior of shifts has a deviation."""
    n_samples = scores.shape[1]
    # In units of its spread: a score may have any.
    spread = np.sqrt(np.mean(scores**2, axis=(1, 2)))
    unit = 1.0 / np.where(spread > 0, np.maximum(spread, 1.0), 1.0)

    def objective(points: Floats, which: Indices) -> tuple[Floats, Floats]:
        scale = np.exp(np.clip(points[:, 0], -_MOST, _MOST))  # a trial step may be too long
        scaled = (scale * unit[which])[:, np.newaxis, np.newaxis] * scores[which]
        values, slope = _loss(scaled + points[:, np.newaxis, 1:], index, weights)
        by_scale = (slope * scaled).sum(axis=(1, 2)) + points[:, 0] / n_samples
        by_shift = slope.sum(axis=1) + points[:, 1:] / deviation**2 / n_samples
        values = values + 0.5 * points[:, 0] ** 2 / n_samples
        values += 0.5 * ((points[:, 1:] / deviation) ** 2).sum(axis=1) / n_samples
        return values, np.column_stack([by_scale, by_shift])

    start = np.zeros((len(scores), 1 + scores.shape[2]))
    points = minimize_many(objective, start, 100, 1e-12)
    return np.exp(np.clip(points[:, 0], -_MOST, _MOST)) * unit, points[:, 1:]


@dataclass
class Reference:
    """What ``fit`` remembers for thresholds: held-out scores, and some of its tokens.

    The sequences of ``tokens`` and ``offsets`` have the classes ``kept_classes``; the folds that
    held them out are ``kept_folds``, or −1.
    """

    scores: Annotated[Any, "nC"]  # of samples that were held out; NaN for those that never were
    classes: Annotated[Indices, "n"]
    tokens: Annotated[Any, "td?"]  # as they were given; None in a model saved without them
    offsets: Annotated[Any, "o"]
    kept_classes: Annotated[Indices, "m"]
    kept_folds: Annotated[Indices, "m"]
    lengths: Annotated[Any, "2"]  # mean length of a sequence, and that which a tenth stays below

    def check(self, n_classes: int) -> None:
        """Refuse numbers, of a file perhaps, that do not go together."""
        classes = np.concatenate([self.classes, self.kept_classes])
        if not np.isin(classes, np.arange(n_classes)).all():
            raise ValueError("a held-out sequence is of a class that does not exist")
        kept = 0 if self.tokens is None else len(Sequences(self.tokens, self.offsets))
        if self.tokens is not None and kept != len(self.kept_classes):
            raise ValueError("the kept tokens are not those of the kept sequences")

    def held_out(self, column: int, is_negative: Bools) -> Floats:
        """Return a column of scores of the negatives that were held out."""
        scores: Floats = self.scores[is_negative[self.classes], column]
        return scores[np.isfinite(scores)]


def remember(
    data: Data, index: Indices, folds: list[Fold], held_out: Floats, order: Indices
) -> Reference:
    """Return the reference of a fit; ``order`` has the samples with a weight, drawn at random."""
    rows = np.sort(order[np.cumsum(data.lengths[order]) * data.dim <= _KEPT_NUMBERS])
    kept = data.take(rows).sequences if len(rows) else Sequences(np.empty((0, data.dim)), [0])
    fold_of = np.full(len(index), -1)
    for number, fold in enumerate(folds):
        fold_of[fold.held_out] = number
    lengths = data.lengths[order]
    lengths = np.array([np.mean(lengths), np.quantile(lengths, 0.1)])
    samples = kept.tokens, kept.offsets, index[rows], fold_of[rows]
    return Reference(held_out, index, *samples, lengths)
