"""What chance does to a query that two steps learn from finitely many samples.

In the limit of many dimensions the cosine of the query is certain. In a finite sample it
fluctuates, and the mean error is larger because the error is convex in it. To leading order the
mean is the average of two values: one standard deviation below, and one above.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparsetoken.models.base import StudySize
from sparsetoken.theory import Alignment, Risk, alignment, best_bias_rate
from sparsetoken.theory.features import get_model
from sparsetoken.theory.readout.risk import solve_along
from sparsetoken.theory.two_steps import possible_rates

_LR_READOUT = 0.1  # small steps are never worse: lr_query sets the size of the query


def best_rates(study: StudySize, choice: dict[str, Any]) -> dict[str, Any]:
    """Return the rates of the first step: the bias's aligns the query best with the signal."""
    split = choice["split"]
    sizes = {"alpha": split * study.alpha, "n_samples": split * study.n_samples}
    rate = best_bias_rate(study.problem, loss=choice["loss"], lr_readout=_LR_READOUT, **sizes)
    return {"lr_readout": _LR_READOUT, "lr_bias": rate}


def learned_query(study: StudySize, choice: dict[str, Any], rates: dict[str, Any]) -> Alignment:
    """Return what a query step of unit rate learns."""
    alpha = choice["split"] * study.alpha
    return alignment(study.problem, alpha=alpha, loss=choice["loss"], lr_query=1.0, **rates)


def outcomes(study: StudySize, choice: dict[str, Any], n_points: int) -> list[Risk]:
    """Return the readouts for a query that is luckier and one that is less lucky."""
    problem, n_samples = study.problem, study.n_samples
    rates = best_rates(study, choice)
    learned = learned_query(study, choice, rates)
    cosines: Sequence[float] = [learned.cosine]
    if not math.isinf(n_samples):
        moved = [
            learned_query(replace(study, problem=problem.with_rate(rate)), choice, rates)
            for rate in possible_rates(problem.positive_rate, choice["split"] * n_samples)
        ]
        cosines = cosine_quantiles(learned, moved, study.dim)
    alpha, sharpness = (1.0 - choice["split"]) * study.alpha, choice["sharpness"]
    places = [(get_model("attention", c, sharpness, n_points), alpha) for c in cosines]
    return solve_along(problem, places, choice["reg"], choice["loss"])


def cosine_quantiles(
    learned: Alignment, at_rates: Sequence[Alignment], dim: float
) -> tuple[float, float]:
    """Return the query's cosine a standard deviation below and above what is learned.

    ``at_rates`` has what is learned at either of the possible rates. By chance, a fraction 1/√dim
    of the noise in readout and query also lies along the signal. The overlap of the query is
    proportional to that of the readout it was learned from, so the relative deviations of both add
    up; the length of the rest hardly varies.
    """
    cosine, low, high = learned.cosine, *(moved.cosine for moved in at_rates)
    center, by_rate, by_overlap = 0.5 * (low + high), 0.5 * (high - low), 0.0
    overlap = learned.readout_overlap
    if cosine > 0.0 and overlap > 0.0:
        readout = (learned.readout_norm**2 - overlap**2) / overlap**2
        query = (1.0 - cosine**2) / cosine**2
        deviation = math.sqrt(max(readout + query, 0.0) / dim)
        sine = math.sqrt(1.0 - cosine**2)
        moved = [cosine * (1.0 - deviation), cosine * (1.0 + deviation)]
        less, more = (overlap / math.hypot(overlap, sine) for overlap in moved)
        by_overlap = 0.5 * (more - less)
        center += 0.5 * (less + more) - cosine
    deviation = math.hypot(by_rate, by_overlap)
    return max(center - deviation, -1.0), min(center + deviation, 1.0)
