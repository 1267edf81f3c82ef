"""The best that any learner can do with so many samples (docs/theory, section 17)."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from scipy.stats import hypergeom

from sparsetoken._validation import as_list, check_count, check_real, is_several
from sparsetoken.estimate import Estimate, Record, standard_error
from sparsetoken.population import AnyProblem, check_problem
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.curves import check_within
from sparsetoken.theory.optimal_precision import seen_lengths, tabulate_precision
from sparsetoken.theory.optimal_solution import LearningSolution, stable_solutions

_POINTS = 4096
_MOST_SAMPLES = 1e9


@dataclass(frozen=True, repr=False)
class Optimal(LearningSolution):
    """The best that any learner can do: :func:`~sparsetoken.theory.optimal` makes it.

    ``cosine``, ``overlap``, ``test_error``, ``auc`` and ``recall(fpr)`` are those of the
    Bayes-optimal learner.
    """

    columns = (*LearningSolution.columns, "hard")

    from_nothing: LearningSolution
    """What the quick iteration reaches that begins without knowledge."""
    informed: LearningSolution
    """What it would reach if it began at the truth."""

    @property
    def hard(self) -> bool:
        """Whether the samples tell more than the iteration from nothing finds."""
        return self.overlap != self.from_nothing.overlap

    def __repr__(self) -> str:
        extra = f", unlabelled={self.unlabelled:g}" if self.unlabelled else ""
        return (
            f"Optimal(cosine={self.cosine:.6g}, test_error={self.test_error:.6g} ± "
            f"{self.uncertainty:.1g}, alpha={self.alpha:g}{extra}{', hard' if self.hard else ''})"
        )


@overload
def optimal(
    problem: AnyProblem, alpha: float = 2.0, unlabelled: float = 0.0, *, n_points: int = _POINTS
) -> Optimal: ...
@overload
def optimal(
    problem: AnyProblem,
    alpha: Iterable[float],
    unlabelled: float = 0.0,
    *,
    n_points: int = _POINTS,
) -> list[Optimal]: ...
def optimal(
    problem: AnyProblem,
    alpha: float | Iterable[float] = 2.0,
    unlabelled: float = 0.0,
    *,
    n_points: int = _POINTS,
) -> Optimal | list[Optimal]:
    """Return the best that any learner can do with so many samples, in high dimension.

    No classifier trained on ``alpha`` labelled samples per dimension, and ``unlabelled`` others,
    has a smaller expected test error, whatever its architecture and training; nor if it is told the
    strength of the signal.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data. Lengths and recorded labels are seen, kinds are not.
    alpha : float or sequence of float, default=2.0
        Labelled samples per dimension; ``math.inf`` for the limit of a known direction. A sequence
        gives a list of results.
    unlabelled : float, default=0.0
        Further samples per dimension whose labels are not recorded.
    n_points : int, default=4096
        Points per class, used where several tokens of a sequence carry the signal or kinds of one
        length differ. One signal token is exact.

    Returns
    -------
    Optimal, or list of Optimal
        With ``cosine``, ``overlap``, ``test_error``, ``auc``, ``recall(fpr)``, ``hard``,
        ``from_nothing`` and ``informed``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> best = st.theory.optimal(problem, alpha=2.0)
    >>> round(best.cosine, 4), round(best.test_error, 4), best.hard
    (0.9805, 0.02, False)
    >>> [round(best.test_error, 4) for best in st.theory.optimal(problem, [0.5, 1.0, 2.0])]
    [0.0286, 0.023, 0.0203]

    Long sequences can be hard: the samples tell the direction, but no quick algorithm is known that
    finds it.

    >>> long = st.theory.optimal(st.SparseTokenProblem(n_tokens=5000, signal=5.0), alpha=3.0)
    >>> long.hard, round(long.cosine, 3), round(long.from_nothing.cosine, 3)
    (True, 0.984, 0.097)
    """
    _check(problem)
    unlabelled = check_within("unlabelled", unlabelled, 0.0, _MOST_SAMPLES, math.inf)
    n_points = check_count("n_points", n_points, minimum=256)
    curve = []
    for value in as_list(alpha):
        labelled = check_within("alpha", value, 0.0, _MOST_SAMPLES, math.inf)
        solutions = stable_solutions(problem, labelled, unlabelled, n_points)
        best = max(solutions, key=lambda solution: solution.free_entropy)
        numbers = {each.name: getattr(best, each.name) for each in fields(LearningSolution)}
        curve.append(Optimal(**numbers, from_nothing=solutions[0], informed=solutions[-1]))
    return curve if is_several(alpha) else curve[0]


def _check(problem: AnyProblem) -> None:
    check_problem(problem)
    check_real("positive_rate", problem.positive_rate, low=1e-6, high=1.0 - 1e-6)


@dataclass(frozen=True)
class LearningThresholds(Record):
    """Labelled samples per dimension between which learning is possible but hard."""

    columns = ("information", "iteration", "iteration_law", "hard")

    information: Estimate
    """From here on the samples determine the direction well."""
    iteration: Estimate
    """From here on the quick iteration finds it."""
    iteration_law: float
    """The latter for long sequences: L/(eρ̄θ⁴R²) with ρ̄ the fraction of labelled positives."""
    hard: bool
    """Whether there is such a range."""


def learning_thresholds(problem: AnyProblem, *, n_points: int = _POINTS) -> LearningThresholds:
    """Return the samples per dimension at which learning is possible, and at which it is quick.

    Between them ``optimal(problem, alpha).hard`` is True. Where it never is, both are the number of
    samples at which the cosine rises fastest.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    n_points : int, default=4096
        As in :func:`optimal`.

    Returns
    -------
    LearningThresholds
        With ``information``, ``iteration``, ``iteration_law`` and ``hard``. Infinite without a
        signal.

    Examples
    --------
    >>> import sparsetoken as st
    >>> found = st.theory.learning_thresholds(st.SparseTokenProblem(n_tokens=5000, signal=5.0))
    >>> round(found.information, 3), round(found.iteration, 2), round(found.iteration_law, 2)
    (0.306, 6.14, 5.89)
    """
    _check(problem)
    n_points = check_count("n_points", n_points, minimum=256)
    precision = tabulate_precision(problem, n_points)
    if precision(1.0)[0] <= 1e-290:
        infinite = Estimate(math.inf)
        return LearningThresholds(infinite, infinite, math.inf, False)

    def log_alpha(log_odds: Any) -> Any:
        return log_odds - np.log(precision(expit(log_odds))[..., 0])

    grid = np.linspace(-30.0, 20.0, 20_001)
    values = log_alpha(grid)
    rises = np.diff(values) > 0.0
    tops = 1 + np.flatnonzero(rises[:-1] & ~rises[1:])
    law = _iteration_law(problem)
    batches = np.moveaxis(precision.batches, 1, 0)
    relative = math.hypot(np.max(standard_error(batches) / batches.mean(axis=0)), 1e-5)
    if tops.size == 0:
        slopes = np.diff(values) / np.diff(grid)
        steepest = math.exp(values[int(np.argmin(slopes))])
        both = Estimate(steepest, relative * steepest)
        return LearningThresholds(both, both, law, False)
    bottoms = 1 + np.flatnonzero(~rises[:-1] & rises[1:])
    escape = float(values[tops].max())
    first = float(values[bottoms].min())

    def gain(log_value: float) -> float:
        solutions = stable_solutions(problem, math.exp(log_value), 0.0, n_points)
        return max(s.free_entropy for s in solutions) - solutions[0].free_entropy - 1e-12

    inside = np.linspace(first + 1e-9, escape - 1e-9, 65)
    gains = np.array([gain(value) for value in inside])
    start = int(np.argmax(gains > 0.0))
    information = inside[0]
    if start > 0:
        information = brentq(gain, inside[start - 1], inside[start], xtol=1e-9)
    low, high = (Estimate(math.exp(v), relative * math.exp(v)) for v in (information, escape))
    return LearningThresholds(low, high, law, True)


def _iteration_law(problem: AnyProblem) -> float:
    """Return where iteration escapes if M is small and chance agreements of places are rare.

    Then two samples of the posterior agree in j signal tokens as two places at random do, weighted
    by exp(Mθθ′j): samples per dimension are M over the mean of θθ′ j exp(Mθθ′j), at its largest.
    """
    terms = []  # weight and rate of j exp(Mθθ′j)
    for kinds, fractions, priors, masses in seen_lengths(problem):
        chance = float(masses[:2] @ priors[:2] ** 2)
        pairs = itertools.product(zip(kinds, fractions, strict=True), repeat=2)
        for (kind, fraction), (other, other_fraction) in pairs:
            product = kind.signal * other.signal
            agree, probability = _agreement(kind, other)
            weights = chance * fraction * other_fraction * product * probability * agree
            terms += list(zip(weights, product * agree, strict=True))
    weights, rates = np.array([term for term in terms if term[0] > 0.0]).T

    def log_needed(log_overlap: float) -> float:
        exponents = np.log(weights) + rates * math.exp(log_overlap)
        return log_overlap - float(np.logaddexp.reduce(exponents))

    top = -math.log(rates.max())
    low = -math.log(float(weights @ rates / weights.sum())) - 5.0
    grid = np.linspace(low, top + 3.0, 60)
    start = grid[int(np.argmax([log_needed(place) for place in grid]))]
    least = minimize_scalar(
        lambda place: -log_needed(place), bounds=(start - 1.0, start + 1.0), method="bounded"
    )
    return math.exp(-float(least.fun))


def _agreement(kind: SparseTokenProblem, other: SparseTokenProblem) -> tuple[Any, Any]:
    """Return how many signal tokens two places at random have in common, and how likely."""
    if kind.in_runs and other == kind:
        common = np.arange(1, kind.n_signal + 1)
        places = kind.n_tokens - kind.n_signal + 1
        apart = kind.n_signal - common
        pairs = np.where(apart == 0, places, 2 * np.maximum(places - apart, 0))
        return common, pairs / places**2
    most = min(kind.n_signal, other.n_signal)
    common = np.arange(1, most + 1)
    probability = hypergeom.pmf(common, kind.n_tokens, kind.n_signal, other.n_signal)
    return common[probability > 1e-300], probability[probability > 1e-300]
