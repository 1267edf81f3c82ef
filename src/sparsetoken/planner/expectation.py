"""What to expect of a finite sample.

In the limit of many dimensions the bias and the cosine of the query are certain. In a finite sample
both fluctuate, and the mean error is larger because the error is convex in them. To leading order
the mean is the average of two values: one standard deviation below, and one above.

With few samples a mean error is made by the rare draws that go wrong (a query that misses the
signal, a class of two samples), which an expansion around the limit does not see. The exact reduced
samplers make a run cost milliseconds, so there the training is run again and again instead.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparsetoken.estimate import Estimate
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.law import score_mean
from sparsetoken.losses import get_loss
from sparsetoken.performance import Performance
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.request import Case
from sparsetoken.sampling import (
    exact_performance,
    pooled_performance,
    sample_feature_law,
    sample_features,
    sample_query,
)
from sparsetoken.sequences.threads import one_blas_thread
from sparsetoken.theory import Alignment, Risk
from sparsetoken.theory.envelope_averages import envelope_moments
from sparsetoken.theory.readout.trained import RESOLUTION
from sparsetoken.vocabulary import group

Progress = Callable[[str], object]
"""Called at each step of a long computation, with a few words about what is done next."""

FEW_SAMPLES = 60
_MOST_DIMENSIONS = 3000
_RUNS = 300
_SEED = 20261116
_POINTS = 512  # per class, to judge one run; their noise averages out over the runs


def no_progress(doing: str) -> None:
    """Report no progress."""


def expected_error(results: Sequence[Risk], metric: Metric, n_samples: float) -> float:
    """Return the mean error of equally likely results, each readout trained on ``n_samples``.

    The bias of each is off by a standard deviation either way. The rest of the readout matters
    less: its direction differs between samples, but its overlaps hardly do.
    """
    errors = []
    for result in results:
        noise = 0.0
        if metric.needs_bias and not math.isinf(n_samples):
            noise = bias_noise(result, n_samples)
        for bias in {result.readout.bias - noise, result.readout.bias + noise}:
            moved = Performance(result.law, result.readout._replace(bias=bias), result.loss)
            errors.append(metric.error(moved))
    return math.fsum(errors) / len(errors)


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
        math.exp(readout.log_chi),
        resolution=RESOLUTION,
    )
    slope = math.sqrt(points.average(moments.hh) / n_samples)
    return slope / points.average(moments.k)


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


def is_drawn(case: Case) -> bool:
    """Whether the samples are so few that runs are cheap and say more than a limit."""
    return case.n_samples <= FEW_SAMPLES and case.dim <= _MOST_DIMENSIONS


def drawn_error(case: Case, settings: dict[str, Any]) -> Estimate:
    """Return the mean error of the classifier over fresh samples, with its standard error.

    ``settings`` are its arguments; without a ``split`` it reads the mean token.
    """
    with one_blas_thread():
        errors = [
            _run(case, settings, np.random.default_rng(seed))
            for seed in np.random.SeedSequence(_SEED).spawn(_RUNS)
        ]
    error = float(np.std(errors, ddof=1)) / math.sqrt(_RUNS)
    return Estimate(float(np.mean(errors)), error)


def _run(case: Case, settings: dict[str, Any], rng: np.random.Generator) -> float:
    """Train once and return the error: that of chance if the readout sees one class only."""
    problem, dim, n_samples = case.problem, round(case.dim), round(case.n_samples)
    loss, beta = get_loss(settings["loss"]), settings.get("beta", 1.0)
    query, direction, learned = np.zeros(dim), np.eye(1, dim)[0], None
    if "split" in settings:
        first = min(max(round(settings["split"] * n_samples), 1), n_samples - 2)
        rates = {name: settings[name] for name in group("two steps") if name in settings}
        learned = sample_query(problem, first, dim, loss=loss, random_state=rng, **rates)
        query, direction, n_samples = learned.query, learned.direction, n_samples - first
    features, y = sample_features(problem, n_samples, query, direction, beta=beta, random_state=rng)
    if np.ptp(y) == 0:
        return case.metric.chance(problem.positive_rate)
    readout = fit_readout(features, np.where(y == 1, 1.0, -1.0), settings["reg"], loss)
    if learned is None:
        trained = pooled_performance(problem, *readout, direction, loss=loss)
    else:
        law = sample_feature_law(
            problem, _POINTS, cosine=learned.cosine, sharpness=learned.sharpness, random_state=rng
        )
        trained = exact_performance(law, *readout, query, direction, loss=loss)
    return float(case.metric.error(trained))
