"""What is asked of the planner: all quantities but one, checked."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sparsetoken._validation import check_count, check_real
from sparsetoken.planner.metric import Metric
from sparsetoken.population import (
    AnyProblem,
    Population,
    check_problem,
    map_kinds,
    plain,
    with_rate,
)
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import PARAMETERS, group

__all__ = [
    "DEFAULTS",
    "FEWEST_OF_A_CLASS",
    "GIVEN",
    "QUANTITIES",
    "Case",
    "Progress",
    "Request",
    "fewest_samples",
    "make_request",
    "silent",
]

Progress = Callable[[str], object]
"""Called at each step of a long computation, with a few words about what is done next."""

_PROBLEM = group("problem")
GIVEN = ("n_samples", "dim", *_PROBLEM)
QUANTITIES = (*GIVEN, "error")
"""What a plan consists of; one of them is solved for."""
DEFAULTS: dict[str, Any] = {
    name: PARAMETERS[name].default if name in ("n_signal", "positive_rate") else None
    for name in _PROBLEM
}
"""What a plan takes for a quantity of the problem that is left out; None is solved for."""
FEWEST_OF_A_CLASS = 10
_RAREST = 1e-4


def silent(doing: str) -> None:
    """Report no progress."""


class Case(NamedTuple):
    """What a model is judged on; samples and dimension are infinite for its floor."""

    problem: AnyProblem
    n_samples: float
    dim: float
    metric: Metric

    @property
    def alpha(self) -> float:
        """Samples per dimension."""
        return math.inf if math.isinf(self.n_samples) else self.n_samples / self.dim

    def with_rate(self, positive_rate: float) -> "Case":
        """Return the case of samples of which this fraction is recorded as positive."""
        return self._replace(problem=with_rate(self.problem, positive_rate))

    @property
    def unlimited(self) -> "Case":
        """The case of infinitely many samples."""
        return self._replace(n_samples=math.inf, dim=math.inf)


@dataclass(frozen=True)
class Request:
    """The quantities of a plan; the one to solve for holds a value to start from."""

    n_samples: float
    dim: float
    base: AnyProblem
    """The statistical model but for ``factor``."""
    error: float
    unknown: str
    metric: Metric
    factor: float = 1.0
    """On the strengths of all kinds of a population: what its ``signal`` is."""

    @property
    def problem(self) -> AnyProblem:
        """The statistical model."""
        if self.factor == 1.0:
            return self.base
        return map_kinds(self.base, lambda kind: replace(kind, signal=self.factor * kind.signal))

    @property
    def case(self) -> Case:
        """What a model is judged on."""
        return Case(self.problem, self.n_samples, self.dim, self.metric)

    @property
    def value(self) -> Any:
        """The present value of the unknown."""
        return self.quantity(self.unknown)

    def quantity(self, name: str) -> Any:
        """Return a quantity by name; None if it is one that each kind of a population has."""
        if name in ("n_samples", "dim", "error"):
            return getattr(self, name)
        if name == "signal" and isinstance(self.base, Population):
            return self.factor
        return getattr(self.base, name, None)

    def at(self, value: Any) -> "Request":
        """Return the request with the unknown at ``value``."""
        return self.moved(self.unknown, value)

    def moved(self, name: str, value: Any) -> "Request":
        """Return the request with some quantity at ``value``."""
        changed: dict[str, Any] = {name: value}
        if name in _PROBLEM:
            if isinstance(self.base, Population):
                return replace(self, factor=value)
            return replace(self, base=replace(self.base, **changed))
        return replace(self, **changed)


def make_request(metric: Metric, problem: AnyProblem | None = None, **given: Any) -> Request:
    """Check the quantities, exactly one of which is None, and fill that one provisionally.

    ``problem`` takes the place of those that describe it.
    """
    contiguous = False
    if problem is not None:
        given = _without_problem(given)
        population = plain(check_problem(problem))
        if isinstance(population, Population):
            return _population_request(metric, population, given)
        given |= {name: getattr(population, name) for name in _PROBLEM}
        contiguous = population.contiguous
    missing = [name for name in QUANTITIES if given[name] is None]
    if len(missing) != 1:
        raise ValueError(
            f"exactly one of {', '.join(QUANTITIES)} must be None, the one to solve for; "
            f"got {', '.join(missing) or 'none'}"
        )
    unknown = missing[0]
    values: dict[str, Any] = {
        name: None if given[name] is None else PARAMETERS[name].check(given[name]) for name in GIVEN
    }
    if unknown != "signal":
        check_real("signal", values["signal"], low=0.0, above=True)
    if unknown not in ("n_tokens", "n_signal"):
        check_count("n_signal", values["n_signal"], maximum=values["n_tokens"])
    rate = 0.5 if unknown == "positive_rate" else values["positive_rate"]
    values["error"] = given["error"]
    _check_numbers(metric, values, rate)
    values[unknown] = _start(unknown, values)
    described = {name: values.pop(name) for name in _PROBLEM}
    base = SparseTokenProblem(**described, contiguous=contiguous)
    return Request(**values, base=base, unknown=unknown, metric=metric)


def _without_problem(given: dict[str, Any]) -> dict[str, Any]:
    """Return the quantities beside a problem, or raise ValueError if its own are among them."""
    for name, default in DEFAULTS.items():
        if given[name] != default:
            raise ValueError(f"{name} must be left out: the problem has it; got {given[name]!r}")
    return {name: value for name, value in given.items() if name not in _PROBLEM}


def _population_request(metric: Metric, population: Population, given: dict[str, Any]) -> Request:
    missing = [name for name in ("n_samples", "dim", "error") if given[name] is None]
    if len(missing) > 1:
        raise ValueError(
            "with a population one of n_samples, dim, error must be None, or none of them to solve "
            f"for a factor on the strengths of all kinds; got {', '.join(missing)}"
        )
    unknown = missing[0] if missing else "signal"
    values: dict[str, Any] = {
        name: None if given[name] is None else PARAMETERS[name].check(given[name])
        for name in ("n_samples", "dim")
    }
    values |= {"error": given["error"], "positive_rate": population.positive_rate}
    if max(kind.signal for kind in population.kinds) == 0.0:
        raise ValueError("problem must have a signal in at least one kind, got 0 in each")
    _check_numbers(metric, values, population.positive_rate)
    if missing:
        values[unknown] = _start(unknown, values)
    del values["positive_rate"]
    return Request(**values, base=population, unknown=unknown, metric=metric)


def _check_numbers(metric: Metric, values: dict[str, Any], rate: float) -> None:
    """Check rate, samples and error; what is None is to be solved for."""
    check_real("positive_rate", rate, low=_RAREST, high=1.0 - _RAREST)
    if values["n_samples"] is not None and values["n_samples"] < fewest_samples(rate):
        raise ValueError(
            f"n_samples must be at least {fewest_samples(rate)}, ten of the rarer class at "
            f"positive_rate={rate:g}, got {values['n_samples']}: with fewer, chance decides too "
            "much"
        )
    if values["error"] is not None:
        values["error"] = metric.check(values["error"], rate)


def fewest_samples(positive_rate: float) -> int:
    """Return the fewest samples planned for: ten of the rarer class, on average.

    With fewer, fluctuations are beyond the leading order that a plan averages over.
    """
    # One part in a million of slack: 10/0.1 is 100, whatever the rounding.
    return math.ceil((1.0 - 1e-6) * FEWEST_OF_A_CLASS / min(positive_rate, 1.0 - positive_rate))


def _start(unknown: str, values: dict[str, Any]) -> Any:
    """Return a plausible value to begin the search at."""
    if unknown == "n_samples":
        return max(2.0 * values["dim"], fewest_samples(values["positive_rate"]))
    if unknown == "dim":
        return max(0.5 * values["n_samples"], 1.0)
    if unknown == "n_tokens":
        return min(10 * values["n_signal"], 500)
    return {"n_signal": 1, "signal": 4.0, "positive_rate": 0.5, "error": 0.0}[unknown]
