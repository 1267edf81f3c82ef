"""Predicted errors of trained classifiers, and the best ridge of each point.

A query may be given, or learned by two gradient steps: the published protocol (docs/theory,
sections 3 and 4 together).
"""

import math
from collections.abc import Iterable
from typing import Any, Literal, overload

from scipy.optimize import minimize_scalar

from sparsetoken._validation import as_list, check_real, check_within, is_several
from sparsetoken.estimate import warn_not_converged
from sparsetoken.law import Readout
from sparsetoken.losses import Loss, get_loss
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling
from sparsetoken.problem import Problem, check_problem
from sparsetoken.theory.features import DEFAULT_POINTS, LARGEST_SHARPNESS, FeatureModel, get_model
from sparsetoken.theory.readout.saddle import ReadoutObjective
from sparsetoken.theory.readout.solver import solve
from sparsetoken.theory.readout.trained import Risk, any_bias, coarser, solve_point
from sparsetoken.theory.two_steps import alignment

_RIDGES = -6.0, 3.0  # decades of the ridge among which the best is searched
_LEAST_RIDGE, _LARGEST_RIDGE = 1e-12, 1e12
_LEAST_RATIO, _LARGEST_RATIO = 1e-6, 1e9

Ridge = float | Literal["best"]


@overload
def risk(
    problem: Problem, model: str | Pooling, *, alpha: float, reg: Ridge, **options: Any
) -> Risk: ...
@overload
def risk(
    problem: Problem, model: str | Pooling, *, alpha: Iterable[float], reg: Ridge, **options: Any
) -> list[Risk]: ...
def risk(  # type: ignore[misc]  # the overloads leave out what does not decide the type
    problem: Problem,
    model: str | Pooling,
    *,
    alpha: float | Iterable[float],
    reg: Ridge,
    loss: Any = "logistic",
    cosine: float | None = None,
    sharpness: float | None = None,
    n_points: int = DEFAULT_POINTS,
) -> Risk | list[Risk]:
    """Predict the performance of a trained classifier in the high-dimensional limit.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    model : {"vectorized", "pooled", "attention", "hardmax", "elementwise"} or Pooling
        The classifier. All but the first two need ``cosine`` and, except "hardmax", ``sharpness``.
    alpha : float or sequence of float
        Training samples per dimension; ``math.inf`` for the population limit. A sequence gives a
        list of results.
    reg : float or "best"
        Ridge λ ≥ 0. Zero is the limit of a vanishing ridge: the minimum-norm solution for the
        square loss, and for the others defined above capacity only. "best" is the one with the
        least test error, to a third of a decade, of 1e-6 … 1e3 times the variance of a feature;
        the result has it as ``reg``.
    loss : str or object, default="logistic"
        "logistic", "square", "hinge" or a loss object.
    cosine, sharpness : float, optional
        Cosine ⟨q, ξ⟩/‖q‖ between the frozen query and the signal, and β‖q‖.
    n_points : int, default=16384
        Points per class for the law of the attention features; more are more accurate and slower.

    Returns
    -------
    Risk, or list of Risk

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> st.theory.risk(problem, "pooled", alpha=2.0, reg=1e-2)
    Risk(pooled, test_error=0.293358 ± 1e-08, train_loss=0.31439, alpha=2, reg=0.01)
    >>> r = st.theory.risk(problem, "attention", alpha=2.0, reg=1e-2, cosine=0.95, sharpness=1.0)
    >>> round(r.test_error, 3), round(r.auc, 3)
    (0.033, 0.996)

    A learning curve:

    >>> curve = st.theory.risk(problem, "pooled", alpha=[1.0, 2.0, 4.0], reg=1e-2)
    >>> [round(r.test_error, 3) for r in curve]
    [0.329, 0.293, 0.262]
    """
    alphas = as_list(alpha)
    classifier = get_model(model, cosine, sharpness, n_points)
    results = solve_each(problem, [(classifier, each) for each in alphas], reg, loss)
    return results if is_several(alpha) else results[0]


