"""A plan: the answer, how to use the samples, and what else the same budget could give."""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.estimate import Estimate
from sparsetoken.planner.architectures import (
    ARCHITECTURES,
    OPTIMAL,
    Architecture,
    Choice,
    predict,
)
from sparsetoken.planner.expectation import FEW_SAMPLES, has_few_samples
from sparsetoken.planner.floors import least_alpha, least_shortfall
from sparsetoken.planner.request import (
    FEWEST_OF_A_CLASS,
    PLANNED_WITH,
    Progress,
    Request,
    fewest_samples,
    silent,
)
from sparsetoken.planner.result import PlanResult, Sections
from sparsetoken.population import Population
from sparsetoken.theory import Risk
from sparsetoken.theory.learning.optimal import LearningSolution
from sparsetoken.vocabulary import PARAMETERS

_POINTS = 9


class PlanCurve(NamedTuple):
    """Expected error against a quantity, the settings chosen anew at each value."""

    quantity: str
    values: tuple[float, ...]
    errors: tuple[Estimate, ...]


class Plan(PlanResult):
    """The answer of :func:`sparsetoken.plan`.

    Attributes
    ----------
    n_samples, dim : int
        Number of labelled sequences, and of features per token.
    n_tokens, n_signal : int or None
        Length of a sequence, and how many of its tokens carry the signal in a positive one; None
        for a population, whose kinds have their own.
    signal : float
        Strength of the signal; for a population, the factor on the strengths of its kinds.
    positive_rate : float
        Fraction of sequences that are recorded as positive.
    error : Estimate
        The mean error of studies of this size, with its numerical uncertainty. Up to 60 samples it
        is the mean of runs of the planned training. Above, it is the theory's limit with the
        fluctuations of the bias and of the query averaged in, to leading order.
    metric : str
        What ``error`` is: the test error ("error"), 1 − AUC ("auc") or 1 − recall ("recall").
    solved_for : str
        The quantity that was asked for.
    target : float or None
        The error asked for; None if the error was the unknown.
    model : str
        The classifier planned for.
    problem : SparseTokenProblem or Population
        The statistical model planned with.
    """

    _drawing = "draw_plan"

    def __init__(
        self,
        architecture: Architecture,
        request: Request,
        value: Any,
        choice: Choice,
        error: Estimate,
        met_above: bool = True,
        progress: Progress = silent,
    ) -> None:
        values: dict[str, Any] = {**request.values, request.unknown: value}
        self._architecture, self._request, self._choice = architecture, request, choice
        self._met_above, self._progress, self._metric = met_above, progress, request.metric
        self._case = request.at(value)
        self.problem, self.error = self._case.problem, error
        self.n_samples, self.dim = int(self._case.n_samples), int(self._case.dim)
        self.n_tokens: int | None = values.get("n_tokens")
        self.n_signal: int | None = values.get("n_signal")
        self.signal, self.positive_rate = float(values["signal"]), self.problem.positive_rate
        self.solved_for, self.target = request.unknown, request.values.get("error")
        self.metric, self.model = request.metric.name, architecture.name

    @cached_property
    def limit(self) -> Risk | LearningSolution:
        """The theory's result at the plan's samples per dimension and settings."""
        return self._architecture.limit(self._case, self._choice)

    @property
    def limit_error(self) -> Estimate:
        """The error in the limit of many dimensions; far below ``error`` where chance matters."""
        return self._metric.shortfall(self.limit)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The arguments of :meth:`classifier`."""
        return self._architecture.settings(self._case, self._choice)

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
        return self._architecture.classifier(**self.settings, **more)

    @cached_property
    def curve(self) -> PlanCurve:
        """Expected error against the quantity solved for, or the number of samples."""
        quantity = "n_samples" if self.solved_for == "error" else self.solved_for
        values, planned = self._around(quantity), getattr(self, quantity)
        errors = {planned: self.error}
        below, above = [v for v in values if v < planned], [v for v in values if v > planned]
        for side in (below[::-1], above):
            choice = self._choice
            for value in side:
                case = self._case._replace(n_samples=value)
                if quantity != "n_samples":
                    case = self._request.at(value)
                choice, errors[value] = predict(self._architecture, case, self._progress, choice)
        return PlanCurve(quantity, tuple(values), tuple(errors[value] for value in values))

    def _around(self, quantity: str) -> list[float]:
        """Return values around the planned one on a logarithmic scale, it among them."""
        value, whole = getattr(self, quantity), PARAMETERS[quantity].whole
        span = 4.0 if whole else 2.0
        low, high = {
            "n_samples": (fewest_samples(self.positive_rate), math.inf),
            "n_tokens": (self.n_signal, math.inf),
            "n_signal": (1, self.n_tokens),
            "dim": (1, math.inf),
            "positive_rate": (FEWEST_OF_A_CLASS / self.n_samples, 0.5),
            "signal": (0.0, math.inf),
        }[quantity]
        values: Any = np.clip(value * np.geomspace(1.0 / span, span, _POINTS), low, high)
        values[_POINTS // 2] = value
        values = np.unique(values.round() if whole else values)
        return list(values.astype(int if whole else float).tolist())

    @cached_property
    def alternatives(self) -> dict[str, Estimate]:
        """Expected error of the other classifiers with the same samples, at their best settings.

        ``"optimal"`` is the least expected error of any learner, in the limit of many dimensions.
        With ``metric="error"`` also ``"bayes"``: the least error of any classifier, even one that
        knows the signal's direction.
        """
        expected = {
            name: predict(other, self._case, self._progress)[1]
            for name, other in ARCHITECTURES.items()
            if name != self.model and other.supports(self.problem)
        }
        if self.model != OPTIMAL.name:
            alpha = self._case.alpha
            expected[OPTIMAL.name] = least_shortfall(self.problem, alpha, self._metric)
        bayes = self._metric.bayes(self.problem)
        return expected if bayes is None else {**expected, "bayes": bayes}

    @property
    def _goal(self) -> float:
        """The error asked for, or else the one that is expected."""
        return float(self.error) if self.target is None else self.target

    @cached_property
    def least_samples(self) -> int:
        """Samples below which no learner reaches the planned error, in many dimensions."""
        alpha = least_alpha(self.problem, self._metric, self._goal)
        return min(max(1, math.ceil(alpha * self.dim * (1.0 - 1e-6))), self.n_samples)

    @property
    def floor(self) -> str:
        """What no learner can do, and how far the classifier is from it, in one sentence."""
        reached = self._metric.reached(self._goal)
        limit = f"no learner reaches {reached} with fewer than {self.least_samples} samples"
        if self.model == OPTIMAL.name or self.least_samples == self.n_samples:
            return limit
        times = self.n_samples / self.least_samples
        ratio = f"{times:.2g}" if times < 10 else f"{times:,.0f}"
        return f"{limit}; {self._architecture.label} takes {ratio} times as many"

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        reached, name = self._metric.reached(self._goal), self._architecture.label
        if self.solved_for == "error":
            return f"{name} reaches {reached} with {self.n_samples} samples"
        quantity, value = self.solved_for, _shown(getattr(self, self.solved_for))
        if quantity == "signal" and isinstance(self.problem, Population):
            quantity = "all strengths multiplied by"
        side = "at least" if self._met_above else "at most"
        return f"{name} needs {quantity} {side} {value} for {reached}"

    @property
    def caution(self) -> str:
        """A warning if there are so few samples that a single study may differ much; else empty."""
        if self.n_samples > FEW_SAMPLES:
            return ""
        return (
            f"{self.n_samples} samples are few: the error planned is the mean over many studies, "
            "and a single one may be several times worse"
        )

    def _planned_with(self) -> dict[str, Any]:
        """Return the numbers planned with; of a population those that its kinds do not have."""
        values = {name: getattr(self, name) for name in PLANNED_WITH}
        return {name: value for name, value in values.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        curve, problem = self.curve, self.problem
        words = ("answer", "floor", "caution", "solved_for", "least_samples")
        more = ("model", "metric", "target", "settings")
        data = {"reachable": True} | {name: getattr(self, name) for name in (*words, *more)}
        data |= self._planned_with()
        if isinstance(problem, Population):
            data["kinds"] = problem.to_tables()
            data["label_errors"] = list(problem.label_errors)
        return data | {
            "label": self._metric.label,
            "error": float(self.error),
            "uncertainty": self.error.uncertainty,
            "limit_error": float(self.limit_error),
            "alternatives": {name: float(value) for name, value in self.alternatives.items()},
            "curve": {
                "quantity": curve.quantity,
                "values": list(curve.values),
                "errors": [float(error) for error in curve.errors],
                "uncertainties": [error.uncertainty for error in curve.errors],
            },
        }

    def _sections(self) -> Sections:
        architecture, label, planned = self._architecture, self._metric.label, self._planned_with()
        goal = self._metric.reached(self._goal)
        question = f"Which {self.solved_for} does {architecture.label} need for {goal}?"
        if self.target is None:
            question = f"What does {architecture.label} reach with {self.n_samples} samples?"
        kinds = []
        if isinstance(self.problem, Population):
            planned["strengths ×"], kinds = planned.pop("signal"), _kinds(self.problem)
        basis = architecture.basis
        if architecture.has_sampler and has_few_samples(self._case):
            basis = "The expectation is the mean over simulated trainings of this size."
        budget = {self.model: self.error, **self.alternatives}
        curve = zip(*self.curve[1:], strict=True)
        return Sections(
            question,
            [
                "Tokens are Gaussian noise; in a positive sample those that carry the signal are "
                "shifted along one direction, which is not known beforehand.",
            ],
            [
                f"In the limit of many dimensions {self.floor}",
                *([f"Caution: {self.caution}"] if self.caution else []),
            ],
            [
                f"Planned with {_listed(planned)}.",
                *kinds,
                basis,
                f"The expected {label} is a mean over studies, not a bound for one; in the limit "
                f"of many dimensions it is {_shown(self.limit_error)}.",
                *([f"The settings are {_listed(self.settings)}."] if self.settings else []),
            ],
            {
                f"Expected {label} with the same samples": [
                    ("classifier", label),
                    *((name, _shown(value)) for name, value in budget.items()),
                ],
                f"Expected {label} against {self.curve.quantity}": [
                    (self.curve.quantity, label, "±"),
                    *((f"{x:.6g}", _shown(e), f"{e.uncertainty:.1g}") for x, e in curve),
                ],
            },
        )


def _kinds(population: Population) -> list[str]:
    """Return a sentence on each kind of a population, and one on its label errors."""
    lines = [
        f"{weight:.1%} of {kind.n_tokens} tokens, {kind.n_signal} with a signal of "
        f"{kind.signal:.4g}, {kind.positive_rate:.3g} positive."
        for kind, weight in zip(population.kinds, population.shares, strict=True)
    ]
    if any(population.label_errors):
        missed, false = population.label_errors
        lines.append(f"Label errors: {missed:g} of positives, {false:g} of negatives.")
    return lines


def _shown(value: Any) -> str:
    """Return a number as text; nobody will ever tell an error below 1e-9 from none."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if value >= 1e-9 else "below 1e-9"


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in values.items())
