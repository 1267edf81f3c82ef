"""A plan: the answer, how to use the samples, and what else the same budget could give."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import ARCHITECTURES
from sparsetoken.planner.expectation import FEW_SAMPLES
from sparsetoken.planner.optimal import OPTIMAL, least_alpha, least_shortfall
from sparsetoken.planner.request import (
    FEWEST_OF_A_CLASS,
    GIVEN,
    Progress,
    Request,
    fewest_samples,
    silent,
)
from sparsetoken.planner.result import PlanResult, Sections
from sparsetoken.planner.solve import Solution, predict
from sparsetoken.population import AnyProblem, Population
from sparsetoken.population_text import errors_text, kinds_text
from sparsetoken.theory import Risk
from sparsetoken.theory.optimal_solution import LearningSolution
from sparsetoken.vocabulary import PARAMETERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Plan", "PlanCurve"]

_POINTS = 9


class PlanCurve(NamedTuple):
    """Expected error against a quantity, the settings chosen anew at each value."""

    quantity: str
    values: tuple[float, ...]
    errors: tuple[Estimate, ...]


@dataclass(frozen=True, repr=False)
class Plan(PlanResult):
    """The answer of :func:`sparsetoken.plan`.

    ``n_samples``, ``dim``, ``n_tokens``, ``n_signal``, ``signal``, ``positive_rate`` and ``error``
    are the quantities planned with, including the one that was solved for.
    """

    target: float | None
    """The error asked for; None if the error was the unknown."""
    _solution: Solution
    _progress: Progress = field(default=silent, compare=False)

    @property
    def _request(self) -> Request:
        return self._solution.request

    @property
    def model(self) -> str:
        """The classifier planned for."""
        return self._solution.architecture.name

    @property
    def solved_for(self) -> str:
        """The quantity that was asked for."""
        return self._request.unknown

    @property
    def metric(self) -> str:
        """What ``error`` is: the test error ("error"), 1 − AUC ("auc") or 1 − recall ("recall")."""
        return self._request.metric.name

    @property
    def n_samples(self) -> int:
        """Number of labelled sequences."""
        return int(self._request.n_samples)

    @property
    def dim(self) -> int:
        """Number of features per token."""
        return int(self._request.dim)

    @property
    def problem(self) -> AnyProblem:
        """The statistical model planned with."""
        return self._request.problem

    @property
    def n_tokens(self) -> int | None:
        """Length of a sequence; None of a population, whose kinds have it."""
        return self._quantity("n_tokens")

    @property
    def n_signal(self) -> int | None:
        """Tokens that carry the signal in a positive sequence; None of a population."""
        return self._quantity("n_signal")

    @property
    def signal(self) -> float:
        """Strength of the signal; of a population the factor on the strengths that were given."""
        return float(self._quantity("signal"))

    @property
    def positive_rate(self) -> float:
        """Fraction of sequences that are recorded as positive."""
        return self.problem.positive_rate

    def _quantity(self, name: str) -> Any:
        return self._request.quantity(name)

    @property
    def error(self) -> Estimate:
        """The mean error of studies of this size, with its numerical uncertainty.

        Up to 60 samples it is the mean of runs of the planned training. Above, it is the theory's
        limit with the fluctuations of the bias and of the query averaged in, to leading order. With
        ``metric="auc"`` it is 1 − AUC.
        """
        return self._solution.expected

    @property
    def limit_error(self) -> Estimate:
        """The error in the limit of many dimensions; far below ``error`` where chance matters."""
        return self._request.metric.shortfall(self.limit)

    @cached_property
    def limit(self) -> Risk | LearningSolution:
        """The theory's result at the plan's samples per dimension and settings."""
        return self._solution.architecture.limit(self._request.case, self._solution.choice)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The arguments of :meth:`classifier`."""
        return self._solution.architecture.settings(self._request.case, self._solution.choice)

    def classifier(self, **more: Any) -> Any:
        """Return the unfitted estimator that the plan is about.

        Parameters
        ----------
        **more : Any
            Further arguments of the estimator, such as ``random_state``.

        Examples
        --------
        >>> import sparsetoken as st
        >>> plan = st.plan(n_samples=100, dim=20, n_tokens=4, signal=9.0, model="pooled")
        >>> plan.classifier()
        PooledClassifier(reg=0.066)
        """
        return self._solution.architecture.classifier(**self.settings, **more)

    @cached_property
    def curve(self) -> PlanCurve:
        """Expected error against the quantity solved for, or the number of samples."""
        quantity = "n_samples" if self.solved_for == "error" else self.solved_for
        values = _around(quantity, self)
        center = int(np.argmin([abs(math.log(v / getattr(self, quantity))) for v in values]))
        solutions = {center: self._solution}
        for order, step in ((range(center + 1, len(values)), -1), (range(center)[::-1], 1)):
            for index in order:
                request = self._request.moved(quantity, values[index])
                start = solutions[index + step].choice
                solutions[index] = predict(
                    self._solution.architecture, request, self._progress, start
                )
        errors = tuple(solutions[index].expected for index in range(len(values)))
        return PlanCurve(quantity, tuple(values), errors)

    @cached_property
    def alternatives(self) -> dict[str, Estimate]:
        """Expected error of the other classifiers with the same samples, at their best settings.

        ``"optimal"`` is the least expected error of any learner, in the limit of many dimensions.
        With ``metric="error"`` also ``"bayes"``: the least error of any classifier, even one that
        knows the signal's direction.
        """
        expected = {
            name: predict(other, self._request, self._progress).expected
            for name, other in ARCHITECTURES.items()
            if name != self.model and other.supports(self.problem)
        }
        if self.model != OPTIMAL.name:
            expected[OPTIMAL.name] = least_shortfall(self._request.case)
        bayes = self._request.metric.bayes(self.problem)
        return expected if bayes is None else {**expected, "bayes": bayes}

    @cached_property
    def least_samples(self) -> int:
        """Samples below which no learner reaches the planned error, in many dimensions."""
        reached = float(self.error) if self.target is None else self.target
        alpha = least_alpha(self.problem, self._request.metric, reached)
        return min(max(1, math.ceil(alpha * self.dim * (1.0 - 1e-6))), self.n_samples)

    @property
    def floor(self) -> str:
        """What no learner can do, and how far the classifier is from it, in one sentence."""
        reached = self._request.metric.reached(self.error if self.target is None else self.target)
        limit = f"no learner reaches {reached} with fewer than {self.least_samples} samples"
        if self.model == OPTIMAL.name or self.least_samples == self.n_samples:
            return limit
        times = self.n_samples / self.least_samples
        return f"{limit}; {self._solution.architecture.label} takes {times:.2g} times as many"

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        reached = self._request.metric.reached(self.error if self.target is None else self.target)
        name = self._solution.architecture.label
        if self.solved_for == "error":
            return f"{name} reaches {reached} with {self.n_samples} samples"
        value = self._request.value
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        side = "at least" if self._solution.met_when == "above" else "at most"
        if self.solved_for == "signal" and isinstance(self.problem, Population):
            return f"{name} needs all strengths multiplied by {side} {shown} for {reached}"
        return f"{name} needs {self.solved_for} {side} {shown} for {reached}"

    @property
    def caution(self) -> str:
        """A warning if there are so few samples that a single study may differ much; else empty."""
        if self.n_samples > FEW_SAMPLES:
            return ""
        return (
            f"{self.n_samples} samples are few: the error planned is the mean over many studies, "
            "and a single one may be several times worse"
        )

    def summary(self) -> str:
        """Return the answer and what to be careful about, then the details, as text."""
        caution = f"caution: {self.caution}\n" if self.caution else ""
        return f"{self.answer}\n{self.floor}\n{caution}\n{self.details()}"

    def details(self) -> str:
        """Return the settings, the alternatives and the curve as text."""
        planned, kinds = self._planned_with(), list[str]()
        if isinstance(self.problem, Population):
            planned["strengths ×"], kinds = planned.pop("signal"), _kinds(self.problem)
        lines = ["planned with"]
        lines += [f"  {name:<14} {value:g}" for name, value in planned.items()] + kinds
        lines += ["settings"] if self.settings else []
        for name, value in self.settings.items():
            lines.append(
                f"  {name:<14} {value if isinstance(value, str) else format(value, '.4g')}"
            )
        label = self._request.metric.label
        lines += [f"expected {label} with the same samples"]
        for name, value in {self.model: self.error, **self.alternatives}.items():
            lines.append(f"  {name:<14} {_shown(value)}")
        lines += [f"in the limit of many dimensions: {_shown(self.limit_error)}"]
        lines += [f"expected {label} against {self.curve.quantity}"]
        for value, error in zip(*self.curve[1:], strict=True):
            lines.append(f"  {value:<14.6g} {_shown(error)} ± {error.uncertainty:.1g}")
        return "\n".join(lines)

    def _planned_with(self) -> dict[str, Any]:
        """Return the numbers planned with; of a population those that its kinds do not have."""
        values = {name: getattr(self, name) for name in GIVEN}
        return {name: value for name, value in values.items() if value is not None}

    def _population(self) -> dict[str, str]:
        """Return the kinds of a population and its label errors as text."""
        if not isinstance(self.problem, Population):
            return {}
        errors = errors_text(self.problem.label_errors)
        return {"kinds": kinds_text(self.problem), "label_errors": errors}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        curve = self.curve
        return {
            **{name: getattr(self, name) for name in ("answer", "floor", "caution", "solved_for")},
            "least_samples": self.least_samples,
            **self._planned_with(),
            **self._population(),
            "error": float(self.error),
            "uncertainty": self.error.uncertainty,
            "limit_error": float(self.limit_error),
            **{name: getattr(self, name) for name in ("model", "metric", "target", "settings")},
            "alternatives": {name: float(value) for name, value in self.alternatives.items()},
            "curve": {
                "quantity": curve.quantity,
                "values": list(curve.values),
                "errors": [float(error) for error in curve.errors],
                "uncertainties": [error.uncertainty for error in curve.errors],
            },
        }

    def _draw(self) -> "Figure":
        from sparsetoken.plotting import draw_plan

        return draw_plan(self._table())

    def _sections(self) -> Sections:
        metric, name = self._request.metric, self._solution.architecture.label
        planned = ", ".join(f"{key} = {value:.6g}" for key, value in self._planned_with().items())
        settings = ", ".join(
            f"{key} = {value if isinstance(value, str) else format(value, '.4g')}"
            for key, value in self.settings.items()
        )
        if self.target is None:
            question = f"What does {name} reach with {self.n_samples} samples?"
        else:
            question = (
                f"Which {self.solved_for} does {name} need for {metric.reached(self.target)}?"
            )
        kinds = _kinds(self.problem) if isinstance(self.problem, Population) else []
        runs = self.n_samples <= FEW_SAMPLES and self._solution.architecture.has_sampler
        basis = (
            "The expectation is the mean over simulated trainings of this size."
            if runs
            else self._solution.architecture.basis
        )
        label = metric.label
        others = {self.model: self.error, **self.alternatives}
        curve = [(f"{x:.6g}", _shown(value)) for x, value in zip(*self.curve[1:], strict=True)]
        return Sections(
            question,
            [
                f"Planned with {planned}.",
                *(f"{kind.strip()}." for kind in kinds),
                "Tokens are Gaussian noise; in a positive sample those that carry the signal are "
                "shifted along one direction, which is not known beforehand.",
            ],
            [
                f"{self.answer}.",
                f"The expected {label} is {_shown(self.error)}, with a numerical uncertainty of "
                f"{self.error.uncertainty:.1g}; it is a mean over studies, not a bound for one.",
                f"In the limit of many dimensions {self.floor}.",
                *([f"{self.caution}."] if self.caution else []),
            ],
            [basis, *([f"Settings of the classifier: {settings}."] if settings else [])],
            {
                f"Expected {label} with the same samples": [
                    ("classifier", label),
                    *((key, _shown(value)) for key, value in others.items()),
                ],
                f"Expected {label} against {self.curve.quantity}": [
                    (self.curve.quantity, label),
                    *curve,
                ],
            },
        )

    def _table(self) -> list[dict[str, Any]]:
        """Return what the picture shows as rows."""
        curve = self.curve
        metric = self._request.metric.label
        shared = {"quantity": curve.quantity, "metric": metric, "title": self.answer}
        shared |= self._planned_with()
        planned = {**shared, "model": self.model, "x": getattr(self, curve.quantity)}
        rows = [{**planned, "part": "plan", "value": self.error}]
        for x, value in zip(curve.values, curve.errors, strict=True):
            rows.append({**planned, "part": "curve", "x": x, "value": value})
        for name, value in self.alternatives.items():
            rows.append({**planned, "part": "alternative", "model": name, "value": value})
        if self.target is not None:
            rows.append({**planned, "part": "target", "value": self.target})
        return rows


