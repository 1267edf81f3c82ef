"""Solving for the missing quantity: a bracket, a root within it, then the accurate expectation.

With the choices held fixed the expectation is a smooth function of the quantity. Its root is found,
the choices are improved there, and so on. Improving never makes the expectation worse, so the
sequence descends to the root of the best one (policy iteration). What no number of samples reaches
is refused before anything is searched.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from scipy.optimize import brentq

from sparsetoken import models
from sparsetoken.estimate import Estimate
from sparsetoken.planner.expected import (
    Choice,
    Study,
    choose,
    expected_error,
    first_choice,
    improve,
    search_value,
)
from sparsetoken.planner.metric import Metric
from sparsetoken.population import Population
from sparsetoken.problem import Problem
from sparsetoken.theory import optimal, oracle_error, required_signal

_FEWEST_OF_A_CLASS = 10
_TOLERANCE = 3e-3  # of the logarithm of the error, in the search for the best choice
_ACCURACY = 1e-4  # of the same, where the target is met in the end
_LARGEST_RATIO = 1e5
_LARGEST_SIGNAL = 1e3
LONGEST = 4096  # sequences, if their length is the unknown
_ALPHAS = 1e-9, 1e9  # ends of what is searched for the least samples of any learner
_HINT_POINTS = 2048  # enough for the two digits of a hint


class UnreachableError(ValueError):
    """No value of the quantity asked for meets the target; the message says why."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, ready for JSON."""
        return {"reachable": False, "answer": str(self)}


def fewest_samples(positive_rate: float) -> int:
    """Return the fewest samples planned for: ten of the rarer class, on average.

    With fewer, fluctuations are beyond the leading order that a plan averages over.
    """
    # One part in a million of slack: 10/0.1 is 100, whatever the rounding.
    return math.ceil((1.0 - 1e-6) * _FEWEST_OF_A_CLASS / min(positive_rate, 1.0 - positive_rate))


def solve(study: Study) -> tuple[Study, Choice, Estimate]:
    """Return the study in which the target is just met, the choice that meets it, and the error.

    If there is none, UnreachableError says why.
    """
    if study.unknown == "error":
        return study, *choose(study)
    if study.unknown in ("n_samples", "dim"):
        study.say("finding its floor")
        limit = floor(study)
        if limit >= study.target:
            name, least = study.model.name, f"its floor is {limit:.3g} at any sample size"
            raise _unreachable(study, f"cannot be reached by {name}: {least}", limit)
    search = _Search(study)
    bad, good = search.bracket()
    if search.axis.whole:
        return search.finish(search.bisect(bad, good))
    return search.finish(good if bad == good else search.refine(search.root(bad, good), bad, good))


class Axis(NamedTuple):
    """How a quantity is searched: by factors from a start, between the easiest and the hardest."""

    start: float
    easiest: float
    hardest: float
    factor: float
    whole: bool = False
    """Whether only whole numbers make sense on the way; others are rounded at the end."""


def _axis(study: Study) -> Axis:
    if study.unknown == "n_samples":
        fewest = float(fewest_samples(study.problem.positive_rate))
        most = max(_LARGEST_RATIO * study.dim, fewest)
        return Axis(max(2.0 * study.dim, fewest), most, fewest, 4.0)
    if study.unknown == "dim":
        return Axis(max(0.5 * study.n_samples, 1.0), 1.0, _LARGEST_RATIO * study.n_samples, 4.0)
    if study.unknown == "signal":
        return Axis(4.0, _LARGEST_SIGNAL, 1e-3, 1.6)
    fewest = study.problem.kinds[0].n_signal
    return Axis(min(10 * fewest, 500), fewest, LONGEST, 2.0, whole=True)


