"""What to expect of few samples: the protocol itself, run again and again.

With few samples a mean error is made by the rare draws that go wrong (a query that misses the
signal, a class of two samples), which an expansion around the limit does not see. The exact
reduced samplers make a run cost milliseconds, so it is drawn instead.
"""

import math
from typing import Any

import numpy as np

from sparsetoken.estimate import Estimate
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import get_loss
from sparsetoken.performance import Performance
from sparsetoken.planner.request import Case
from sparsetoken.sampling import (
    exact_performance,
    pooled_performance,
    sample_feature_law,
    sample_features,
    sample_query,
)
from sparsetoken.vocabulary import group

__all__ = ["FEW_SAMPLES", "drawn_shortfall", "few"]

FEW_SAMPLES = 60
_MOST_DIMENSIONS = 3000
_RUNS = 300
_SEED = 20261116
_POINTS = 512  # per class, to judge one run; their noise averages out over the runs


def few(case: Case) -> bool:
    """Whether the samples are so few that runs are cheap and say more than a limit."""
    return case.n_samples <= FEW_SAMPLES and case.dim <= _MOST_DIMENSIONS


def drawn_shortfall(case: Case, settings: dict[str, Any]) -> Estimate:
    """Return the mean shortfall of the classifier over fresh samples, with its standard error.

    ``settings`` are its arguments; without a ``split`` it reads the mean token.
    """
    chance = case.metric.chance(case.problem.positive_rate)
    found = []
    for seed in np.random.SeedSequence(_SEED).spawn(_RUNS):
        trained = _run(case, settings, np.random.default_rng(seed))
        found.append(chance if trained is None else float(case.metric.shortfall(trained)))
    return Estimate(float(np.mean(found)), float(np.std(found, ddof=1)) / math.sqrt(_RUNS))


def _run(case: Case, settings: dict[str, Any], rng: np.random.Generator) -> Performance | None:
    """Train once; None if the readout's samples are of one class."""
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
        return None
    readout = fit_readout(features, np.where(y == 1, 1.0, -1.0), settings["reg"], loss)
    if learned is None:
        return pooled_performance(problem, *readout, direction, loss=loss)
    law = sample_feature_law(
        problem, _POINTS, cosine=learned.cosine, sharpness=learned.sharpness, random_state=rng
    )
    return exact_performance(law, *readout, query, direction, loss=loss)
