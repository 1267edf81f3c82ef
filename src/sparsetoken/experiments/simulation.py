"""Simulation of a cell: trials with the exact reduced samplers, each judged on points of its own.

Nothing of the theory is used: the law of the features on which a trained readout is tested is drawn
by :mod:`sparsetoken.sampling`. Training of all parameters and self-attention layers have no reduced
sampler: their tokens are drawn.
"""

import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from sparsetoken.estimate import Estimate
from sparsetoken.estimators.head_passes import Heads, head_gradients
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.estimators.two_step import two_gradient_steps
from sparsetoken.experiments.cell import DESCENT, ONE_SET, Cell
from sparsetoken.experiments.descent import descend
from sparsetoken.experiments.layers import layered_features
from sparsetoken.experiments.queries import (
    count_samples,
    given_query,
    learn_query,
    required_samples,
    two_steps,
)
from sparsetoken.experiments.vectorized import sample_vectorized, vectorized_performance
from sparsetoken.law import Readout
from sparsetoken.losses import Hinge, get_loss
from sparsetoken.performance import Performance
from sparsetoken.pooling import Stacked
from sparsetoken.population import AnyProblem, lengths, windows
from sparsetoken.problem import random_direction
from sparsetoken.sampling import (
    LearnedQuery,
    exact_performance,
    pooled_performance,
    sample_feature_law,
    sample_features,
)
from sparsetoken.sampling.exact import readout_coordinates
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import attention_features, pooled_features
from sparsetoken.sequences.sequences import as_sequences
from sparsetoken.vocabulary import MEASURED

__all__ = ["simulate"]

Floats = NDArray[Any]

# The hinge loss with a ridge that matters only to separators as long as √(2/(n·ridge)).
_SEPARATING_RIDGE = 1e-9
_NUMBERS = 600_000  # tokens drawn to judge one readout, within these numbers of points
_LEAST_POINTS, _MOST_POINTS, _MOST_WINDOWS = 2_048, 16_384, 262_144
_TESTED = ("test_error", "test_loss", "auc", "recall", "false_positives")
_COUNTED = 4_000  # dense samples on which the errors of self-attention layers are counted


def simulate(cell: Cell) -> dict[str, Estimate]:
    """Return the mean over the cell's trials of each quantity, with its standard error."""
    trials = cell.values["trials"]
    seeds = np.random.SeedSequence(cell.seed).spawn(trials)
    if cell.quantities == ("required_samples",):
        return {"required_samples": required_samples(cell, seeds)}
    results = [_trial(cell, np.random.default_rng(seed)) for seed in seeds]
    found = {}
    for quantity in cell.quantities:
        values = np.array([result[quantity] for result in results])
        error = float(values.std(ddof=1)) / math.sqrt(trials)
        found[quantity] = Estimate(float(values.mean()), error)
    return found


class _Training(NamedTuple):
    """Training features with their labels; the query, and the readout if it is trained already."""

    features: Floats
    sign: Floats
    query: LearnedQuery | None
    readout: LinearReadout | None = None
    n_tokens: int = 0
    """Of a vectorized model."""

    @property
    def direction(self) -> Floats:
        """The signal's direction; for a vectorized model evenly spread over the tokens."""
        if self.query is not None:
            return self.query.direction
        along = np.arange(self.features.shape[1]) < self.n_tokens
        return along / math.sqrt(self.n_tokens)


def _trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    groups = {quantity: MEASURED[quantity].group for quantity in cell.quantities}
    if cell.values.get("model") == DESCENT:
        return _descended(cell, rng)
    if "depth" in cell.values:
        return _layered(cell, rng)
    query = _draw_query(cell, rng)
    if query is not None and set(groups.values()) == {"query"}:
        return {name: getattr(query, name) for name in groups}
    training = _draw_training(cell, query, rng)
    if np.unique(training.sign).size < 2:
        raise ValueError(
            f"a trial drew only one class among {training.sign.size} training samples: "
            "raise dim, alpha or positive_rate"
        )
    result = {name: getattr(training.query, name) for name in groups if groups[name] == "query"}
    if "separable" in groups:
        result["separable"] = float(_separable(training))
    if "trained" in groups.values():
        result |= _trained(cell, training, rng)
    return result


def _trained(cell: Cell, training: _Training, rng: np.random.Generator) -> dict[str, float]:
    loss = get_loss(cell.values["loss"])
    readout = training.readout or fit_readout(
        training.features, training.sign, cell.values["reg"], loss
    )
    margins = _margins(training, readout)
    result = {
        "train_loss": float(np.mean(loss.value(margins, 1.0))),
        "train_error": float(np.mean(margins < 0.0)),
    }
    result |= _state(training, readout, cell.values["model"])
    wanted = [name for name in cell.quantities if name in _TESTED]
    tested = _performance(cell, training.query, readout, rng) if wanted else None
    for name in wanted:
        value: Any = getattr(tested, name, None)
        if name == "recall":
            value = value(fpr=cell.values["fpr"])
        elif name == "false_positives":
            value = _false_positives(cell, training, readout, tested, rng)
        result[name] = float(value)
    return result


