"""The rule of the likelihood ratio, whose error is the floor for any classifier.

It is known exactly where each length has one kind of sequence, with one signal token (or only
signal tokens, which are as good as one); otherwise from points of the tokens along the signal.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.integrate import trapezoid

from sparsetoken._types import Floats
from sparsetoken.estimate import Estimate
from sparsetoken.performance import GRID, find_threshold, integral
from sparsetoken.problem import Problem, SparseTokenProblem
from sparsetoken.theory.single_token import STRONGEST, SingleTokenRatio
from sparsetoken.theory.token_scores import WeightedSamples

_EXACT = 1e-10  # accuracy of the probabilities of a single signal token


def bayes_rule(problem: Problem, n_points: int) -> "BayesRule":
    """Return the best rule if the direction is known, exact where possible.

    The score of a sequence is the log odds that it is recorded as positive. The problem must have
    both classes.
    """
    lengths = []
    for kinds, positive, negative, _ in problem.by_length:
        laws = {_exact_law(kind) for kind in kinds}
        law, total = laws.pop(), float(positive.sum())
        if law is None or laws or min(total, negative) == 0.0:
            return _PointRule(problem, n_points)
        lengths.append((law, total, negative))
    if sum(problem.label_errors) >= 1.0:
        return _PointRule(problem, n_points)
    return _ExactRule(tuple(lengths), problem.label_errors)


def _exact_law(kind: SparseTokenProblem) -> SingleTokenRatio | None:
    if kind.n_signal == kind.n_tokens:  # their sum is one token with more of the signal
        return SingleTokenRatio(
            kind.n_kinds, min(math.sqrt(kind.n_signal) * kind.signal, STRONGEST)
        )
    if kind.n_signal == 1:
        return SingleTokenRatio(kind.n_pairs, min(kind.signal, STRONGEST))
    return None


@dataclass(frozen=True)
class _ExactRule:
    """From the law of the likelihood ratio."""

    lengths: tuple[tuple[SingleTokenRatio, float, float], ...]
    """For each length the law, and the probabilities of samples with the signal and without."""
    label_errors: tuple[float, float]

    @cached_property
    def error(self) -> Estimate:
        alarm, detected = self._above(0.0)
        _, positive = self._above(-math.inf)
        return Estimate(alarm + positive - detected, _EXACT)

    @cached_property
    def auc(self) -> Estimate:
        if len(self.lengths) == 1:  # of recorded labels: the true classes, mixed
            ((law, positive, negative),) = self.lengths
            missed, invented = self.label_errors
            marked = positive * (1.0 - missed) / (positive * (1.0 - missed) + negative * invented)
            unmarked = positive * missed / (positive * missed + negative * (1.0 - invented))
            return Estimate(0.5 + (marked - unmarked) * (law.auc - 0.5), _EXACT)
        thresholds = np.linspace(*self._span[::-1], GRID)
        above = np.array([self._above(t) for t in thresholds]) / self._above(-math.inf)
        alarm, recall = above.T
        area = integral(recall, alarm)
        return Estimate(area, abs(area - float(trapezoid(recall, alarm))) + _EXACT)

    def recall(self, fpr: float) -> Estimate:
        negative, positive = self._above(-math.inf)
        threshold = find_threshold(lambda t: self._above(t)[0], fpr * negative, *self._span)
        return Estimate(self._above(threshold)[1] / positive, _EXACT)

    def _above(self, threshold: float) -> tuple[float, float]:
        """Probability of a score above, jointly with each recorded label: negative, positive."""
        missed, invented = self.label_errors
        above = np.zeros(2)
        for law, positive, negative in self.lengths:
            log_ratio = self._log_ratio(threshold, positive, negative)
            below = law.below(log_ratio) if math.isfinite(log_ratio) else (log_ratio > 0.0,) * 2
            noise, signal = negative * (1.0 - below[0]), positive * (1.0 - below[1])
            above += (1.0 - invented) * noise + missed * signal, invented * noise
            above[1] += (1.0 - missed) * signal
        return float(above[0]), float(above[1])

    def _log_ratio(self, threshold: float, positive: float, negative: float) -> float:
        """Log of the likelihood ratio at which the odds of the recorded label have this log."""
        missed, invented = self.label_errors
        if threshold == -math.inf:
            return -math.inf
        odds = math.exp(threshold)
        upper, lower = odds * (1.0 - invented) - invented, 1.0 - missed - odds * missed
        if upper <= 0.0 or lower <= 0.0:  # all odds are above, or none
            return -math.inf if upper <= 0.0 else math.inf
        return math.log(upper / lower) + math.log(negative / positive)

    @cached_property
    def _span(self) -> tuple[float, float]:
        """Thresholds between which nearly all scores are."""
        missed, invented = self.label_errors
        ends = []
        for law, positive, negative in self.lengths:
            low, high = _span_of(law)
            for log_ratio in (low, high):
                odds = math.exp(log_ratio) * positive / negative
                upper, lower = (1.0 - missed) * odds + invented, missed * odds + 1.0 - invented
                ends.append(math.log(upper / lower))
        return min(ends) - 1e-9, max(ends) + 1e-9


def _span_of(law: SingleTokenRatio) -> tuple[float, float]:
    """Return the log ratios that all but a billionth of the samples lie between."""
    ends = []
    for step, index in ((-1.0, 0), (1.0, 1)):
        log_ratio, size = 0.0, max(0.5 * law.strength / math.sqrt(law.n_tokens), 1e-6)
        while abs(law.below(log_ratio)[index] - (step > 0.0)) > 1e-9 and abs(log_ratio) < 600.0:
            log_ratio += step * size
            size *= 1.5
        ends.append(log_ratio)
    return ends[0], ends[1]


class _PointRule(WeightedSamples):
    """From points: what each adds to the recorded positives and to the recorded negatives."""

    @cached_property
    def _scores(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.missed) - np.log(self.alarm))

    @cached_property
    def error(self) -> Estimate:
        return self._number(
            lambda positive, negative, _: float(np.minimum(positive, negative).mean())
        )

    @cached_property
    def auc(self) -> Estimate:
        return self._number(_area)

    def recall(self, fpr: float) -> Estimate:
        def fraction(positive: Floats, negative: Floats, scores: Floats) -> float:
            threshold = _quantile(scores, negative, 1.0 - fpr)
            return float(positive[scores > threshold].sum() / positive.sum())

        return self._number(fraction)

    def _number(self, number: Callable[[Floats, Floats, Floats], float]) -> Estimate:
        columns = self.missed, self.alarm, self._scores
        value = number(*(column.ravel() for column in columns))
        return self.estimate(value, lambda: [number(*row) for row in zip(*columns, strict=True)])


BayesRule = _ExactRule | _PointRule


def _area(positive: Floats, negative: Floats, scores: Floats) -> float:
    order = np.argsort(scores)
    below = np.cumsum(negative[order]) - 0.5 * negative[order]
    return float(positive[order] @ below / (positive.sum() * negative.sum()))


def _quantile(scores: Floats, weights: Floats, level: float) -> float:
    order = np.argsort(scores)
    below = np.cumsum(weights[order])
    return float(np.interp(level * below[-1], below - 0.5 * weights[order], scores[order]))