@overload
def two_step_risk(
    problem: Problem, *, alpha0: float, alpha1: float, reg: Ridge, **options: Any
) -> Risk: ...
@overload
def two_step_risk(
    problem: Problem,
    *,
    alpha0: float | Iterable[float],
    alpha1: float | Iterable[float],
    reg: Ridge,
    **options: Any,
) -> list[Risk]: ...
def two_step_risk(  # type: ignore[misc]  # the overloads leave out what does not decide the type
    problem: Problem,
    *,
    alpha0: float | Iterable[float],
    alpha1: float | Iterable[float],
    reg: Ridge,
    loss: Any = "logistic",
    beta: float = 1.0,
    lr_readout: float = 1.0,
    lr_bias: float = 1.0,
    lr_query: float = 20.0,
    n_points: int = DEFAULT_POINTS,
) -> Risk | list[Risk]:
    """Predict the attention classifier trained by the two-step protocol.

    Two gradient steps on ``alpha0`` samples per dimension give the query; readout and bias are then
    fully optimized on ``alpha1`` fresh samples per dimension.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    alpha0, alpha1 : float or sequence of float
        Samples per dimension for the query and for the readout. Sequences, equally long, give a
        list of results; a number goes with every one of the other.
    reg : float or "best"
        Ridge of the readout, as in :func:`risk`.
    loss : str or object, default="logistic"
        The loss, of both stages.
    beta, lr_readout, lr_bias, lr_query : float
        Inverse temperature and learning rates of the two steps.
    n_points : int, default=16384
        Points per class for the law of the attention features.

    Returns
    -------
    Risk, or list of Risk
        With the query's ``cosine`` and ``sharpness``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> r = st.theory.two_step_risk(problem, alpha0=2.0, alpha1=2.0, reg=1e-2)
    >>> round(r.cosine, 3), round(r.test_error, 3)
    (0.948, 0.032)
    >>> curve = st.theory.two_step_risk(problem, alpha0=[1.0, 2.0], alpha1=[1.0, 2.0], reg=1e-2)
    >>> [round(r.test_error, 3) for r in curve]
    [0.041, 0.032]
    """
    rates: dict[str, Any] = {"beta": beta, "lr_readout": lr_readout, "lr_bias": lr_bias}
    first = [check_real("alpha0", a, 0.0, above=True, infinite=True) for a in as_list(alpha0)]
    second = [_check_ratio("alpha1", a) for a in as_list(alpha1)]
    first = first if is_several(alpha0) else first * len(second)
    second = second if is_several(alpha1) else second * len(first)
    if len(first) != len(second):
        raise ValueError(
            f"alpha0 and alpha1 must be equally many, got {len(first)} and {len(second)}"
        )
    places = []
    for for_query, for_readout in zip(first, second, strict=True):
        learned = alignment(problem, alpha=for_query, loss=loss, lr_query=lr_query, **rates)
        if learned.sharpness > LARGEST_SHARPNESS:
            raise ValueError(
                f"the learned query has sharpness {learned.sharpness:.3g}, above "
                f"{LARGEST_SHARPNESS:g}; lower beta, lr_readout or lr_query"
            )
        model = get_model("attention", learned.cosine, learned.sharpness, n_points)
        places.append((model, for_readout))
    results = solve_each(problem, places, reg, loss)
    return results if is_several(alpha0) or is_several(alpha1) else results[0]


def solve_each(
    problem: Problem,
    places: Iterable[tuple[FeatureModel, float]],
    reg: Ridge,
    loss: Any,
) -> list[Risk]:
    """Solve for each model with its samples per dimension, from the solution before it."""
    best = isinstance(reg, str) and reg == "best"
    ridge = 0.0 if best else check_within("reg", reg, _LEAST_RIDGE, _LARGEST_RIDGE, 0.0)
    loss = get_loss(loss)
    check_problem(problem)
    check_real("positive_rate", problem.positive_rate, low=1e-6, high=1.0 - 1e-6)
    results: list[Risk] = []
    before: tuple[Readout, Readout] | None = None
    for model, samples in places:
        alpha = _check_ratio("alpha", samples)
        if best:
            ridge, coarse = _best_ridge(problem, model, alpha, loss)
            before = coarse, coarse
        found = solve_point(problem, model, alpha, ridge, loss, before)
        before = found._path if found.converged and math.isfinite(alpha) else None
        results.append(found)
    if not all(result.converged for result in results):
        warn_not_converged(f"risk of {results[0].model.name}")
    return results


def _check_ratio(name: str, value: Any) -> float:
    return check_within(name, value, _LEAST_RATIO, _LARGEST_RATIO, math.inf)


def _best_ridge(
    problem: Problem, model: FeatureModel, alpha: float, loss: Loss
) -> tuple[float, Readout]:
    """Return the ridge of the least test error, and the solution there on the first batch.

    The first batch of points suffices: the error is flat around the best ridge.
    """
    law = model.law(problem, problem)
    first = law.batch(0)
    unit = first.points.average(first.points.scale**2)  # a ridge of as much as a feature varies
    ratio = model.ratio(problem, alpha)
    tried: dict[float, Readout] = {}

    def error(decade: float) -> float:
        near = min(tried, key=lambda other: abs(other - decade), default=math.inf)
        objective = coarser(law, ReadoutObjective(law.points, loss, ratio, unit * 10.0**decade))
        saddle = solve(objective, tried[near] if abs(near - decade) < 1.5 else None, 1e-6)
        tried[decade] = saddle.readout
        if not saddle.converged or any_bias(saddle):
            return 1.0  # worse than any
        return float(Performance(first, saddle.readout, loss).test_error)

    found = minimize_scalar(error, bounds=_RIDGES, method="bounded", options={"xatol": 0.3})
    return unit * 10.0 ** float(found.x), tried[float(found.x)]