def _state(training: _Training, readout: LinearReadout, model: str) -> dict[str, float]:
    """Return the trained bias, and the readout in its parts along query and signal."""
    coef, query = readout.coef, training.query
    direction = training.direction
    overlap = float(coef @ direction)
    spread = math.sqrt(max(float(coef @ coef) - overlap**2, 0.0))
    found = Readout(0.0, overlap, readout.intercept, spread)
    if query is not None and model != "pooled":
        found = readout_coordinates(coef, readout.intercept, query.query, direction)
    return {
        "trained_bias": readout.intercept,
        "trained_along_query": found.along_query,
        "trained_along_rest": found.along_rest,
        "trained_overlap": overlap,
        "trained_spread": found.spread,
        "trained_norm": float(np.linalg.norm(coef)),
    }


def _false_positives(
    cell: Cell,
    training: _Training,
    readout: LinearReadout,
    tested: Performance | None,
    rng: np.random.Generator,
) -> float:
    """Return the rate, in testing, of the threshold that holds ``fpr`` in training."""
    assert tested is not None
    before = _performance(cell, training.query, readout, rng, trained=True)
    return tested.rates(before.threshold(fpr=cell.values["fpr"])).fpr


def _margins(training: _Training, readout: LinearReadout) -> Floats:
    return training.sign * (training.features @ readout.coef + readout.intercept)


def _separable(training: _Training) -> bool:
    """Whether some readout has no training error.

    The margins decide, so it does not matter whether the separator found is the shortest.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        separator = fit_readout(training.features, training.sign, _SEPARATING_RIDGE, Hinge())
    return bool((_margins(training, separator) > 0.0).all())


def _draw_query(cell: Cell, rng: np.random.Generator) -> LearnedQuery | None:
    """Draw the learned query, or make the one that is asked for."""
    dim = cell.values["dim"]
    if "cosine" in cell.values:
        direction = random_direction(dim, rng)
        return given_query(cell, direction, rng)
    if not cell.learns_query or cell.values.get("model") in ONE_SET:
        return None
    return learn_query(cell, cell.alpha0, rng)


def _descended(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Train all parameters on dense tokens; test as any attention is tested."""
    values, dim = cell.values, cell.values["dim"]
    names = ("steps", "batches", "beta", "lr_readout", "lr_bias", "lr_query", "reg")
    given = {name: values[name] for name in names} | {"loss": get_loss(values["loss"])}
    *_, last = descend(cell.problem, count_samples(values["alpha"], dim), dim, rng=rng, **given)
    query = LearnedQuery(last.query, last.readout, last.bias, last.direction, values["beta"])
    readout = LinearReadout(last.readout, last.bias)
    found = {"train_loss": last.train_loss} | {
        name: getattr(query, name) for name in cell.quantities if hasattr(query, name)
    }
    if "test_error" in cell.quantities:
        found["test_error"] = float(_performance(cell, query, readout, rng).test_error)
    return found


