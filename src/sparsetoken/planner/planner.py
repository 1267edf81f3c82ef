"""``sparsetoken.plan``: call it with all quantities but one, or ask it about measurements."""

import contextlib
import math
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sparsetoken import models
from sparsetoken._validation import check_choice, check_real
from sparsetoken.estimate import Estimate
from sparsetoken.models import Model
from sparsetoken.planner.expected import Study, choose
from sparsetoken.planner.metric import DEFAULT_FPR, Metric, get_metric
from sparsetoken.planner.pilot import plan_from_curve, plan_from_pilot
from sparsetoken.planner.solve import (
    LONGEST,
    UnreachableError,
    fewest_samples,
    least_alpha,
    solve,
)
from sparsetoken.planner.testing import plan_test_size
from sparsetoken.planner.words import (
    PlanResult,
    Progress,
    answer_by_theory,
    least_by_theory,
    no_progress,
    words_by_theory,
)
from sparsetoken.population import Population
from sparsetoken.problem import Problem, SparseTokenProblem, check_problem
from sparsetoken.theory import optimal, oracle_error
from sparsetoken.vocabulary import PARAMETERS, group

CLASSIFIERS = (models.DEFAULT, "two-step", "pooled", "vectorized")
"""What a plan compares; "optimal" is besides the best that any learner can do."""
_PLANNED_WITH = ("n_samples", "dim", *group("problem"))
_FEW_SAMPLES = 60  # chance decides much in a single study
_POINTS = 9  # of a curve
_RAREST = 1e-4


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
    n_tokens, n_signal : int or None
        Length of a sequence, and its signal tokens; None for a population, whose kinds have their
        own.
    signal : float
        Strength of the signal; for a population, the factor on the strengths of its kinds.
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

    _drawing, _words = "draw_plan", words_by_theory
    answer, floor = property(answer_by_theory), property(least_by_theory)

    def __init__(self, asked: Study) -> None:
        study, self._choice, self.error = solve(asked)
        problem, (first, *_) = study.problem, study.problem.kinds
        several = isinstance(problem, Population)
        self._study, self._asked, self._model = study, asked, study.model
        self.problem, self.aim, self.metric = problem, study.metric, study.metric.name
        self.n_samples, self.dim = int(study.n_samples), int(study.dim)
        self.n_tokens: int | None = None if several else first.n_tokens
        self.n_signal: int | None = None if several else first.n_signal
        self.signal = float(study.factor if several else first.signal)
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
        asked = self._asked
        if asked.unknown == "error":
            asked = replace(asked, unknown="n_samples")
        quantity = asked.unknown
        values, planned = self._around(quantity), getattr(self, quantity)
        errors, choices = {planned: self.error}, {planned: self._choice}
        place = values.index(planned)
        for before, value in [*pairwise(values[place::-1]), *pairwise(values[place:])]:
            choices[value], errors[value] = choose(asked.at(value), choices[before])
        return PlanCurve(quantity, tuple(values), tuple(errors[value] for value in values))

    def _around(self, quantity: str) -> list[float]:
        """Return values around the planned one on a logarithmic scale, it among them."""
        value, whole = getattr(self, quantity), PARAMETERS[quantity].whole
        least: Any = {"n_samples": fewest_samples(self.positive_rate), "n_tokens": self.n_signal}
        span = 4.0 if whole else 2.0
        values: Any = value * np.geomspace(1.0 / span, span, _POINTS)
        values[_POINTS // 2] = value
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
        target = self.target or float(self.error)
        asked = replace(self._study, n_samples=math.nan, target=target, unknown="n_samples")
        needed = dict[str, int | None]()
        for other in self._with_others(asked):
            try:
                needed[other.model.name] = int(solve(other)[0].n_samples)
            except UnreachableError:
                needed[other.model.name] = None
        return needed

    def _with_others(self, study: Study) -> list[Study]:
        """Return the study of each other classifier."""
        suitable = _classifiers_for(self.problem)
        return [replace(study, model=model) for model in suitable if model.name != self.model]

    @cached_property
    def least_samples(self) -> int:
        """Samples below which no learner reaches the planned error, in many dimensions."""
        alpha = least_alpha(self.problem, self.aim, self.target or float(self.error))
        return min(max(1, math.ceil(alpha * self.dim * (1.0 - 1e-6))), self.n_samples)

    @property
    def is_smallest(self) -> bool:
        """Whether the samples are the fewest planned for, and do better than asked."""
        few = self.n_samples <= fewest_samples(self.positive_rate)
        return few and self.target is not None and self.error < 0.95 * self.target

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

    def planned_with(self) -> dict[str, Any]:
        """Return the numbers planned with; of a population those that its kinds do not have."""
        names = [n for n in _PLANNED_WITH if n != "n_kinds" or self.n_kinds > 1]
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

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


class Planner:
    """Plan a study: call it with all quantities but one.

    Leave exactly one of ``n_samples``, ``dim``, ``n_tokens``, ``signal`` and ``error`` as None. The
    plan finds it from the theory, with finite-size fluctuations averaged in, and chooses the best
    settings of the classifier. The instance is :data:`sparsetoken.plan`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> plan = st.plan(dim=384, n_tokens=50, signal=30.0, error=0.05, model="pooled")
    >>> plan
    Plan(Pooled needs at least 167 labelled sequences for a 5 % test error)
    >>> clf = plan.classifier()

    An impossible request says why:

    >>> try:
    ...     st.plan(dim=384, n_tokens=50, signal=6.0, error=0.05, model="pooled")
    ... except ValueError as impossible:
    ...     print(impossible)
    error=0.05 cannot be reached by pooled: its floor is 0.336 at any sample size; no classifier
    gets below the Bayes floor 0.00793 (two-step reaches it), pooled needs a signal above 23.3
    """

    def __call__(
        self,
        *,
        n_samples: int | None = None,
        dim: int | None = None,
        n_tokens: int | None = None,
        n_signal: int = PARAMETERS["n_signal"].default,
        signal: float | None = None,
        positive_rate: float = PARAMETERS["positive_rate"].default,
        n_kinds: int = PARAMETERS["n_kinds"].default,
        error: float | None = None,
        model: str = models.DEFAULT,
        metric: str = "error",
        fpr: float = DEFAULT_FPR,
        problem: Problem | None = None,
        progress: Progress = no_progress,
    ) -> Plan:
        """Solve for the one quantity that is None.

        Parameters
        ----------
        n_samples, dim, n_tokens : int or None
            Labelled sequences, with at least ten of the rarer class; features per token; tokens per
            sequence.
        signal : float or None
            Strength of the signal, in standard deviations of the noise.
        n_signal, n_kinds : int, default=1
            How many tokens of a positive sequence carry the signal, and of how many kinds it is.
        positive_rate : float, default=0.5
            Fraction of positive sequences.
        error : float or None
            Target, below the error of chance.
        model : {"sparse-token", "two-step", "pooled", "vectorized", "optimal", "best"}
            The classifier, by default :class:`~sparsetoken.SparseTokenClassifier`, which needs no
            settings. Those of the next three are chosen by the plan. "best" takes whichever of
            these four does best. "optimal" is the best learner, for
            :class:`~sparsetoken.BayesAttentionClassifier`.
        metric : {"error", "auc", "recall"}, default="error"
            What ``error`` means: the test error, or for rare positives 1 − AUC or 1 − recall.
        fpr : float, default=0.01
            The false-positive rate of the recall.
        problem : SparseTokenProblem or Population, optional
            Replaces ``n_tokens``, ``n_signal``, ``signal`` and ``positive_rate``. With a
            population leave one of ``n_samples``, ``dim`` and ``error`` as None; give all three to
            solve for a factor on the strengths of all its kinds, ``plan.signal``. Errors count
            against recorded labels.
        progress : callable, optional
            Called with a few words at each step, also when ``curve`` and ``alternatives`` of the
            plan are computed; ``progress=print`` shows them.

        Returns
        -------
        Plan
            The predicted error at the answer is within 1 % of the target, or below it if the
            smallest possible plan is more than enough.

        Raises
        ------
        ValueError
            For wrong arguments. :class:`UnreachableError` if no value meets the target.

        Notes
        -----
        Up to 60 samples ``plan.error`` of "two-step" and "pooled" is the mean over runs of the
        planned training. Above, it is the limit of many dimensions averaged, to leading order, over
        the fluctuations of the trained bias and of the query. "optimal" has the limit, which is
        within a few per cent of finite sizes. "sparse-token" has the optimum made worse by an
        empirical law, which was within 10 % (one standard deviation) on random problems.
        """
        check_choice("model", model, (*CLASSIFIERS, "optimal", "best"))
        best = model == "best"
        asked = _make_study(
            problem,
            {"n_samples": n_samples, "dim": dim, "error": error},
            {"n_tokens": n_tokens, "signal": signal},
            {"n_signal": n_signal, "positive_rate": positive_rate, "n_kinds": n_kinds},
            metric=get_metric(metric, fpr),
            model=models.get(models.DEFAULT if best else model),
            progress=progress,
        )
        return _plan_best(_classifiers_for(asked.problem) if best else [asked.model], asked)

    from_pilot = staticmethod(plan_from_pilot)
    from_curve = staticmethod(plan_from_curve)
    test_size = staticmethod(plan_test_size)

    def __repr__(self) -> str:
        return "<sparsetoken.plan: call it with all quantities but one>"


plan = Planner()


def _make_study(
    problem: Problem | None,
    sizes: dict[str, Any],
    of_problem: dict[str, Any],
    fixed: dict[str, Any],
    *,
    metric: Metric,
    **how: Any,
) -> Study:
    """Check what was asked, of which exactly one is None; a problem replaces what it has."""
    asked = sizes | of_problem
    if problem is not None:
        problem = _check_problem(problem, of_problem | fixed)
        several = isinstance(problem, Population) and None not in sizes.values()
        asked = sizes | ({"signal": None} if several else {})
    missing = [name for name, value in asked.items() if value is None]
    if len(missing) != 1:
        raise ValueError(
            f"leave out exactly one of {', '.join(asked)}, the one to solve for; "
            f"left out: {', '.join(missing) or 'none'}"
        )
    if problem is None:
        known = {name: value for name, value in of_problem.items() if value is not None}
        problem = SparseTokenProblem(**{"n_tokens": LONGEST, "signal": 1.0} | known | fixed)
        check_real("signal", problem.signal, low=0.0, above=True)
        check_real("positive_rate", problem.positive_rate, low=_RAREST, high=1.0 - _RAREST)
    n_samples, dim = (
        math.nan if sizes[name] is None else PARAMETERS[name].check(sizes[name])
        for name in ("n_samples", "dim")
    )
    rate, target = problem.positive_rate, math.nan
    if n_samples < fewest_samples(rate):
        raise ValueError(
            f"n_samples must be at least {fewest_samples(rate)}, ten of the rarer class at "
            f"positive_rate={rate:g}, got {n_samples}: with fewer, chance decides too much"
        )
    if sizes["error"] is not None:
        target = metric.check(sizes["error"], min(rate, 1.0 - rate))
    return Study(problem, n_samples, dim, target=target, unknown=missing[0], metric=metric, **how)


def _check_problem(problem: Problem, of_problem: dict[str, Any]) -> Problem:
    """Return a problem that replaces its quantities, which must have been left out."""
    for name, value in of_problem.items():
        if value != (None if name in ("n_tokens", "signal") else PARAMETERS[name].default):
            raise ValueError(f"{name} must be left out: the problem has it; got {value!r}")
    problem = check_problem(problem).plain()
    if max(kind.signal for kind in problem.kinds) == 0.0:
        raise ValueError("problem must have a signal in at least one kind, got 0 in each")
    return problem


def _plan_best(candidates: list[Model], asked: Study) -> Plan:
    """Return the plan of the model that does best; if all fail, name each reason."""
    plans, failures = list[Plan](), []
    for model in candidates:
        model.check(asked.problem, {}, frozenset({"test_error"}))
        try:
            plans.append(Plan(replace(asked, model=model)))
        except UnreachableError as failure:
            failures.append(str(failure))
    if not plans:
        raise UnreachableError("; ".join(failures))
    # The less the better, but for features and tokens, which are bearable up to the answer.
    best = max if asked.unknown in ("dim", "n_tokens") else min
    return best(plans, key=lambda plan: float(getattr(plan, asked.unknown)))


def _classifiers_for(problem: Problem) -> list[Model]:
    """Return the classifiers that can be trained on such sequences."""
    suitable = []
    for model in map(models.get, CLASSIFIERS):
        with contextlib.suppress(ValueError):
            model.check(problem, {}, frozenset({"test_error"}))
            suitable.append(model)
    return suitable
