"""What is asked of the planner: all quantities but one, checked."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from sparsetoken._validation import check_count, check_real
from sparsetoken.planner.metric import Metric
from sparsetoken.population import Population
from sparsetoken.problem import Problem, SparseTokenProblem, check_problem
from sparsetoken.vocabulary import PARAMETERS, group

_PROBLEM = group("problem")
PLANNED_WITH = ("n_samples", "dim", *_PROBLEM)
QUANTITIES = (*PLANNED_WITH, "error")
"""What a plan consists of; one of them is solved for."""
DEFAULTS: dict[str, Any] = {
    name: PARAMETERS[name].default if name in ("n_signal", "positive_rate") else None
    for name in _PROBLEM
}
"""What a plan takes for a quantity of the problem that is left out; None is solved for."""
FEWEST_OF_A_CLASS = 10
_RAREST = 1e-4


class Case(NamedTuple):
    """What a model is judged on; samples and dimension are infinite for its floor."""

    problem: Problem
    n_samples: float
    dim: float
    metric: Metric

    @property
    def alpha(self) -> float:
        """Samples per dimension."""
        return math.inf if math.isinf(self.n_samples) else self.n_samples / self.dim


@dataclass(frozen=True)
class Request:
    """All quantities of a plan but ``unknown``."""

    values: dict[str, Any]
    """Of a population ``signal`` is a factor on the strengths of all its kinds."""
    unknown: str
    metric: Metric
    base: Problem | None
    """The problem or population asked about, if not described by its quantities."""

    def at(self, value: Any) -> Case:
        """Return the case in which the unknown has this value."""
        values = {**self.values, self.unknown: value}
        problem: Problem
        if isinstance(self.base, Population):
            factor = values["signal"]
            problem = self.base.scaled(factor)
        else:
            problem = self.base or SparseTokenProblem(**{name: values[name] for name in _PROBLEM})
        return Case(problem, values["n_samples"], values["dim"], self.metric)


def make_request(metric: Metric, problem: Problem | None, quantities: dict[str, Any]) -> Request:
    """Check the quantities, exactly one of which is None; a problem replaces those it has."""
    if problem is not None:
        for name, default in DEFAULTS.items():
            if quantities[name] != default:
                wrong = quantities[name]
                raise ValueError(f"{name} must be left out: the problem has it; got {wrong!r}")
        problem = check_problem(problem).plain()
        if isinstance(problem, Population):
            quantities = _of_population(quantities, problem)
        else:
            quantities = quantities | {name: getattr(problem, name) for name in _PROBLEM}
    missing = [name for name, value in quantities.items() if value is None]
    if len(missing) != 1:
        raise ValueError(
            f"exactly one of {', '.join(quantities)} must be None, the one to solve for; "
            f"got {', '.join(missing) or 'none'}"
        )
    values = {
        name: value if name == "error" else PARAMETERS[name].check(value)
        for name, value in quantities.items()
        if value is not None
    }
    _check_together(metric, values)
    return Request(values, missing[0], metric, problem)


def _of_population(quantities: dict[str, Any], population: Population) -> dict[str, Any]:
    """Return the quantities of a plan for a population.

    Its ``signal`` is a factor on the strengths of all kinds, solved for if nothing else is.
    """
    if max(kind.signal for kind in population.kinds) == 0.0:
        raise ValueError("problem must have a signal in at least one kind, got 0 in each")
    sizes = {name: quantities[name] for name in ("n_samples", "dim", "error")}
    signal = 1.0 if None in sizes.values() else None
    return sizes | {"signal": signal, "positive_rate": population.positive_rate}


def _check_together(metric: Metric, values: dict[str, Any]) -> None:
    """Check what limits each other; the target becomes a float."""
    if "signal" in values:
        check_real("signal", values["signal"], low=0.0, above=True)
    if {"n_tokens", "n_signal"} <= set(values):
        check_count("n_signal", values["n_signal"], maximum=values["n_tokens"])
    rate = values.get("positive_rate", 0.5)
    check_real("positive_rate", rate, low=_RAREST, high=1.0 - _RAREST)
    fewest = fewest_samples(rate)
    if values.get("n_samples", fewest) < fewest:
        raise ValueError(
            f"n_samples must be at least {fewest}, ten of the rarer class at positive_rate="
            f"{rate:g}, got {values['n_samples']}: with fewer, chance decides too much"
        )
    if "error" in values:
        values["error"] = metric.check(values["error"], metric.chance(rate))


def fewest_samples(positive_rate: float) -> int:
    """Return the fewest samples planned for: ten of the rarer class, on average.

    With fewer, fluctuations are beyond the leading order that a plan averages over.
    """
    # One part in a million of slack: 10/0.1 is 100, whatever the rounding.
    return math.ceil((1.0 - 1e-6) * FEWEST_OF_A_CLASS / min(positive_rate, 1.0 - positive_rate))