def _layered(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Train and test a readout of self-attention layers, whose errors are counted."""
    values, loss, layers = cell.values, get_loss(cell.values["loss"]), cell.pooling
    assert isinstance(layers, Stacked)
    n_samples, dim = count_samples(cell.alpha1, values["dim"]), values["dim"]
    X, y, truth = cell.problem.sample(n_samples, dim, random_state=rng, return_truth=True)
    query = given_query(cell, truth.direction, rng).query
    features, sign = layered_features(X, query, layers), np.asarray(2.0 * y - 1.0)
    readout = fit_readout(features, sign, values["reg"], loss)
    X, y = cell.test_problem.sample(_COUNTED, dim, random_state=rng, direction=truth.direction)
    fresh = layered_features(X, query, layers)
    found = {}
    for part, rows, signs in (("train", features, sign), ("test", fresh, 2.0 * y - 1.0)):
        margins = signs * (rows @ readout.coef + readout.intercept)
        found[f"{part}_loss"] = float(np.mean(loss.value(margins, 1.0)))
        found[f"{part}_error"] = float(np.mean(margins < 0.0))
    return found


def _draw_training(cell: Cell, query: LearnedQuery | None, rng: np.random.Generator) -> _Training:
    dim, model, problem = cell.values["dim"], cell.values["model"], cell.problem
    n_samples = count_samples(cell.alpha1, dim)
    if model in ONE_SET:
        return _learn_on_one_set(cell, n_samples, rng)
    if model == "vectorized":
        features, y = sample_vectorized(problem, n_samples, dim, rng)
        return _Training(features, 2.0 * y - 1.0, None, n_tokens=lengths(problem)[0])
    if query is None:  # pooled: every direction is as good as another
        query = LearnedQuery(np.zeros(dim), np.zeros(dim), 0.0, np.eye(1, dim)[0], 1.0)
    features, y = sample_features(
        problem,
        n_samples,
        query.query,
        query.direction,
        pooling=cell.pooling,
        beta=query.beta,
        random_state=rng,
    )
    return _Training(features, 2.0 * y - 1.0, query)


def _learn_on_one_set(cell: Cell, n_samples: int, rng: np.random.Generator) -> _Training:
    """Draw tokens and train on all of them twice: two steps for the query, then the readout.

    The model "joint" then trains query and readout together.
    """
    values = cell.values
    X, y, truth = cell.problem.sample(n_samples, values["dim"], random_state=rng, return_truth=True)
    data, sign = MemoryData(as_sequences(X)), np.where(y == 1, 1.0, -1.0)
    loss, beta = get_loss(values["loss"]), values["beta"]
    weight = np.full(n_samples, 1.0 / n_samples)
    pooled = data.per_sample(pooled_features)
    query = two_gradient_steps(data, pooled, sign, weight, **two_steps(cell) | {"loss": loss})
    features = data.per_sample(attention_features, beta * query)
    readout = fit_readout(features, sign, values["reg"], loss)
    if values["model"] == "joint":
        query, readout = _refine(data, sign, weight, cell, query, readout)
        features = data.per_sample(attention_features, beta * query)
    learned = LearnedQuery(query, readout.coef, readout.intercept, truth.direction, beta)
    return _Training(features, sign, learned, readout)


def _refine(
    data: MemoryData,
    sign: Floats,
    weight: Floats,
    cell: Cell,
    query: Floats,
    readout: LinearReadout,
) -> tuple[Floats, LinearReadout]:
    """Minimise mean loss + (λ/2)(‖w‖² + ‖q‖²) by some steps of L-BFGS from the two-step start."""
    size, reg, beta = query.size, cell.values["reg"], cell.values["beta"]
    columns, only = (sign[:, np.newaxis], weight[:, np.newaxis]), np.zeros(1, dtype=np.int64)

    def objective(point: Floats) -> tuple[float, Floats]:
        query, coef = point[:size, np.newaxis], point[size:-1, np.newaxis]
        head = Heads(np.zeros(size), np.ones(size), beta * query, coef, point[-1:])
        found = data.total(head_gradients, columns, head, only, only)
        (value,), by_query, by_readout, by_bias = found
        gradient = [*(beta * by_query + reg * query).T, *(by_readout + reg * coef).T, by_bias]
        return value + 0.5 * reg * float(point[:-1] @ point[:-1]), np.concatenate(gradient)

    start = np.concatenate([query, readout.coef, [readout.intercept]])
    options = {"maxiter": cell.values["refine_steps"]}
    point = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return point[:size], LinearReadout(point[size:-1], float(point[-1]))


def _performance(
    cell: Cell,
    query: LearnedQuery | None,
    readout: LinearReadout,
    rng: np.random.Generator,
    *,
    trained: bool = False,
) -> Performance:
    """Return what the readout does on fresh samples of the problem to test, or to train, on."""
    model, loss = cell.values["model"], cell.values["loss"]
    n_windows = 1 if trained else cell.n_windows
    problem = windows(cell.problem if trained else cell.test_problem, n_windows)
    if query is None:
        found = vectorized_performance(problem, *readout, rng, loss=loss)
    elif model == "pooled":
        found = pooled_performance(problem, *readout, query.direction, loss=loss)
    else:
        law = sample_feature_law(
            problem,
            _points(problem, n_windows),
            cosine=query.cosine,
            sharpness=query.sharpness,
            pooling=cell.pooling,
            random_state=rng,
        )
        law = replace(law, batches=1)  # the error bar is that of the trials
        found = exact_performance(law, *readout, query.query, query.direction, loss=loss)
    return replace(found, n_windows=n_windows)


def _points(problem: AnyProblem, n_windows: int) -> int:
    """Return how many points to judge a readout on: more where the largest of windows counts."""
    affordable = _NUMBERS // max(lengths(problem)) // len(problem.kinds)
    few = min(max(affordable, _LEAST_POINTS), _MOST_POINTS)
    return few if n_windows == 1 else min(few * n_windows, _MOST_WINDOWS)
