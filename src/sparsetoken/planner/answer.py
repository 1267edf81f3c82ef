"""The answer of ``sparsetoken.plan``: a study that does what was asked, and words about it."""

import contextlib
import math
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sparsetoken import models
from sparsetoken.estimate import Estimate
from sparsetoken.planner.expected import Study, choose
from sparsetoken.planner.solve import UnreachableError, fewest_samples, least_alpha, solve
from sparsetoken.planner.words import PlanResult, Sections, capital, number
from sparsetoken.population import Population
from sparsetoken.problem import Problem
from sparsetoken.theory import optimal, oracle_error
from sparsetoken.vocabulary import PARAMETERS, group

CLASSIFIERS = (models.DEFAULT, "two-step", "pooled", "vectorized")
"""What a plan compares; "optimal" is besides the best that any learner can do."""
_FEW_SAMPLES = 60  # chance decides much in a single study
_POINTS = 9  # of a curve


class PlanCurve(NamedTuple):
    """Expected error against a quantity, the settings chosen anew at each value."""

    quantity: str
    values: tuple[float, ...]
    errors: tuple[Estimate, ...]


class Plan(PlanResult):
    """The answer of :func:`sparsetoken.plan`.

    Attributes
    ----------
    n_samples, dim, positive_rate, n_kinds
        Labelled sequences, features per token, fraction of positives and kinds of signal.
    n_tokens, n_signal, signal : number or None
        Length of a sequence, its signal tokens, and their strength; None for a population, whose
        kinds have their own.
    error : Estimate
        The mean error of studies of this size, with its numerical uncertainty.
    metric : str
        What ``error`` is: the test error ("error"), 1 − AUC ("auc") or 1 − recall ("recall").
    solved_for, model : str
        The quantity that was asked for, and the classifier planned for.
    target : float or None
        The error asked for; None if the error was the unknown.
    problem : SparseTokenProblem or Population
        The statistical model planned with.
    """

    _drawing = "draw_plan"

    def __init__(self, asked: Study) -> None:
        study, self._choice, self.error = solve(asked)
        problem = study.problem
        kind = None if isinstance(problem, Population) else problem.kinds[0]
        self._study, self._model, self.problem = study, study.model, problem
        self.aim, self.metric = study.metric, study.metric.name
        self.n_samples, self.dim = int(study.n_samples), int(study.dim)
        self.n_tokens, self.n_signal, self.signal = (
            getattr(kind, name, None) for name in ("n_tokens", "n_signal", "signal")
        )
        self.positive_rate, self.n_kinds = problem.positive_rate, problem.n_kinds
        self.solved_for, self.model = study.unknown, study.model.name
        self.target = None if study.unknown == "error" else study.target

    @cached_property
    def limit_error(self) -> Estimate:
        """The error in the limit of many dimensions; far below ``error`` where chance matters."""
        return self.aim.error(self._model.limit(self._study, self._choice))

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The arguments of :meth:`classifier`."""
        return self._model.tuned(self._study, self._choice)

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
        return self._model.classifier(self.settings).set_params(**more)

    @cached_property
    def curve(self) -> PlanCurve:
        """Expected error against the quantity solved for, or the number of samples."""
        quantity = "n_samples" if self.solved_for == "error" else self.solved_for
        asked, planned = replace(self._study, unknown=quantity), getattr(self, quantity)
        values = self._around(quantity, planned)
        errors, choices = {planned: self.error}, {planned: self._choice}
        place = values.index(planned)
        for before, value in [*pairwise(values[place::-1]), *pairwise(values[place:])]:
            choices[value], errors[value] = choose(asked.at(value), choices[before])
        return PlanCurve(quantity, tuple(values), tuple(errors[value] for value in values))

    def _around(self, quantity: str, planned: float) -> list[float]:
        """Return values around the planned one on a logarithmic scale, it among them."""
        whole = PARAMETERS[quantity].whole
        least: Any = {"n_samples": fewest_samples(self.positive_rate), "n_tokens": self.n_signal}
        span = 4.0 if whole else 2.0
        values: Any = planned * np.geomspace(1.0 / span, span, _POINTS)
        values[_POINTS // 2] = planned
        values = np.maximum(values, least.get(quantity, int(whole)))
        values = np.unique(values.round() if whole else values)
        return list(values.astype(int if whole else float).tolist())

    @cached_property
    def alternatives(self) -> dict[str, Estimate]:
        """Expected error of the other classifiers with the same samples, at their best settings.

        ``"optimal"`` is the least expected error of any learner, in the limit of many dimensions.
        With ``metric="error"`` also ``"bayes"``: the least error of any classifier, even one that
        knows the signal's direction.
        """
        study = self._study
        expected = {other.model.name: choose(other)[1] for other in self._with_others(study)}
        if self.model != "optimal":
            expected["optimal"] = self.aim.error(optimal(self.problem, study.alpha))
        if self.metric == "error":
            expected["bayes"] = oracle_error(self.problem, "bayes")
        return expected

    @cached_property
    def others(self) -> dict[str, int | None]:
        """Samples with which each other classifier reaches the planned error; None: no number."""
        asked = replace(self._study, n_samples=math.nan, target=self._goal, unknown="n_samples")
        needed = dict[str, int | None]()
        for other in self._with_others(asked):
            try:
                needed[other.model.name] = int(solve(other)[0].n_samples)
            except UnreachableError:
                needed[other.model.name] = None
        return needed

    def _with_others(self, study: Study) -> list[Study]:
        """Return the study of each other classifier."""
        suitable = classifiers_for(self.problem)
        return [replace(study, model=model) for model in suitable if model.name != self.model]

    @property
    def _goal(self) -> float:
        """The error asked for, or else the one reached."""
        return self.target or float(self.error)

    @cached_property
    def least_samples(self) -> int:
        """Samples below which no learner reaches the planned error, in many dimensions."""
        alpha = least_alpha(self.problem, self.aim, self._goal)
        return min(max(1, math.ceil(alpha * self.dim * (1.0 - 1e-6))), self.n_samples)

    @property
    def is_smallest(self) -> bool:
        """Whether the samples are the fewest planned for, and do better than asked."""
        few = self.n_samples <= fewest_samples(self.positive_rate)
        return few and self.target is not None and self.error < 0.95 * self.target

    def planned_with(self) -> dict[str, Any]:
        """Return the numbers planned with; of a population those that its kinds do not have."""
        values = {name: getattr(self, name) for name in ("n_samples", "dim", *group("problem"))}
        if self.n_kinds == 1:
            del values["n_kinds"]
        return {name: value for name, value in values.items() if value is not None}

    @property
    def _label(self) -> str:
        return "the best learner" if self.model == "optimal" else models.look(self.model).label

    @property
    def answer(self) -> str:
        """The plan in one sentence."""
        name, reached = capital(self._label), self.aim.words(self._goal)
        samples = f"{self.n_samples} labelled sequences"
        if self.solved_for == "n_samples":
            fewest = f"at most {samples}, the fewest planned for,"
            needed = fewest if self.is_smallest else f"at least {samples}"
            return f"{name} needs {needed} for {reached}."
        conditions = {
            "error": samples,
            "dim": f"at most {self.dim} features per token",
            "n_tokens": f"at most {self.n_tokens} tokens per sequence",
            "signal": f"a signal of at least {number(self.signal)}",
        }
        return f"{name} reaches {reached} with {conditions[self.solved_for]}."

    @property
    def floor(self) -> str:
        """What no learner can do, and how far the classifier is from it, in one sentence."""
        samples = f"fewer than {self.least_samples} labelled sequences"
        limit = f"No learner reaches {self.aim.words(self._goal)} with {samples}"
        at_floor = self.least_samples == self.n_samples
        if at_floor or self.is_smallest or self.model == "optimal":
            return f"{limit}."
        times = self.n_samples / self.least_samples
        ratio = f"{times:.2g}" if times < 10 else f"{times:,.0f}"
        return f"{limit}; {self._label} takes {ratio} times as many."

    @property
    def basis(self) -> str:
        """What the expectation rests on."""
        if self._study.is_drawn:
            return "The expectation is the mean over simulated trainings of this size."
        return f"The expectation is that of {self._model.basis}."

    @property
    def caution(self) -> str:
        """A warning if there are so few samples that a single study may differ much; else empty."""
        if self.n_samples > _FEW_SAMPLES:
            return ""
        return (
            f"{self.n_samples} sequences are few: the planned error is the mean over many studies, "
            "and a single one may be several times worse."
        )

    def _needed_by_others(self) -> str:
        """Say how many samples the other classifiers need, those that need fewest first."""
        labels = {models.look(name).label: needed for name, needed in self.others.items()}
        never = " or ".join(label for label, needed in labels.items() if needed is None)
        counts = sorted((needed, label) for label, needed in labels.items() if needed is not None)
        parts = [f"{label} needs {needed}" for needed, label in counts]
        parts += [f"no number is enough for {never}"] if never else []
        return f"For {self.aim.words(self._goal)} {', '.join(parts)}."

    def _sections(self) -> Sections:
        label, planned, kinds, problem = self.aim.label, self.planned_with(), [], self.problem
        if isinstance(problem, Population):
            kinds = [
                f"{100.0 * weight:.3g} % of {kind.n_tokens} tokens, {kind.n_signal} with a signal "
                f"of {kind.signal:.4g}, {kind.positive_rate:.3g} positive."
                for kind, weight in zip(problem.kinds, problem.shares, strict=True)
            ]
            missed, false = problem.label_errors
            if missed or false:
                kinds.append(f"Label errors: {missed:g} of positives, {false:g} of negatives.")
        budget = {self.model: self.error, **self.alternatives}
        curve = zip(self.curve.values, self.curve.errors, strict=True)
        return {
            "Answer": [
                self.answer,
                f"{self.floor} This is the limit of many dimensions.",
                self._needed_by_others(),
                *([f"Caution: {self.caution}"] if self.caution else []),
            ],
            "Assumptions": [
                "Tokens are Gaussian noise; in a positive sequence those that carry the signal are "
                "shifted along one direction, which is not known beforehand.",
            ],
            "What it rests on": [
                f"Planned with {_listed(planned)}.",
                *kinds,
                self.basis,
                f"The expected {label} is a mean over studies, not a bound for one; in the limit "
                f"of many dimensions it is {number(self.limit_error)}.",
                *([f"The settings are {_listed(self.settings)}."] if self.settings else []),
            ],
            f"Expected {label} with the same samples": [
                ("classifier", label),
                *((name, number(value)) for name, value in budget.items()),
            ],
            f"Expected {label} against {self.curve.quantity}": [
                (self.curve.quantity, label, "±"),
                *((f"{x:.6g}", number(e), f"{e.uncertainty:.1g}") for x, e in curve),
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        curve, problem = self.curve, self.problem
        names = ["answer", "floor", "caution", "solved_for", "least_samples", "others"]
        names += ["model", "metric", "target", "settings"]
        data = {"reachable": True} | {n: getattr(self, n) for n in names} | self.planned_with()
        if isinstance(problem, Population):
            data |= {"kinds": problem.to_tables(), "label_errors": list(problem.label_errors)}
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


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {number(value)}" for name, value in values.items())


def classifiers_for(problem: Problem) -> list[models.Model]:
    """Return the classifiers that can be trained on such sequences."""
    suitable = []
    for model in map(models.get, CLASSIFIERS):
        with contextlib.suppress(ValueError):
            model.check(problem, {}, frozenset({"test_error"}))
            suitable.append(model)
    return suitable
