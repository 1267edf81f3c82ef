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
from sparsetoken.planner.expectation import FEW_SAMPLES, Progress, is_drawn, no_progress
from sparsetoken.planner.floors import least_alpha, least_error, least_possible
from sparsetoken.planner.request import (
    FEWEST_OF_A_CLASS,
    PLANNED_WITH,
    Request,
    fewest_samples,
)
from sparsetoken.planner.words import (
    PlanResult,
    Words,
    answer_by_theory,
    caution_by_theory,
    least_by_theory,
    words_by_theory,
)
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
        progress: Progress = no_progress,
    ) -> None:
        values: dict[str, Any] = {**request.values, request.unknown: value}
        self._architecture, self._request, self._choice = architecture, request, choice
        self._met_above, self._progress, self.aim = met_above, progress, request.metric
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
        return self.aim.error(self.limit)

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
            expected[OPTIMAL.name] = least_error(self.problem, alpha, self.aim)
        bayes = least_possible(self.problem, self.aim)
        return expected if bayes is None else {**expected, "bayes": bayes}

    @cached_property
    def least_samples(self) -> int:
        """Samples below which no learner reaches the planned error, in many dimensions."""
        alpha = least_alpha(self.problem, self.aim, self.target or float(self.error))
        return min(max(1, math.ceil(alpha * self.dim * (1.0 - 1e-6))), self.n_samples)

    @property
    def label(self) -> str:
        """What the classifier is called in a sentence."""
        return self._architecture.label

    @property
    def has_few_samples(self) -> bool:
        """Whether there are so few samples that chance decides much in a single study."""
        return self.n_samples <= FEW_SAMPLES

    @property
    def basis(self) -> str:
        """What the expectation rests on."""
        if self._architecture.has_sampler and is_drawn(self._case):
            return "The expectation is the mean over simulated trainings of this size."
        return self._architecture.basis

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        return answer_by_theory(self)

    @property
    def floor(self) -> str:
        """What no learner can do, and how far the classifier is from it, in one sentence."""
        return least_by_theory(self)

    @property
    def caution(self) -> str:
        """A warning if there are so few samples that a single study may differ much; else empty."""
        return caution_by_theory(self)

    def _words(self) -> Words:
        return words_by_theory(self)

    def planned_with(self) -> dict[str, Any]:
        """Return the numbers planned with; of a population those that its kinds do not have."""
        values = {name: getattr(self, name) for name in PLANNED_WITH}
        return {name: value for name, value in values.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        curve, problem = self.curve, self.problem
        words = ("answer", "floor", "caution", "solved_for", "least_samples")
        more = ("model", "metric", "target", "settings")
        data = {"reachable": True} | {name: getattr(self, name) for name in (*words, *more)}
        data |= self.planned_with()
        if isinstance(problem, Population):
            data["kinds"] = problem.to_tables()
            data["label_errors"] = list(problem.label_errors)
        return data | {
            "label": self.aim.label,
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