class _Search:
    """The state of a search: a choice that meets the target at the best value so far."""

    def __init__(self, study: Study) -> None:
        self.study, self.axis = study, _axis(study)
        self.choice = first_choice(study.at(self.axis.start))

    def excess(self, value: float, choice: Choice | None = None, exact: bool = False) -> Estimate:
        """Return how far above the target a choice is, in logarithms.

        It is computed on few points; next to a boundary between whole numbers these could err.
        """
        study, choice, target = self.study.at(value), choice or self.choice, self.study.target
        if not exact and not self.axis.whole:
            return Estimate(search_value(study, choice) - math.log(target))
        expected = expected_error(study, choice)
        error = expected.uncertainty / expected if expected > 0.0 else 0.0
        return Estimate(math.log(max(expected, 1e-300)) - math.log(target), error)

    def meets(self, value: float) -> bool:
        """Whether some choice meets the target at ``value``; if so, it is kept.

        It is looked for from scratch: from easy to hard the best one may move to another valley.
        """
        self.study.say(f"trying {self.study.unknown} {value:.4g}")
        if self.excess(value) <= 0.0:
            return True
        if value == self.axis.start:  # the present choice is the best one there
            return False
        better = first_choice(self.study.at(value))
        met = self.excess(value, better) <= 0.0
        self.choice = better if met else self.choice
        return met

    def bracket(self) -> tuple[float, float]:
        """Walk until the target is met at one value and not at the one before: (bad, good).

        Both are the same where there is nothing harder to try.
        """
        axis, value, unknown = self.axis, self.axis.start, self.study.unknown
        met = self.meets(value)
        end = axis.hardest if met else axis.easiest
        while value != end:
            up, down = min(value * axis.factor, end), max(value / axis.factor, end)
            following = up if end > value else down
            following = round(following) if axis.whole else following
            if self.meets(following) != met:
                return (following, value) if met else (value, following)
            value = following
        if not met:
            easiest = self.study.at(value)
            reached = easiest.target * math.exp(self.excess(value, first_choice(easiest)))
            reason = f"even at {unknown} {value:g}, the easiest (it gets to {reached:.3g})"
            if unknown not in ("n_samples", "dim"):
                sizes = f"n_samples={easiest.n_samples:g} and dim={easiest.dim:g}"
                reason += f" with {sizes}; more samples would help"
            raise _unreachable(easiest, f"is not reached by {easiest.model.name} {reason}")
        if unknown != "n_samples":
            raise UnreachableError(
                f"{_wanted(self.study)} is met by {self.study.model.name} even at {unknown} "
                f"{value:g}, the hardest tried: there is no boundary to solve for; ask for a "
                "smaller error"
            )
        return value, value

    def root(self, bad: float, good: float) -> float:
        """Return the value that just meets the target with the best choice, on few points."""
        for _ in range(8):
            value = _root(self.excess, bad, good)
            self.study.say(f"{self.study.unknown} near {value:.4g}")
            self.choice = improve(self.study.at(value), self.choice)
            if self.excess(value) > -_TOLERANCE:
                break
            good = value
        return value

    def refine(self, value: float, bad: float, good: float) -> float:
        """Return the root with the choice fixed, on many points.

        Few points differ from many by nearly the same everywhere, so their root is sought with
        that difference added.
        """
        low, high = sorted((self.axis.easiest, self.axis.hardest))
        ends = max(low, min(bad, good) / 4.0), min(high, max(bad, good) * 4.0)
        most_drawn = self.study.model.drawn_up_to
        for _ in range(6):
            self.study.say(f"expecting at {value:.5g}")
            accurate = self.excess(value, exact=True)
            if abs(accurate) < max(_ACCURACY, accurate.uncertainty):
                break
            before, difference = value, accurate - self.excess(value)
            value = _root(self.excess, *ends, shift=difference)
            if self.study.unknown == "n_samples" and before <= most_drawn < value:
                return most_drawn + 1.0  # from there on the target is met
        return value

    def bisect(self, bad: float, good: float) -> float:
        """Return the whole number next to the boundary that meets the target."""
        while abs(good - bad) > 1:
            middle = (good + bad) // 2
            bad, good = (bad, middle) if self.meets(middle) else (middle, good)
        better = improve(self.study.at(good), self.choice)
        self.choice = min(better, self.choice, key=lambda one: self.excess(good, one))
        return int(good)

    def finish(self, value: float) -> tuple[Study, Choice, Estimate]:
        """Round to what can be had on the side that meets the target, and predict there."""
        # One part in a million of slack: a root that is whole up to rounding stays that number.
        samples = self.study.unknown == "n_samples"
        if samples:
            value = math.ceil(value * (1 - 1e-6))
        elif self.study.unknown == "dim":
            value = math.floor(value * (1 + 1e-6))
        while True:
            study = self.study.at(value)
            expected = expected_error(study, self.choice)
            if not samples or expected <= study.target or not study.is_drawn:
                return study, self.choice, expected
            value = math.ceil(1.03 * value)  # trainings have their noise


