"""Fluctuations of a finite sample, averaged to leading order.

In the limit of many dimensions the bias and the cosine of the query are certain. In a finite sample
both fluctuate, and the mean error is larger because the error is convex in them. To leading order
the mean is the average of two values: one standard deviation below, and one above.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from sparsetoken.law import score_mean
from sparsetoken.planner.metric import Metric
from sparsetoken.theory import Alignment, Performance, Risk
from sparsetoken.theory.smoothing import envelope_moments
from sparsetoken.theory.trained import RESOLUTION

__all__ = ["average", "bias_noise", "possible_cosines"]


def average(results: Sequence[Risk], metric: Metric, n_samples: float) -> float:
    """Return the mean shortfall of equally likely results, each readout trained on ``n_samples``.

    The bias of each is off by a standard deviation either way. The rest of the readout matters
    less: its direction differs between samples, but its overlaps hardly do.
    """
    fixed = not metric.needs_bias or math.isinf(n_samples)
    moved = [
        Performance(
            replace(result.law, batches=1),  # the value alone: an error bar costs as much again
            result.readout._replace(bias=result.readout.bias + shift),
            result.loss,
        )
        for result in results
        for noise in (0.0 if fixed else bias_noise(result, n_samples),)
        for shift in ((0.0,) if fixed else (-noise, noise))
    ]
    return math.fsum(map(metric.shortfall, moved)) / len(moved)


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


def possible_cosines(
    learned: Alignment, at_rates: Sequence[Alignment], dim: float
) -> tuple[float, float]:
    """Return the query's cosine a standard deviation below and above what is learned.

    ``at_rates`` has what is learned at either of the possible rates. By chance, a part 1/√dim
    of the noise in readout and query also lies along the signal. The overlap of the query is
    proportional to that of the readout it was learned from, so the relative deviations of both add
    up; the length of the rest hardly varies.
    """
    cosine, low, high = learned.cosine, *(moved.cosine for moved in at_rates)
    by_rate = 0.5 * (high - low)
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
    deviation = math.hypot(by_rate, by_overlap)
    return max(centre - deviation, -1.0), min(centre + deviation, 1.0)
