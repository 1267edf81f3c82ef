"""What chance does to a sample of finite size.

The theory's prediction is the limit of many dimensions, where the bias and the cosine of the query
are sure. In a finite sample both fluctuate, and the error, convex in them, is larger on average. To
leading order that average is the one over a quantity one standard deviation off, either way.
"""

import math
from collections.abc import Sequence

import numpy as np

from sparsetoken.planner.case import Case, Choice
from sparsetoken.theory import Alignment, Performance, Risk
from sparsetoken.theory.saddle import score_mean

__all__ = ["average", "bias_noise", "numerical_error", "possible_cosines", "shortfall"]


def shortfall(result: Performance, metric: str) -> float:
    """Return what should be small: the test error, or 1 − AUC."""
    return result.test_error if metric == "error" else 1.0 - result.auc


def average(results: Sequence[Risk], metric: str, noise: float) -> float:
    """Return the mean shortfall of equally likely results whose bias is off by ``noise``."""
    return sum(_under_bias_noise(result, metric, noise) for result in results) / len(results)


def _under_bias_noise(result: Risk, metric: str, noise: float) -> float:
    if metric == "auc" or noise == 0.0:  # no AUC sees the bias
        return shortfall(result, metric)
    moved = (
        Performance(
            result.law,
            result.readout._replace(bias=result.bias + shift),
            result.loss,
            result.moves,
        )
        for shift in (-noise, noise)
    )
    return 0.5 * sum(performance.test_error for performance in moved)


def bias_noise(case: Case, choice: Choice) -> float:
    """Return the standard deviation of the bias due to the sampled share of positives.

    That of a readout whose scores are small, where it matters most: the bias is then
    2π − 1 for the square loss and the log-odds of the share for the logistic one.
    """
    n_samples = (1.0 - choice.split) * case.n_samples
    variance = case.problem.positive_rate * (1.0 - case.problem.positive_rate)
    if choice.loss == "square":
        return 2.0 * math.sqrt(variance / n_samples)
    return 1.0 / math.sqrt(variance * n_samples)


def possible_cosines(learned: Alignment, dim: float) -> tuple[float, ...]:
    """Return the query's cosine one standard deviation below and above what is learned.

    A share 1/√dim of the noise in readout and query lies along the signal by chance. The overlap of
    the query is proportional to that of the readout it was learned from, so the relative deviations
    of both add up; the length of the rest hardly varies.
    """
    overlap, cosine = learned.readout_overlap, learned.cosine
    if cosine <= 0.0 or overlap <= 0.0 or math.isinf(dim):
        return (cosine,)
    readout = (learned.readout_norm**2 - overlap**2) / overlap**2
    query = (1.0 - cosine**2) / cosine**2
    deviation = math.sqrt(max(readout + query, 0.0) / dim)
    sine = math.sqrt(1.0 - cosine**2)
    overlaps = (cosine * (1.0 - deviation), cosine * (1.0 + deviation))
    return tuple(along / math.hypot(along, sine) for along in overlaps)


def numerical_error(results: Sequence[Risk], metric: str) -> float:
    """Return the numerical standard error of :func:`average`; the results share their points."""
    return sum(_numerical_error(result, metric) for result in results) / len(results)


def _numerical_error(result: Risk, metric: str) -> float:
    if metric == "error" or result.law.batches == 1:
        return result.uncertainty
    # The batches of points are independent: how their AUCs scatter says how far the mean is off.
    points, batches = result.law.points, result.law.batches
    mean = score_mean(points, result.readout).reshape(2, batches, -1)
    deviation = (points.scale * result.readout.norm_rest).reshape(2, batches, -1)
    noise = np.random.default_rng(0).standard_normal((8, *mean.shape))
    scores = (mean + deviation * noise).transpose(1, 2, 0, 3).reshape(2, batches, -1)
    areas = []
    for positive, negative in zip(*scores, strict=True):
        below = np.searchsorted(np.sort(negative), positive)
        areas.append(float(below.mean()) / negative.size)
    return float(np.std(areas, ddof=1)) / math.sqrt(batches)