def _kinds(population: Population) -> list[str]:
    """Return the kinds of a population and its label errors, a line of text each."""
    lines = [
        f"  {share:<14.1%} of {kind.n_tokens} tokens, {kind.n_signal} with a signal of "
        f"{kind.signal:.4g}, {kind.positive_rate:.3g} positive"
        for kind, share in zip(population.kinds, population.shares, strict=True)
    ]
    if any(population.label_errors):
        missed, false = population.label_errors
        lines.append(f"  {'label errors':<14} {missed:g} of positives, {false:g} of negatives")
    return lines


def _shown(value: float) -> str:
    """Return a number as text; nobody will ever tell an error below 1e-9 from none."""
    return f"{value:.4g}" if value >= 1e-9 else "below 1e-9"


def _around(quantity: str, plan: Plan) -> list[float]:
    """Return values around the planned one on a logarithmic scale, it among them."""
    value = getattr(plan, quantity)
    whole = PARAMETERS[quantity].whole
    span = 4.0 if whole else 2.0
    values = value * np.geomspace(1.0 / span, span, _POINTS)
    fewest = float(fewest_samples(plan.positive_rate))
    low = {"n_samples": fewest, "n_tokens": plan.n_signal, "n_signal": 1.0, "dim": 1.0}
    high = {"n_signal": plan.n_tokens, "positive_rate": 0.5}
    least = FEWEST_OF_A_CLASS / plan.n_samples if quantity == "positive_rate" else 0.0
    values = np.clip(values, low.get(quantity, least), high.get(quantity, math.inf))
    if whole:
        return [int(v) for v in np.unique(values.round())]
    values[_POINTS // 2] = value
    return [float(v) for v in np.unique(values)]