def _root(excess: Callable[[float], float], bad: float, good: float, shift: float = 0.0) -> float:
    """Return the value between two others, in logarithms, where the excess is −shift."""

    @cache  # brentq asks for the ends again
    def shifted(log_value: float) -> float:
        return excess(math.exp(log_value)) + shift

    low, high = sorted((math.log(bad), math.log(good)))
    if shifted(low) * shifted(high) > 0.0:  # one end failed, or met, by less than the accuracy
        return math.exp(min(low, high, key=lambda end: abs(shifted(end))))
    return math.exp(float(brentq(shifted, low, high, xtol=1e-4)))


def floor(study: Study) -> Estimate:
    """Return the least error of the trained classifier at any number of samples.

    It is the prediction for infinitely many samples per dimension, with the best choices there.
    """
    study = replace(study, n_samples=math.inf, dim=math.inf)
    return study.metric.error(study.model.limit(study, first_choice(study)))


def least_alpha(
    problem: Problem, metric: Metric, target: float, ends: tuple[float, float] = _ALPHAS
) -> float:
    """Return the samples per dimension below which no learner reaches the target, quick or not.

    It is infinite if the upper end does not suffice, and zero if the lower end does.
    """

    def excess(log_alpha: float) -> float:
        return metric.error(optimal(problem, math.exp(log_alpha))) - target

    low, high = map(math.log, ends)
    if excess(low) <= 0.0:
        return 0.0
    return math.inf if excess(high) > 0.0 else math.exp(brentq(excess, low, high, xtol=1e-6))


def _wanted(study: Study) -> str:
    """Return the target in the words of the arguments."""
    label = "" if study.metric.name == "error" else f" ({study.metric.label})"
    return f"error{label}={study.target:g}"


def _unreachable(study: Study, reason: str, limit: Estimate | None = None) -> UnreachableError:
    """Return the error with the reason, other classifiers' floors and the signal needed.

    ``limit`` is the floor of the study's own model.
    """
    name, at_bayes, hints = study.model.name, list[str](), list[str]()
    floors = {} if limit is None else {name: limit}
    others = [other for other in ("two-step", "pooled") if other != name]
    floors |= {other: floor(replace(study, model=models.get(other))) for other in others}
    if study.metric.name == "error":
        bayes = oracle_error(study.problem, "bayes")
        at_bayes = [
            one  # as far as the numerical errors can tell
            for one, least in floors.items()
            if least - bayes <= 3.0 * math.hypot(least.uncertainty, bayes.uncertainty)
        ]
        reach = f"{' and '.join(at_bayes)} reach{'es' if len(at_bayes) == 1 else ''} it"
        also = f" ({reach})" if at_bayes else ""
        hints.append(f"no classifier gets below the Bayes floor {bayes:.3g}{also}")
        several = isinstance(study.problem, Population)
        needs = "all strengths multiplied by more than" if several else "a signal above"
        best_weights: Any = {"error": study.target, "n_points": _HINT_POINTS}
        with contextlib.suppress(ValueError):  # no signal is enough, as with wrong labels
            signal = required_signal(study.problem, study.model.architecture, **best_weights)
            digits = 3 if signal.uncertainty < 1e-3 * signal else 2
            hints.append(f"{name} needs {needs} {signal:.{digits}g}")
    reached = [
        f"{other} {'reaches' if least < study.target else 'has the floor'} {least:.3g}"
        for other, least in floors.items()
        if other not in (name, *at_bayes)
    ]
    return UnreachableError(f"{_wanted(study)} {reason}; {', '.join(reached + hints)}")
