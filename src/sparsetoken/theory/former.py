"""Names of 0.3 that still work and warn; they go in 0.6."""

import warnings
from collections.abc import Iterable
from typing import Any

from sparsetoken.theory.learning.optimal import Optimal, optimal
from sparsetoken.theory.readout.risk import risk, two_step_risk
from sparsetoken.theory.readout.trained import Risk


def _warn(name: str, instead: str) -> None:
    message = f"{name} goes in 0.6: {instead} takes a sequence as well as a number"
    warnings.warn(message, FutureWarning, stacklevel=3)


def risk_curve(problem: Any, model: Any, *, alphas: Iterable[float], **options: Any) -> list[Risk]:
    """Return :func:`~sparsetoken.theory.risk` of a sequence of alphas."""
    _warn("risk_curve", "alpha of risk")
    return risk(problem, model, alpha=list(alphas), **options)


def two_step_curve(
    problem: Any, *, alphas0: Iterable[float], alphas1: Iterable[float], **options: Any
) -> list[Risk]:
    """Return :func:`~sparsetoken.theory.two_step_risk` of sequences of alphas."""
    _warn("two_step_curve", "alpha0 and alpha1 of two_step_risk")
    return two_step_risk(problem, alpha0=list(alphas0), alpha1=list(alphas1), **options)


def optimal_curve(
    problem: Any, alphas: Iterable[float], unlabelled: float = 0.0, **options: Any
) -> list[Optimal]:
    """Return :func:`~sparsetoken.theory.optimal` of a sequence of alphas."""
    _warn("optimal_curve", "alpha of optimal")
    return optimal(problem, list(alphas), unlabelled, **options)
