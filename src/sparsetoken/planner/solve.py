"""Solving for the missing quantity: a bracket, a root within it, then the accurate expectation.

With the choices held fixed the expectation is a smooth function of the quantity. Its root is found,
the choices are improved there, and so on. Improving never makes the expectation worse, so the
sequence descends to the root of the best one (policy iteration).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from scipy.optimize import brentq

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import Architecture, Choice
from sparsetoken.planner.expectation import FEW_SAMPLES, has_few_samples
from sparsetoken.planner.floors import UnreachableError, floor, why_unreachable
from sparsetoken.planner.request import (
    FEWEST_OF_A_CLASS,
    Case,
    Progress,
    Request,
    fewest_samples,
)

_TOLERANCE = 3e-3  # of the logarithm of the shortfall, in the search for the best choice
_ACCURACY = 1e-4  # of the same, where the target is met in the end
_LARGEST_RATIO = 1e5
_LARGEST_SIGNAL = 1e3
_LONGEST = 4096
_RAREST = 1e-3


@dataclass(frozen=True)
class Solution:
    """The value of the unknown, the choice to go with it, and what to expect there."""

    architecture: Architecture
    request: Request
    value: Any
    """None where the error is the unknown."""
    choice: Choice
    expected: Estimate
    met_when: str = ""
    """Where the target is met: "above" or "below" the value."""

    @property
    def case(self) -> Case:
        """All quantities."""
        return self.request.at(self.value)


class Axis(NamedTuple):
    """How a quantity is searched."""

    start: float
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
    architecture: Architecture, case: Case, progress: Progress, start: Choice | None = None
) -> tuple[Choice, Estimate]:
    """Return the best choice and its expectation; ``start`` is that of a neighboring case."""
    progress(f"{architecture.name}: choosing the settings")
    choice = architecture.improve(case, start) if start else architecture.first_choice(case)
    return choice, architecture.expected(case, choice)


def solve_best(models: Sequence[Architecture], request: Request, progress: Progress) -> Solution:
    """Return the solution of the model that does best; if all fail, name each reason."""
    solutions: list[Solution] = []
    failures = []
    for model in models:
        if len(models) > 1 and request.base and not model.supports(request.base):
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
    if solution.value is None:
        return (0, solution.expected)
    return (1, -solution.value) if solution.met_when == "below" else (0, solution.value)


def solve(architecture: Architecture, request: Request, progress: Progress) -> Solution:
    """Return where the target is just met, or raise UnreachableError."""
    if request.unknown == "error":
        best = predict(architecture, request.at(None), progress)
        return Solution(architecture, request, None, *best)
    search = _Search(architecture, request, progress)
    bad, good = search.bracket()
    if search.axis.whole:
        return search.finish(search.bisect(bad, good), good >= bad)
    value = good if bad == good else search.refine(search.root(bad, good), bad, good)
    return search.finish(value, good >= bad)


class _Search:
    """The state of a search: a choice that meets the target at the best value so far."""

    def __init__(self, architecture: Architecture, request: Request, progress: Progress) -> None:
        self.architecture, self.request, self.axis = architecture, request, _axis(request)
        self.target = math.log(request.target)
        self.choice = self._best_choice(self.axis.start)
        self.progress = lambda doing: progress(f"{architecture.name}: {doing}")

    def _best_choice(self, value: float) -> Choice:
        # From scratch: from easy to hard the best choice may move to another valley.
        return self.architecture.first_choice(self.request.at(value))

    def excess(self, value: float, choice: Choice | None = None) -> float:
        """Return how far above the target a choice is, in logarithms.

        It is computed on few points; next to a boundary between whole numbers these could err.
        """
        choice = choice or self.choice
        if self.axis.whole:
            return self.accurate_excess(value, choice)
        return self.architecture.search_value(self.request.at(value), choice) - self.target

    def accurate_excess(self, value: float, choice: Choice) -> Estimate:
        """Return the same on many points."""
        expected = self.architecture.expected(self.request.at(value), choice)
        error = expected.uncertainty / expected if expected > 0.0 else 0.0
        return Estimate(math.log(max(expected, 1e-300)) - self.target, error)

    def meeting_choice(self, value: float) -> Choice | None:
        """Return a choice that meets the target at ``value``; None if there is none."""
        self.progress(f"trying {self.request.unknown} {value:.4g}")
        if self.excess(value) <= 0.0:
            return self.choice
        if value == self.axis.start:  # the present choice is the best one there
            return None
        better = self._best_choice(value)
        return better if self.excess(value, better) <= 0.0 else None

    def bracket(self) -> tuple[float, float]:
        """Walk until the target is met at one value and not at the one before: (bad, good).

        Both are the same where there is nothing harder to try.
        """
        unknown, axis, value = self.request.unknown, self.axis, self.axis.start
        met = self.meeting_choice(value) is not None
        towards = -axis.better if met else axis.better
        if met and unknown == "n_signal":
            return 0, value  # one signal token is enough: there is nothing below to try
        if unknown == "positive_rate" and self.request.metric.needs_bias:
            towards = -1  # rarer positives make errors rarer too, in the end
        elif not met and unknown in ("n_samples", "dim"):
            limit = floor(self.architecture, self.request.at(value))
            if limit >= self.request.target:
                self._fail(value, limit=limit)
        edge = axis.high if towards > 0 else axis.low
        while value != edge:
            following = axis.step(value, towards)
            choice = self.meeting_choice(following)
            self.choice = choice or self.choice
            if (choice is not None) != met:
                return (following, value) if met else (value, following)
            value = following
        if not met:
            self._fail(value, excess=self.excess(value, self._best_choice(value)))
        if unknown != "n_samples":
            self._fail(value)
        return value, value  # the fewest samples that are planned for are enough

    def _fail(self, value: float, **why: Any) -> NoReturn:
        raise UnreachableError(why_unreachable(self.architecture, self.request, value, **why))

    def root(self, bad: float, good: float) -> float:
        """Return the value that just meets the target with the best choice, on few points."""
        for _ in range(8):
            value = _root(self.excess, bad, good)
            self.progress(f"{self.request.unknown} near {value:.4g}")
            self.choice = self.architecture.improve(self.request.at(value), self.choice)
            if self.excess(value) > -_TOLERANCE:
                break
            good = value
        return value

    def refine(self, value: float, bad: float, good: float) -> float:
        """Return the root with the choice fixed, on many points.

        Few points differ from many by nearly the same everywhere, so their root is sought with
        that difference added.
        """
        ends = max(self.axis.low, min(bad, good) / 4.0), min(self.axis.high, max(bad, good) * 4.0)
        for _ in range(6):
            self.progress(f"expecting at {value:.5g}")
            accurate = self.accurate_excess(value, self.choice)
            if abs(accurate) < max(_ACCURACY, accurate.uncertainty):
                break
            difference = accurate - self.excess(value)
            before = value
            value = _root(self.excess, *ends, shift=difference)
            if self.request.unknown == "n_samples" and before <= FEW_SAMPLES < value:
                return FEW_SAMPLES + 1.0  # from there on the target is met
        return value

    def bisect(self, bad: float, good: float) -> float:
        """Return the whole number next to the boundary that meets the target."""
        while abs(good - bad) > 1:
            middle = (good + bad) // 2
            choice = self.meeting_choice(middle)
            if choice is None:
                bad = middle
            else:
                good, self.choice = middle, choice
        return good

    def finish(self, value: float, upwards: bool) -> Solution:
        """Round to what can be had on the side that meets the target, and predict there."""
        architecture, request, unknown = self.architecture, self.request, self.request.unknown
        if self.axis.whole:
            value = int(value)
            better = architecture.improve(request.at(value), self.choice)
            self.choice = min(better, self.choice, key=lambda one: self.excess(value, one))
        elif unknown in ("n_samples", "dim"):
            # One part in a million of slack: a root that is whole up to rounding stays that number.
            value = math.ceil(value * (1 - 1e-6)) if upwards else math.floor(value * (1 + 1e-6))
        expected = architecture.expected(request.at(value), self.choice)
        while (
            unknown == "n_samples"
            and has_few_samples(request.at(value))
            and expected > request.target
        ):
            value = math.ceil(1.03 * value)  # runs have their noise
            expected = architecture.expected(request.at(value), self.choice)
        if unknown == "positive_rate" and request.metric.needs_bias and expected > 0.98 * value:
            raise UnreachableError(
                f"error={request.target:g} is not reached by {architecture.name} at positive_rate "
                "0.5, and below only by always predicting the commoner class, at "
                f"{value:.3g}; metric='auc' is not fooled by that, and more samples would help"
            )
        side = "above" if upwards else "below"
        return Solution(architecture, request, value, self.choice, expected, side)


def _axis(request: Request) -> Axis:
    values, unknown = request.values, request.unknown
    if unknown == "n_samples":
        low = float(fewest_samples(values["positive_rate"]))
        high = max(_LARGEST_RATIO * values["dim"], low)
        return Axis(max(2.0 * values["dim"], low), 1, low, high, 4.0)
    if unknown == "dim":
        start = max(0.5 * values["n_samples"], 1.0)
        return Axis(start, -1, 1.0, _LARGEST_RATIO * values["n_samples"], 4.0)
    if unknown == "signal":
        start = 4.0 if request.base is None else 1.0
        return Axis(start, 1, 1e-3, _LARGEST_SIGNAL, 1.6)
    if unknown == "positive_rate":
        # So rare that the samples have few enough of them; not rarer.
        low = min(0.5, max(_RAREST, FEWEST_OF_A_CLASS / values["n_samples"]))
        return Axis(0.5, 1, low, 0.5, 1.6)
    if unknown == "n_tokens":
        fewest = values["n_signal"]
        return Axis(min(10 * fewest, 500), -1, fewest, _LONGEST, 2.0, whole=True)
    return Axis(1, 1, 1, values["n_tokens"], 2.0, whole=True)


def _root(excess: Callable[[float], float], bad: float, good: float, shift: float = 0.0) -> float:
    """Return the value between two others, in logarithms, where the excess is −shift."""

    def shifted(log_value: float) -> float:
        return excess(math.exp(log_value)) + shift

    low, high = sorted((math.log(bad), math.log(good)))
    ends = {end: shifted(end) for end in (low, high)}  # brentq would ask again
    if ends[low] * ends[high] > 0.0:  # one end failed, or met, by less than the accuracy
        return math.exp(min(ends, key=lambda end: abs(ends[end])))
    root: Any = brentq(lambda x: ends[x] if x in ends else shifted(x), low, high, xtol=1e-4)
    return math.exp(root)
