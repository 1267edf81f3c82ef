"""Solving for the missing quantity: a bracket, a root within it, then the accurate expectation.

With the choices held fixed the expectation is a smooth function of the quantity. Its root is found,
the choices are improved there, and so on. Improving never makes the expectation worse, so the
sequence descends to the root of the best one (policy iteration).
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, NoReturn

from scipy.optimize import brentq

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import Architecture, Choice, predict
from sparsetoken.planner.expectation import FEW_SAMPLES, Progress, is_drawn
from sparsetoken.planner.floors import UnreachableError, floor, wanted, what_would_help
from sparsetoken.planner.request import FEWEST_OF_A_CLASS, Request, fewest_samples
from sparsetoken.planner.theory_plan import Plan
from sparsetoken.population import Population

_TOLERANCE = 3e-3  # of the logarithm of the error, in the search for the best choice
_ACCURACY = 1e-4  # of the same, where the target is met in the end
_LARGEST_RATIO = 1e5
_LARGEST_SIGNAL = 1e3
_LONGEST = 4096
_RAREST = 1e-3


def solve_best(models: Sequence[Architecture], request: Request, progress: Progress) -> Plan:
    """Return the plan of the model that does best; if all fail, name each reason."""
    plans: list[Plan] = []
    failures = []
    for model in models:
        if len(models) > 1 and request.base and not model.supports(request.base):
            continue
        try:
            plans.append(solve(model, request, progress))
        except UnreachableError as failure:
            failures.append(str(failure))
    if not plans:
        raise UnreachableError("; ".join(failures))
    return min(plans, key=_cost)


def _cost(plan: Plan) -> tuple[int, float]:
    """Return what the best of several models has the least of.

    A target met above a boundary is better than one met below, which only a positive rate can mix.
    """
    value = getattr(plan, plan.solved_for)
    return (0, value) if plan.solved_for == "error" or plan._met_above else (1, -value)


def solve(architecture: Architecture, request: Request, progress: Progress) -> Plan:
    """Return where the target is just met, or raise UnreachableError."""
    if request.unknown == "error":
        prediction = predict(architecture, request.at(None), progress)
        return Plan(architecture, request, None, *prediction, progress=progress)
    search = _Search(architecture, request, progress)
    bad, good = search.bracket()
    if search.axis.whole:
        value = search.bisect(bad, good)
    else:
        value = good if bad == good else search.refine(search.root(bad, good), bad, good)
    value, error = search.finish(value, upwards=good >= bad)
    return Plan(architecture, request, value, search.choice, error, good >= bad, progress)


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
        start = 1.0 if isinstance(request.base, Population) else 4.0
        return Axis(start, 1, 1e-3, _LARGEST_SIGNAL, 1.6)
    if unknown == "positive_rate":
        # So rare that the samples have few enough of them; not rarer.
        low = min(0.5, max(_RAREST, FEWEST_OF_A_CLASS / values["n_samples"]))
        return Axis(0.5, 1, low, 0.5, 1.6)
    if unknown == "n_tokens":
        fewest = values["n_signal"]
        return Axis(min(10 * fewest, 500), -1, fewest, _LONGEST, 2.0, whole=True)
    return Axis(1, 1, 1, values["n_tokens"], 2.0, whole=True)


class _Search:
    """The state of a search: a choice that meets the target at the best value so far."""

    def __init__(self, architecture: Architecture, request: Request, progress: Progress) -> None:
        self.architecture, self.request, self.axis = architecture, request, _axis(request)
        self.unknown, self.target = request.unknown, request.values["error"]
        self.progress = lambda doing: progress(f"{architecture.name}: {doing}")
        if request.unknown in ("n_samples", "dim"):
            self.check_floor()
        elif request.unknown == "n_tokens":
            self.choice = self.best_choice(self.axis.low)
            if self.excess(self.axis.low) > 0.0:
                self.fail_at_the_easiest(self.axis.low)
        self.choice = self.best_choice(self.axis.start)

    def check_floor(self) -> None:
        """Refuse a target that no number of samples reaches, before anything is searched."""
        self.progress("finding its floor")
        case = self.request.at(self.axis.start)
        limit = floor(self.architecture, case)
        if limit >= self.target:
            reason = f"its floor is {limit:.3g} at any sample size"
            self.fail(
                f"cannot be reached by {self.architecture.name}: {reason}", self.axis.start, limit
            )

    def best_choice(self, value: float) -> Choice:
        # From scratch: from easy to hard the best choice may move to another valley.
        return self.architecture.first_choice(self.request.at(value))

    def excess(self, value: float, choice: Choice | None = None) -> float:
        """Return how far above the target a choice is, in logarithms.

        It is computed on few points; next to a boundary between whole numbers these could err.
        """
        if self.axis.whole:
            return self.accurate_excess(value, choice)
        case = self.request.at(value)
        return self.architecture.search_value(case, choice or self.choice) - math.log(self.target)

    def accurate_excess(self, value: float, choice: Choice | None = None) -> Estimate:
        """Return the same on many points."""
        expected = self.expected(value, choice)
        error = expected.uncertainty / expected if expected > 0.0 else 0.0
        return Estimate(math.log(max(expected, 1e-300)) - math.log(self.target), error)

    def expected(self, value: float, choice: Choice | None = None) -> Estimate:
        return self.architecture.expected(self.request.at(value), choice or self.choice)

    def meeting_choice(self, value: float) -> Choice | None:
        """Return a choice that meets the target at ``value``; None if there is none."""
        self.progress(f"trying {self.unknown} {value:.4g}")
        if self.excess(value) <= 0.0:
            return self.choice
        if value == self.axis.start:  # the present choice is the best one there
            return None
        better = self.best_choice(value)
        return better if self.excess(value, better) <= 0.0 else None

    def bracket(self) -> tuple[float, float]:
        """Walk until the target is met at one value and not at the one before: (bad, good).

        Both are the same where there is nothing harder to try.
        """
        unknown, axis, value = self.unknown, self.axis, self.axis.start
        met = self.meeting_choice(value) is not None
        towards = -axis.better if met else axis.better
        if unknown == "positive_rate" and self.request.metric.needs_bias:
            towards = -1  # rarer positives make errors rarer too, in the end
        edge = axis.high if towards > 0 else axis.low
        while value != edge:
            following = min(max(value * axis.factor**towards, axis.low), axis.high)
            following = round(following) if axis.whole else following
            choice = self.meeting_choice(following)
            self.choice = choice or self.choice
            if (choice is not None) != met:
                return (following, value) if met else (value, following)
            value = following
        if met and unknown not in ("n_samples", "n_signal"):
            raise UnreachableError(
                f"{wanted(self.request)} is met by {self.architecture.name} even at {unknown} "
                f"{value:g}, the hardest tried: there is no boundary to solve for; ask for a "
                "smaller error"
            )
        if not met:
            self.fail_at_the_easiest(value)
        return value, value

    def fail_at_the_easiest(self, value: float) -> NoReturn:
        """Say that the target is not reached even at the easiest value."""
        name, values = self.architecture.name, self.request.values
        where = f"even at {self.unknown} {value:g}, the easiest"
        if self.unknown == "positive_rate":
            where = f"at any positive_rate from {value:.3g} to 0.5"
        reached = self.target * math.exp(self.excess(value, self.best_choice(value)))
        reason = f"is not reached by {name} {where} (it gets to {reached:.3g})"
        if self.unknown not in ("n_samples", "dim"):
            sizes = f"n_samples={values['n_samples']:g} and dim={values['dim']:g}"
            reason += f" with {sizes}; more samples would help"
        self.fail(reason, value)

    def fail(self, reason: str, value: float, limit: Estimate | None = None) -> NoReturn:
        hints = what_would_help(self.architecture, self.request.at(value), self.target, limit)
        raise UnreachableError(f"{wanted(self.request)} {reason}; {hints}")

    def root(self, bad: float, good: float) -> float:
        """Return the value that just meets the target with the best choice, on few points."""
        for _ in range(8):
            value = _root(self.excess, bad, good)
            self.progress(f"{self.unknown} near {value:.4g}")
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
            accurate = self.accurate_excess(value)
            if abs(accurate) < max(_ACCURACY, accurate.uncertainty):
                break
            before, difference = value, accurate - self.excess(value)
            value = _root(self.excess, *ends, shift=difference)
            if self.unknown == "n_samples" and before <= FEW_SAMPLES < value:
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
        better = self.architecture.improve(self.request.at(good), self.choice)
        self.choice = min(better, self.choice, key=lambda one: self.excess(good, one))
        return int(good)

    def finish(self, value: float, upwards: bool) -> tuple[float, Estimate]:
        """Round to what can be had on the side that meets the target, and predict there."""
        if self.unknown in ("n_samples", "dim"):
            # One part in a million of slack: a root that is whole up to rounding stays that number.
            value = math.ceil(value * (1 - 1e-6)) if upwards else math.floor(value * (1 + 1e-6))
        expected = self.expected(value)
        while (
            self.unknown == "n_samples"
            and is_drawn(self.request.at(value))
            and expected > self.target
        ):
            value = math.ceil(1.03 * value)  # runs have their noise
            expected = self.expected(value)
        bias_decides = self.unknown == "positive_rate" and self.request.metric.needs_bias
        if bias_decides and expected > 0.98 * value:
            raise UnreachableError(
                f"{wanted(self.request)} is not reached by {self.architecture.name} at "
                "positive_rate 0.5, and below only by always predicting the commoner class, at "
                f"{value:.3g}; metric='auc' is not fooled by that, and more samples would help"
            )
        return value, expected


def _root(excess: Callable[[float], float], bad: float, good: float, shift: float = 0.0) -> float:
    """Return the value between two others, in logarithms, where the excess is −shift."""

    @cache  # brentq asks for the ends again
    def shifted(log_value: float) -> float:
        return excess(math.exp(log_value)) + shift

    low, high = sorted((math.log(bad), math.log(good)))
    if shifted(low) * shifted(high) > 0.0:  # one end failed, or met, by less than the accuracy
        return math.exp(min(low, high, key=lambda end: abs(shifted(end))))
    return math.exp(float(brentq(shifted, low, high, xtol=1e-4)))
