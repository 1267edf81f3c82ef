"""What is asked of the planner: all quantities but one, checked."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sparsetoken._validation import check_count, check_real
from sparsetoken.planner.metric import Metric
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import PARAMETERS, group

__all__ = [
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

GIVEN = ("n_samples", "dim", *group("problem"))
QUANTITIES = (*GIVEN, "error")
"""What a plan consists of; one of them is solved for."""
FEWEST_OF_A_CLASS = 10
_RAREST = 1e-4


def silent(doing: str) -> None:
    """Report no progress."""


class Case(NamedTuple):
    """What a model is judged on; samples and dimension are infinite for its floor."""

    problem: SparseTokenProblem
    n_samples: float
    dim: float
    metric: Metric

    @property
    def alpha(self) -> float:
        """Samples per dimension."""
        return math.inf if math.isinf(self.n_samples) else self.n_samples / self.dim

    def with_rate(self, positive_rate: float) -> "Case":
        """Return the case of samples with this fraction of positives."""
        return self._replace(problem=replace(self.problem, positive_rate=positive_rate))

    @property
    def unlimited(self) -> "Case":
        """The case of infinitely many samples."""
        return self._replace(n_samples=math.inf, dim=math.inf)


@dataclass(frozen=True)
class Request:
    """The quantities of a plan; the one to solve for holds a value to start from."""

    n_samples: float
    dim: float
    n_tokens: int
    n_signal: int
    signal: float
    positive_rate: float
    error: float
    unknown: str
    metric: Metric

    @property
    def problem(self) -> SparseTokenProblem:
        """The statistical model."""
        return SparseTokenProblem(self.n_tokens, self.n_signal, self.signal, self.positive_rate)

    @property
    def case(self) -> Case:
        """What a model is judged on."""
        return Case(self.problem, self.n_samples, self.dim, self.metric)

    @property
    def value(self) -> Any:
        """The present value of the unknown."""
        return getattr(self, self.unknown)

    def at(self, value: Any) -> "Request":
        """Return the request with the unknown at ``value``."""
        return self.moved(self.unknown, value)

    def moved(self, name: str, value: Any) -> "Request":
        """Return the request with some quantity at ``value``."""
        changed: dict[str, Any] = {name: value}
        return replace(self, **changed)


def make_request(metric: Metric, **given: Any) -> Request:
    """Check the quantities, exactly one of which is None, and fill that one provisionally."""
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
    rate = 0.5
    if unknown != "positive_rate":
        rate = values["positive_rate"]
        check_real("positive_rate", rate, low=_RAREST, high=1.0 - _RAREST)
    if unknown not in ("n_tokens", "n_signal"):
        check_count("n_signal", values["n_signal"], maximum=values["n_tokens"])
    if unknown != "n_samples" and values["n_samples"] < fewest_samples(rate):
        raise ValueError(
            f"n_samples must be at least {fewest_samples(rate)}, ten of the rarer class at "
            f"positive_rate={rate:g}, got {values['n_samples']}: with fewer, chance decides too "
            "much"
        )
    if unknown != "error":
        values["error"] = metric.check(given["error"], rate)
    values[unknown] = _start(unknown, values)
    return Request(**values, unknown=unknown, metric=metric)


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
