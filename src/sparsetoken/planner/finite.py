"""What chance does to a sample of finite size.

The theory's prediction is the limit of many dimensions, where the bias and the cosine of the query
are sure. In a finite sample both fluctuate, and the error, convex in them, is larger on average. To
leading order that average is the one over a quantity one standard deviation off, either way.
"""

import math
from collections.abc import Sequence

import numpy as np

from sparsetoken.law import score_mean
from sparsetoken.theory import Alignment, Performance, Risk
from sparsetoken.theory.smoothing import envelope_moments
from sparsetoken.theory.trained import RESOLUTION

__all__ = [
    "average",
    "bias_noise",
    "numerical_error",
    "possible_cosines",
    "possible_shares",
    "shortfall",
]


def shortfall(result: Performance, metric: str) -> float:
    """Return what should be small: the test error, or 1 − AUC."""
    return result.test_error if metric == "error" else 1.0 - result.auc


def average(results: Sequence[Risk], metric: str, n_samples: float) -> float:
    """Return the mean shortfall of equally likely results, each readout trained on ``n_samples``.

    The bias of each is off by a standard deviation either way. Of all that is trained it alone
    matters: the readout has its own direction in each sample, but much the same overlaps.
    """
    return sum(_under_bias_noise(result, metric, n_samples) for result in results) / len(results)


def _under_bias_noise(result: Risk, metric: str, n_samples: float) -> float:
    if metric == "auc" or math.isinf(n_samples):  # no AUC sees the bias
        return shortfall(result, metric)
    noise = bias_noise(result, n_samples)
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


def bias_noise(result: Risk, n_samples: float) -> float:
    """Return the standard deviation of a bias trained on ``n_samples``, the readout held fixed.

    Training makes the mean slope E[ℓ′(p)] of the loss vanish on the sample. There it fluctuates by
    √(E[ℓ′(p)²]/n), and the bias follows by that over its derivative E[ℓ″(p)/(1 + χc²ℓ″(p))].
    """
    points, readout = result.law.points, result.readout
    moments = envelope_moments(
        result.loss,
        points.label,
        score_mean(points, readout),
        points.scale,
        readout.norm_rest,
        math.exp(readout.log_step),
        resolution=RESOLUTION,
    )
    slope = math.sqrt(points.average(moments.hh) / n_samples)
    return slope / points.average(moments.k)


def possible_shares(positive_rate: float, n_samples: float) -> tuple[float, float]:
    """Return the share of positives in a sample, a standard deviation below and above the rate."""
    deviation = math.sqrt(positive_rate * (1.0 - positive_rate) / n_samples)
    low = max(positive_rate - deviation, 0.1 * positive_rate)
    high = min(positive_rate + deviation, 1.0 - 0.1 * (1.0 - positive_rate))
    return low, high


def possible_cosines(
    learned: Alignment, at_shares: Sequence[Alignment], dim: float
) -> tuple[float, float]:
    """Return the query's cosine a standard deviation below and above what is learned.

    ``at_shares`` has what is learned at either of :func:`possible_shares`. Besides, a share 1/√dim
    of the noise in readout and query lies along the signal by chance. The overlap of the query is
    proportional to that of the readout it was learned from, so the relative deviations of both add
    up; the length of the rest hardly varies.
    """
    cosine, low, high = learned.cosine, *(moved.cosine for moved in at_shares)
    by_share = 0.5 * (high - low)
    centre = 0.5 * (low + high)
    by_overlap = 0.0
    overlap = learned.readout_overlap
    if cosine > 0.0 and overlap > 0.0:
        readout = (learned.readout_norm**2 - overlap**2) / overlap**2
        query = (1.0 - cosine**2) / cosine**2
        deviation = math.sqrt(max(readout + query, 0.0) / dim)
        sine = math.sqrt(1.0 - cosine**2)
        less, more = (cosine * (1.0 - deviation), cosine * (1.0 + deviation))
        less, more = less / math.hypot(less, sine), more / math.hypot(more, sine)
        by_overlap = 0.5 * (more - less)
        centre += 0.5 * (less + more) - cosine
    deviation = math.hypot(by_share, by_overlap)
    return max(centre - deviation, -1.0), min(centre + deviation, 1.0)


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
