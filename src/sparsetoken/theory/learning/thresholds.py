"""How many samples it takes to learn: at all, and quickly (docs/theory, section 17)."""

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from sparsetoken._types import Floats
from sparsetoken._validation import check_count
from sparsetoken.estimate import Estimate, Record, standard_error
from sparsetoken.problem import Problem
from sparsetoken.theory.learning.information import InformationCurve, information_curve
from sparsetoken.theory.learning.optimal import POINTS, check_learnable, stable_solutions

_RELATIVE = 1e-5  # accuracy of a threshold by its definition


class LearningThresholds(Record):
    """Labelled samples per dimension at which learning is possible, and at which it is quick.

    Only if ``hard`` are they thresholds, between which learning is possible but hard. Otherwise
    the cosine rises smoothly with the number of samples, and both are where it rises fastest.
    """

    columns = ("information", "iteration", "hard")

    information: Estimate
    """From here on the samples determine the direction well."""
    iteration: Estimate
    """From here on the quick iteration finds it."""
    hard: bool
    """Whether there is a range in between, and so a threshold at all."""

    def __repr__(self) -> str:
        if self.hard:
            told = f"information={self.information:.4g}, iteration={self.iteration:.4g}"
        elif math.isinf(self.information):
            told = "no threshold: nothing to learn"
        else:
            told = f"no threshold: the cosine rises fastest at alpha={self.information:.4g}"
        return f"LearningThresholds({told})"


def learning_thresholds(problem: Problem, *, n_points: int = POINTS) -> LearningThresholds:
    """Return the samples per dimension at which learning is possible, and at which it is quick.

    Between them ``optimal(problem, alpha).hard`` is True. Where it never is, there is no threshold:
    ``hard`` is False, and both numbers are the alpha at which the cosine rises fastest with the
    logarithm of alpha. With signal in all tokens that is 1/(2πRθ²), where the cosine is √⅓.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    n_points : int, default=4096
        As in :func:`optimal`.

    Returns
    -------
    LearningThresholds
        With ``information``, ``iteration`` and ``hard``. Infinite without a signal.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.theory.learning_thresholds(st.SparseTokenProblem(n_tokens=5000, signal=5.0))
    LearningThresholds(information=0.306, iteration=6.14)
    >>> st.theory.learning_thresholds(st.SparseTokenProblem(n_tokens=10, signal=5.0))
    LearningThresholds(no threshold: the cosine rises fastest at alpha=0.02342)
    """
    check_learnable(problem)
    n_points = check_count("n_points", n_points, minimum=256)
    curve = information_curve(problem, n_points)
    if curve(1.0)[0] <= 1e-290:
        infinite = Estimate(math.inf)
        return LearningThresholds(infinite, infinite, False)
    grid = np.linspace(-30.0, 20.0, 20_001)
    values = _log_alpha(curve, grid)
    # From one value to the next alpha rises but for rounding, unless there is a hard range.
    rises = np.diff(values) > -1e-9
    tops = 1 + np.flatnonzero(rises[:-1] & ~rises[1:])
    if tops.size == 0:
        steepest = _steepest(curve)
        batches = range(curve.batches.shape[1])
        both = Estimate.from_batches(
            steepest,
            lambda: [_steepest(curve.batch(index)) for index in batches],
            beside=_RELATIVE * steepest,
        )
        return LearningThresholds(both, both, False)
    bottoms = 1 + np.flatnonzero(~rises[:-1] & rises[1:])
    escape = float(values[tops].max())
    possible = _possible(problem, float(values[bottoms].min()), escape, n_points)
    each = np.moveaxis(curve.batches, 1, 0)
    relative = math.hypot(np.max(standard_error(each) / each.mean(axis=0)), _RELATIVE)
    low, high = (Estimate(math.exp(v), relative * math.exp(v)) for v in (possible, escape))
    return LearningThresholds(low, high, True)


def _log_alpha(curve: InformationCurve, log_odds: Floats) -> Floats:
    """Return the logs of the alphas whose solutions M have these log odds."""
    return np.asarray(log_odds - np.log(curve(expit(log_odds))[..., 0]))


def _steepest(curve: InformationCurve) -> float:
    """Return the alpha at which √M rises fastest with log alpha."""

    def rise(log_odds: Floats) -> Floats:
        overlap = expit(log_odds)
        by_odds = 0.5 * np.sqrt(overlap) * (1.0 - overlap)  # of √M
        return np.asarray(by_odds / (1.0 - curve.slope(overlap)[..., 0] * by_odds))

    grid = np.linspace(-30.0, 20.0, 5001)
    best = grid[int(np.argmax(rise(grid)))]
    fine = minimize_scalar(
        lambda log_odds: -float(rise(np.asarray(log_odds))),
        bounds=(best - 0.01, best + 0.01),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return math.exp(float(_log_alpha(curve, np.asarray(fine.x))))


def _possible(problem: Problem, first: float, escape: float, n_points: int) -> float:
    """Return the log alpha from which on a better solution than iteration's is the true one."""

    def gain(log_alpha: float) -> float:
        solutions = stable_solutions(problem, math.exp(log_alpha), 0.0, n_points)
        return max(s.free_entropy for s in solutions) - solutions[0].free_entropy - 1e-12

    inside = np.linspace(first + 1e-9, escape - 1e-9, 65)
    start = int(np.argmax(np.array([gain(value) for value in inside]) > 0.0))
    if start == 0:
        return float(inside[0])
    return float(brentq(gain, inside[start - 1], inside[start], xtol=1e-9))
