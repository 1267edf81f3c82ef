"""Thresholds that hold a false-positive rate, at any length, over windows and along streams."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from sparsetoken._types import Bools, Floats, Indices
from sparsetoken._validation import check_count, check_real
from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.stack import Reference, Stack
from sparsetoken.estimators.streams import ScoreStream
from sparsetoken.inspection.explanations import column_of
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import Sequences

_DRAWS, _FEWEST = 4000, 100  # joined sequences; fewer of long ones, but never fewer than that
_TIMES = 20.0  # so many for each that the negatives' tokens make at once
_SCORED = 2**23  # tokens in all of them
_BATCH_NUMBERS = 2**22
_ENOUGH = 10.0  # negatives beyond a threshold that tell its rate
_LARGEST = 15.0  # scores whose tail is continued; with 10 or 20 rates are as right
_MOST_WIDENED = 3.0  # the factor by which few scores may push a tail out
_FACTOR = 1.5  # by which a rate may be off in one of five cases, and be said to hold
_LEAST_BEYOND = 0.25  # expected number of negatives that decide; with fewer there is a warning

Score = Callable[[Stack, MemoryData], Floats]
"""(stack, sequences) → the score of each that is compared with a threshold."""


def threshold(
    classifier: SequenceClassifier, fpr: Any, n_tokens: Any, window: Any, label: Any
) -> Estimate:
    """Return the score that a fraction ``fpr`` of the negative sequences exceeds."""
    fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
    reference, labels = reference_of(classifier), classifier.classes_.tolist()
    if len(labels) == 2 and label == labels[0]:
        raise ValueError(
            f"label must be {labels[1]!r}, the one of two classes that large scores speak for, "
            f"got {label!r}"
        )
    column, is_negative = column_of(classifier.classes_, label)
    if n_tokens is None and window is None:
        scores = reference.held_out(column, is_negative)
        return _with_rate(scores, fpr, len(scores))
    length = round(reference.lengths[0]) if n_tokens is None else n_tokens
    length = check_count("n_tokens", length)
    window = None if window is None else check_count("window", window)

    def score(stack: Stack, data: MemoryData) -> Floats:
        return stack.scores(data, window)[:, column]

    stack = classifier.as_stack()
    return joined_threshold(stack, reference, is_negative, fpr, length, score, length)


def reference_of(classifier: SequenceClassifier) -> Reference:
    """Return what a classifier's fit kept of samples that it held out."""
    if classifier.reference_ is None:
        raise ValueError(
            f"{type(classifier).__name__} holds no samples out in fit, so that it has no "
            "thresholds: use SparseTokenClassifier, AttentionClassifier or BayesAttentionClassifier"
        )
    return classifier.reference_


