"""Solving for the missing quantity: a bracket, a root within it, then the accurate expectation.

With the choices held fixed the expectation is a smooth function of the quantity. Its root is found,
the choices are improved there, and so on. Improving never makes the expectation worse, so the
sequence descends to the root of the best one (policy iteration).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.optimize import brentq

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import Architecture, Choice
from sparsetoken.planner.expectation import FEW_SAMPLES, has_few_samples
from sparsetoken.planner.floors import UnreachableError, floor, why_unreachable
from sparsetoken.planner.request import FEWEST_OF_A_CLASS, Progress, Request, fewest_samples

__all__ = ["Solution", "predict", "solve", "solve_best"]

_TOLERANCE = 3e-3  # of the logarithm of the shortfall, in the search for the best choice
_ACCURACY = 1e-4  # of the same, where the target is met in the end
_LARGEST_RATIO = 1e5
_LARGEST_SIGNAL = 1e3
_LONGEST = 4096
_RAREST = 1e-3


@dataclass(frozen=True)
class Solution:
    """The value found, the choice to go with it, and what to expect there."""

    architecture: Architecture
    request: Request
    choice: Choice
    expected: Estimate
    met_when: str
    """Where the target is met: "above" or "below" the value found, or "" for a prediction."""


class Axis(NamedTuple):
    """How a quantity is searched."""

    better: int
    """+1 if a larger value makes the problem easier, −1 if a smaller one does."""
    low: float
    high: float
    factor: float
    whole: bool = False
    """Whether only whole numbers make sense on the way; others are rounded at the end."""

    def step(self, value: float, towards: int) -> float:
        """Return the next value up (+1) or down (−1), not beyond the end."""
        following = min(max(value * self.factor**towards, self.low), self.high)
        if self.whole:
            following = round(following) if round(following) != value else value + towards
        return following


def predict(
    architecture: Architecture, request: Request, progress: Progress, start: Choice | None = None
) -> Solution:
    """Return the expectation with the best choice; ``start`` is one for a neighbouring request."""
    progress(f"{architecture.name}: choosing the settings")
    case = request.case
    choice = architecture.improve(case, start) if start else architecture.first_choice(case)
    return Solution(architecture, request, choice, architecture.expected(case, choice), "")


def solve_best(models: Sequence[Architecture], request: Request, progress: Progress) -> Solution:
    """Return the solution of the model that does best; if all fail, name each reason."""
    solutions: list[Solution] = []
    failures = []
    for model in models:
        if len(models) > 1 and not model.supports(request.problem):
            continue
        try:
            solutions.append(solve(model, request, progress))
        except UnreachableError as failure:
            failures.append(str(failure))
    if not solutions:
        raise UnreachableError("; ".join(failures))
    return min(solutions, key=_cost)


def _cost(solution: Solution) -> tuple[int, float]:
    """Return what the best of several models has the least of.

    A boundary below which the target is met is best far up, one above which it is met far down. Of
    two models with boundaries of either kind (possible for the positive rate), the one that meets
    the target for balanced classes is better.
    """
    if solution.request.unknown == "error":
        return (0, solution.expected)
    value = solution.request.value
    return (1, -value) if solution.met_when == "below" else (0, value)


def solve(architecture: Architecture, request: Request, progress: Progress) -> Solution:
    """Return where the target is just met, or raise UnreachableError."""
    if request.unknown == "error":
        return predict(architecture, request, progress)
    search = _Search(architecture, request, progress)
    axis = _axis(request)
    bad, good = search.bracket(axis)
    if axis.whole:
        return _finish_whole(search, axis, search.bisect(bad, good))
    value = good if bad == good else search.refine(search.root(bad, good), axis)
    solution = _finish(search, request, value, good >= bad)
    if request.unknown == "positive_rate" and _is_trivial(solution):
        raise UnreachableError(
            f"error={request.error:g} is not reached by {architecture.name} at positive_rate 0.5, "
            f"and below only by always predicting the commoner class, at {value:.3g}; "
            "metric='auc' is not fooled by that, and more samples would help"
        )
    return solution


class _Search:
    """The state of a search: a choice that meets the target at the best value so far."""

    def __init__(self, architecture: Architecture, request: Request, progress: Progress) -> None:
        self.architecture, self.request, self.progress = architecture, request, progress
        self.target = math.log(request.error)
        self.choice = self._best_choice(request.value)

    def _best_choice(self, value: float) -> Choice:
        # From scratch: from easy to hard the best choice may move to another valley.
        return self.architecture.first_choice(self.request.at(value).case)

    def excess(self, value: float, choice: Choice | None = None) -> float:
        """Return how far above the target a choice is, in logarithms, on few points."""
        case = self.request.at(value).case
        return self.architecture.search_value(case, choice or self.choice) - self.target

    def meeting_choice(self, value: float) -> Choice | None:
        """Return a choice that meets the target at ``value``; None if there is none."""
        self.progress(f"{self.architecture.name}: trying {self.request.unknown} {value:.4g}")
        if self.excess(value) <= 0.0:
            return self.choice
        if value == self.request.value:  # the present choice is the best one there
            return None
        better = self._best_choice(value)
        return better if self.excess(value, better) <= 0.0 else None

    def bracket(self, axis: Axis) -> tuple[float, float]:
        """Walk until the target is met at one value and not at the one before: (bad, good).

        Both are the same where there is nothing harder to try.
        """
        request, value = self.request, self.request.value
        met = self.meeting_choice(value) is not None
        towards = -axis.better if met else axis.better
        if met and request.unknown == "n_signal":
            return 0, value  # one signal token is enough: there is nothing below to try
        if request.unknown == "positive_rate" and request.metric.needs_bias:
            towards = -1  # rarer positives make errors rarer too, in the end
        elif not met and request.unknown in ("n_samples", "dim"):
            self._check_floor()
        edge = axis.high if towards > 0 else axis.low
        while value != edge:
            following = axis.step(value, towards)
            choice = self.meeting_choice(following)
            if choice is not None:
                self.choice = choice
            if (choice is not None) != met:
                return (following, value) if met else (value, following)
            value = following
        if met and request.unknown == "n_samples":
            return value, value  # the fewest samples that are planned for are enough
        excess = None if met else self.excess(value, self._best_choice(value))
        raise UnreachableError(why_unreachable(self.architecture, request.at(value), met, excess))

    def _check_floor(self) -> None:
        limit = floor(self.architecture, self.request)
        if limit >= self.request.error:
            raise UnreachableError(
                why_unreachable(self.architecture, self.request, False, None, limit)
            )

    def root(self, bad: float, good: float) -> float:
        """Return the value that just meets the target with the best choice, on few points."""
        for _ in range(8):
            value = _root(self.excess, bad, good)
            self.progress(f"{self.architecture.name}: {self.request.unknown} near {value:.4g}")
            self.choice = self.architecture.improve(self.request.at(value).case, self.choice)
            if self.excess(value) > -_TOLERANCE:
                break
            good = value
        return value

    def refine(self, value: float, axis: Axis) -> float:
        """Return the root with the choice fixed, on many points.

        Few points differ from many by nearly the same everywhere, so their root is sought with
        that difference added.
        """
        if self.architecture.closed_form and not has_few_samples(self.request.at(value).case):
            return value
        for _ in range(6):
            self.progress(f"{self.architecture.name}: expecting at {value:.5g}")
            accurate = self._accurate_excess(value)
            if abs(accurate) < max(_ACCURACY, accurate.uncertainty):
                break
            difference = accurate - self.excess(value)
            before, value = value, self._shifted_root(value, axis, difference)
            if self.request.unknown == "n_samples" and before <= FEW_SAMPLES < value:
                return FEW_SAMPLES + 1.0  # from there on the target is met
        return value

    def _accurate_excess(self, value: float) -> Estimate:
        expected = self.architecture.expected(self.request.at(value).case, self.choice)
        error = expected.uncertainty / expected if expected > 0.0 else 0.0
        return Estimate(math.log(max(expected, 1e-300)) - self.target, error)

    def _shifted_root(self, value: float, axis: Axis, difference: float) -> float:
        def excess(value: float) -> float:
            return self.excess(value) + difference

        for width in (1.03, 1.2, 2.0, 4.0):
            low, high = max(axis.low, value / width), min(axis.high, value * width)
            if excess(low) * excess(high) <= 0.0:
                return _root(excess, low, high)
        raise UnreachableError(
            f"error={self.request.error:g}: on few points {self.architecture.name} meets it at "
            f"{self.request.unknown} {value:.4g}, but the accurate expectation does not near there"
        )

    def bisect(self, bad: float, good: float) -> float:
        """Return the whole number next to the boundary that meets the target, on few points."""
        while abs(good - bad) > 1:
            middle = (good + bad) // 2
            choice = self.meeting_choice(middle)
            if choice is None:
                bad = middle
            else:
                good, self.choice = middle, choice
        return good


def _finish(search: _Search, request: Request, value: float, upwards: bool) -> Solution:
    """Round to what can be had on the side that meets the target, and predict there."""
    if request.unknown in ("n_samples", "dim"):
        # One part in a million of slack: a root that is whole up to rounding stays that number.
        value = math.ceil(value * (1 - 1e-6)) if upwards else max(1, math.floor(value * (1 + 1e-6)))
    final = request.at(value)
    expected = search.architecture.expected(final.case, search.choice)
    while final.unknown == "n_samples" and has_few_samples(final.case) and expected > request.error:
        final = request.at(math.ceil(1.03 * final.n_samples))  # runs have their noise
        expected = search.architecture.expected(final.case, search.choice)
    side = "above" if upwards else "below"
    return Solution(search.architecture, final, search.choice, expected, side)


def _is_trivial(solution: Solution) -> bool:
    """Whether the expected error is that of always predicting the commoner class."""
    metric, rate = solution.request.metric, solution.request.problem.positive_rate
    return metric.needs_bias and solution.expected > 0.98 * metric.chance(rate)


def _finish_whole(search: _Search, axis: Axis, value: float) -> Solution:
    """Move to the boundary as all points see it; few points may have put it a step away."""
    architecture, request = search.architecture, search.request

    def at(value: float) -> Solution:
        final = request.at(int(value))
        choice = architecture.improve(final.case, search.choice)
        expected = architecture.expected(final.case, choice)
        side = "above" if axis.better > 0 else "below"
        return Solution(architecture, final, choice, expected, side)

    def met(solution: Solution) -> bool:
        return solution.expected <= request.error

    solution = at(value)
    while not met(solution):
        value += axis.better
        if not axis.low <= value <= axis.high:
            raise UnreachableError(why_unreachable(architecture, solution.request, False, None))
        solution = at(value)
    while axis.low <= value - axis.better <= axis.high:
        harder = at(value - axis.better)
        if not met(harder):
            break
        value, solution = value - axis.better, harder
    return solution


def _axis(request: Request) -> Axis:
    unknown = request.unknown
    if unknown == "n_samples":
        low = float(fewest_samples(request.problem.positive_rate))
        return Axis(1, low, max(_LARGEST_RATIO * request.dim, low), 4.0)
    if unknown == "dim":
        return Axis(-1, 1.0, _LARGEST_RATIO * request.n_samples, 4.0)
    if unknown == "signal":
        return Axis(1, 1e-3, _LARGEST_SIGNAL, 1.6)
    if unknown == "positive_rate":
        # So rare that the samples have few enough of them; not rarer.
        return Axis(1, min(0.5, max(_RAREST, FEWEST_OF_A_CLASS / request.n_samples)), 0.5, 1.6)
    if unknown == "n_tokens":
        return Axis(-1, request.quantity("n_signal"), _LONGEST, 2.0, whole=True)
    return Axis(1, 1, request.quantity("n_tokens"), 2.0, whole=True)


def _root(excess: Callable[[float], float], bad: float, good: float) -> float:
    """Return the root between two values, in logarithms."""
    low, high = sorted((math.log(bad), math.log(good)))
    known = {end: excess(math.exp(end)) for end in (low, high)}  # brentq would ask again
    if known[low] * known[high] > 0.0:  # one end failed, or met, by less than the accuracy
        return math.exp(min(known, key=lambda end: abs(known[end])))
    root: Any = brentq(
        lambda x: known[x] if x in known else excess(math.exp(x)), low, high, xtol=1e-4
    )
    return math.exp(root)
