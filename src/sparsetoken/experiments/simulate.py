"""Simulation of a cell: trials with the exact reduced samplers and exact test errors."""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sparsetoken.estimators.readout import Readout, fit_readout
from sparsetoken.experiments.cell import Cell, Measurement
from sparsetoken.experiments.protocols import learn_on_same_data
from sparsetoken.experiments.values import ALIGNMENT
from sparsetoken.experiments.vectorized import sample_vectorized, vectorized_test_error
from sparsetoken.losses import Hinge, get_loss
from sparsetoken.pooling import pooling_models
from sparsetoken.problem import random_direction
from sparsetoken.sampling import (
    LearnedQuery,
    exact_performance,
    pooled_performance,
    sample_feature_law,
    sample_features,
    sample_query,
)

__all__ = ["simulate"]

Floats = NDArray[Any]

_POINTS = 16384  # random points per class; their noise is part of the scatter of the trials
# The hinge loss with a ridge that matters only to separators as long as √(2/(n·ridge)).
_SEPARATING_RIDGE = 1e-9


def simulate(cell: Cell) -> dict[str, Measurement]:
    """Return the mean over the cell's trials of each quantity, with its standard error."""
    trials = cell.values["trials"]
    seeds = np.random.SeedSequence(cell.seed).spawn(trials)
    results = [_trial(cell, np.random.default_rng(seed)) for seed in seeds]
    found = {}
    for quantity in cell.quantities:
        values = np.array([result[quantity] for result in results])
        error = float(values.std(ddof=1)) / math.sqrt(trials)
        found[quantity] = Measurement(float(values.mean()), error)
    return found


class _Training(NamedTuple):
    """Training features with their labels; what is needed to judge a readout of them."""

    features: Floats
    sign: Floats
    query: LearnedQuery | None
    readout: Readout | None = None


def _trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    wanted = set(cell.quantities)
    query = _draw_query(cell, rng)
    if query is not None and wanted <= set(ALIGNMENT):
        return {name: getattr(query, name) for name in wanted}
    training = _draw_training(cell, query, rng)
    if np.unique(training.sign).size < 2:
        raise ValueError(
            f"a trial drew only one class among {training.sign.size} training samples: "
            "raise dim, alpha or positive_rate"
        )
    result = {name: getattr(training.query, name) for name in wanted & set(ALIGNMENT)}
    if "separable" in wanted:
        result["separable"] = float(_separable(training))
    if wanted & {"test_error", "train_loss", "train_error"}:
        loss = get_loss(cell.values["loss"])
        readout = training.readout or fit_readout(
            training.features, training.sign, cell.values["reg"], loss
        )
        margins = _margins(training, readout)
        result["train_loss"] = float(np.mean(loss.value(margins, 1.0)))
        result["train_error"] = float(np.mean(margins < 0.0))
        if "test_error" in wanted:
            result["test_error"] = _test_error(cell, training, readout, rng)
    return result


def _separable(training: _Training) -> bool:
    """Whether some readout has no training error.

    The margins decide, so it does not matter whether the separator found is the shortest.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        separator = fit_readout(training.features, training.sign, _SEPARATING_RIDGE, Hinge())
    return bool((_margins(training, separator) > 0.0).all())


def _margins(training: _Training, readout: Readout) -> Floats:
    return training.sign * (training.features @ readout.coef + readout.intercept)


def _draw_query(cell: Cell, rng: np.random.Generator) -> LearnedQuery | None:
    """Draw the learned query, or make the one that is asked for."""
    dim = cell.values["dim"]
    if cell.frozen:
        direction = random_direction(dim, rng)
        other = random_direction(dim, rng)
        other -= (other @ direction) * direction
        other /= np.linalg.norm(other)
        cosine, sharpness = cell.values["cosine"], cell.values.get("sharpness", 1.0)
        query = sharpness * (cosine * direction + math.sqrt(1.0 - cosine**2) * other)
        return LearnedQuery(query, np.zeros(dim), 0.0, direction, 1.0)
    if "lr_query" not in cell.values or cell.values.get("protocol", "two-step") != "two-step":
        return None
    return sample_query(
        cell.problem,
        _samples(cell.alpha0, dim),
        dim,
        loss=get_loss(cell.values["loss"]),
        random_state=rng,
        **{name: cell.values[name] for name in ("beta", "lr_readout", "lr_bias", "lr_query")},
    )


def _samples(alpha: float, dim: int) -> int:
    return max(2, round(alpha * dim))


def _draw_training(cell: Cell, query: LearnedQuery | None, rng: np.random.Generator) -> _Training:
    dim, model, problem = cell.values["dim"], cell.values["model"], cell.problem
    n_samples = _samples(cell.alpha1, dim)
    if model == "vectorized":
        features, y = sample_vectorized(problem, n_samples, dim, rng)
        return _Training(features, 2.0 * y - 1.0, None)
    if model == "pooled":
        first = np.eye(1, dim)[0]  # every direction is as good as another
        features, y = sample_features(
            problem, n_samples, np.zeros(dim), first, pooling="mean", random_state=rng
        )
        return _Training(features, 2.0 * y - 1.0, None)
    if query is None:
        return _Training(*learn_on_same_data(cell, n_samples, rng))
    features, y = sample_features(
        problem,
        n_samples,
        query.query,
        query.direction,
        pooling=pooling_models()[model],
        beta=query.beta,
        random_state=rng,
    )
    return _Training(features, 2.0 * y - 1.0, query)


def _test_error(
    cell: Cell, training: _Training, readout: Readout, rng: np.random.Generator
) -> float:
    """Return the probability of an error on a fresh sample of the problem to test on."""
    problem, model = cell.test_problem, cell.values["model"]
    if model == "vectorized":
        return vectorized_test_error(problem, readout.coef, readout.intercept, rng)
    if model == "pooled":
        first = np.eye(1, readout.coef.size)[0]
        return float(pooled_performance(problem, *readout, first).test_error)
    query = training.query
    assert query is not None
    law = sample_feature_law(
        problem,
        _POINTS,
        cosine=query.cosine,
        sharpness=query.sharpness,
        pooling=pooling_models()[model],
        random_state=rng,
    )
    tested = exact_performance(law, readout.coef, readout.intercept, query.query, query.direction)
    return float(tested.test_error)