def joined_threshold(
    stack: Stack,
    reference: Reference,
    is_negative: Bools,
    fpr: float,
    length: int,
    score: Score,
    n_scored: int,
) -> Estimate:
    """Return the threshold for scores of sequences of another length.

    Negatives of a fold are joined to sequences of that length, which the members that were fitted
    without this fold score. ``n_scored`` says how many tokens are scored in a sequence, each
    counted as often as it is.
    """
    if reference.tokens is None:
        raise ValueError(
            "a threshold for another length needs training tokens, and this model was saved "
            "without them (tokens=False)"
        )
    held_out = is_negative[reference.kept_classes] & (reference.kept_folds >= 0)
    negatives = Sequences(reference.tokens, reference.offsets)[np.flatnonzero(held_out)]
    folds = reference.kept_folds[held_out]
    count = min(len(negatives.tokens) / length, float(len(negatives)))
    if 0 < count * fpr < _LEAST_BEYOND:
        _warn_of_rare_tokens(negatives, length, fpr)
    draws = min(_DRAWS, int(_TIMES * count), _SCORED // n_scored)
    draws = max(draws, _FEWEST)
    rng = np.random.default_rng(0)
    scores = [np.empty(0)]
    for fold in np.unique(folds).tolist():
        inside, without = negatives[np.flatnonzero(folds == fold)], stack.without_fold(fold)
        wanted = -(-draws * len(inside) // len(negatives))
        at_once = max(1, _BATCH_NUMBERS // (length * negatives.dim))
        for low in range(0, wanted, at_once):
            joined = _join(inside, length, min(at_once, wanted - low), rng)
            scores.append(score(without, MemoryData(joined)))
    return _with_rate(np.concatenate(scores), fpr, count)


def _join(sequences: Sequences, length: int, count: int, rng: np.random.Generator) -> Sequences:
    """Return so many sequences of a length: shuffled ones, one after the other, again and again."""
    rounds = 1 + length * count // len(sequences.tokens)
    order = np.concatenate([rng.permutation(len(sequences)) for _ in range(rounds)])
    lengths, starts = sequences.lengths[order], sequences.offsets[order]
    ends = np.cumsum(lengths)
    rows = np.arange(ends[-1]) - np.repeat(ends - lengths - starts, lengths)
    return Sequences(sequences.tokens[rows[: length * count]], np.arange(count + 1) * length)


def _warn_of_rare_tokens(negatives: Sequences, length: int, fpr: float) -> None:
    needed = _ENOUGH * length / fpr / np.mean(negatives.lengths)
    warnings.warn(
        f"a threshold for fpr={fpr:g} at {length:,} tokens depends on tokens as rare as one in "
        f"{length / fpr:,.0f}, but fit kept {len(negatives.tokens):,} tokens of negatives: the "
        "rate can be several times off; the result is marked converged=False. About "
        f"{needed:,.0f} negatives like those of fit would be enough",
        ConvergenceWarning,
        stacklevel=5,
    )


def _with_rate(scores: Floats, rate: float, count: float) -> Estimate:
    """Return a threshold with the interval that the true rate lies in, in 8 of 10 cases.

    The rate is as uncertain as the threshold, and as the number of negatives that tell.
    """
    quantile, factor = upper_quantile(scores, rate, count), np.log(_FACTOR)
    low, high = (
        float(upper_quantile(scores, min(rate * f, 0.99), count)) for f in (_FACTOR, 1 / _FACTOR)
    )
    slope = 2.0 * factor / max(high - low, 1e-300)  # of the rate's logarithm, in the score
    of_log = max(quantile.uncertainty * slope, 1.0 / np.sqrt(count * rate))
    width = min(float(ndtri(0.9)) * of_log, 700.0)
    interval = float(rate * np.exp(-width)), min(float(rate * np.exp(width)), 1.0)
    uncertainty = quantile.uncertainty
    return Estimate(quantile, uncertainty, bool(width <= factor), rate_interval=interval)


def stream(classifier: SequenceClassifier, fpr: Any, n_tokens: Any, window: Any) -> ScoreStream:
    """Return a stream of a fitted classifier; with ``fpr``, one that raises alarms."""
    window, stack = None if window is None else check_count("window", window), classifier.as_stack()
    if fpr is None:
        return ScoreStream(stack, window)
    if n_tokens is None:
        raise ValueError("n_tokens must be given with fpr: how long a whole sequence is")
    if len(classifier.classes_) > 2:
        raise ValueError("fpr needs a classifier of two classes; compare stream.score yourself")
    fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
    length, reference = check_count("n_tokens", n_tokens), reference_of(classifier)
    warm_up = max(2, round(reference.lengths[1])) if window is None else window
    checks = stream_checks(length, warm_up, window)
    n_scored = int(np.minimum(checks, window or length).sum())

    def score(stack: Stack, data: MemoryData) -> Floats:
        return stream_scores(stack, data, window, checks)[:, 0]

    negative = np.array([True, False])
    threshold = joined_threshold(stack, reference, negative, fpr, length, score, n_scored)
    return ScoreStream(stack, window, threshold, checks)


def stream_checks(n_tokens: int, warm_up: int, window: int | None) -> Indices:
    """Return after how many tokens a stream of ``n_tokens`` is looked at.

    The first look comes after ``warm_up`` tokens, as scores of a few tokens scatter widely. There
    are 32, or more if every half of a window is to be seen: no token may pass between two looks.
    """
    first = min(warm_up, n_tokens)
    count = 32 if window is None else max(32, 2 + 2 * (n_tokens - first) // window)
    return np.unique(np.linspace(first, n_tokens, min(count, n_tokens - first + 1)).astype(int))


def stream_scores(stack: Stack, data: MemoryData, window: int | None, checks: Indices) -> Floats:
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
        scores = stack.scores(MemoryData(Sequences(tokens[rows], offsets)))
        largest = np.maximum(largest, scores.reshape(len(data), len(ends), -1).max(axis=1))
    return largest


def upper_quantile(scores: Floats, rate: float, count: float) -> Estimate:
    """Return the value that new scores exceed at this rate, on average.

    ``count`` independent ones stand behind the scores. Where fewer than fifteen of these lie
    beyond, the value is that of a normal law: its tail begins where the fifteen largest do and
    exceeds its beginning by as much as they do on average, and by more as they are few.
    """
    if not scores.size:
        raise ValueError(
            "threshold needs negatives that were held out in fit, and there is none: fit to at "
            "least two samples of each class, from different groups if there are groups"
        )
    support = min(_LARGEST / count, 0.25)
    if rate >= support:
        # How far off the fraction of so many scores may be tells how far off the quantile is.
        noise = np.sqrt(rate * (1.0 - rate) / count)
        rates = np.clip([rate, rate - noise, rate + noise], 0.1 * rate, 1.0)
        # A new score exceeds the k-th largest of n with probability k / (n + 1).
        levels = ((count + 1.0) * (1.0 - rates) - 0.5) / count
        at, above, below = np.quantile(scores, np.clip(levels, 0.0, 1.0), method="hazen")
        return Estimate(at, 0.5 * float(above - below))
    start = float(np.quantile(scores, 1.0 - support, method="hazen"))
    excess = float(np.mean(np.maximum(scores - start, 0.0))) / support
    # Of a normal law, the mean excess over its start, and how far the rate is beyond that.
    begin = -float(ndtri(support))
    mean_excess = float(np.exp(-0.5 * begin**2) / np.sqrt(2.0 * np.pi) / support) - begin
    further = float(ndtri(support) - ndtri(rate)) / mean_excess  # one minus a small rate is one
    # Start and excess are each as uncertain as the mean of so many exponential deviates. That
    # makes an exponential tail a Pareto one, so that it goes on further by this factor.
    tail, beyond = support * count, np.log(support / rate)
    error = excess * np.sqrt((1.0 - support + further**2) / tail)
    further *= min(float(np.expm1(min(beyond / tail, 30.0))) * tail / beyond, _MOST_WIDENED)
    return Estimate(start + excess * further, float(error))
