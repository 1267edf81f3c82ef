"""``sparsetoken.plan``: call it with all quantities but one, or ask it about measurements."""

import math
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sparsetoken import models
from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.estimate import Estimate
from sparsetoken.models import Model
from sparsetoken.planner.expected import Study, choose, is_drawn
from sparsetoken.planner.metric import DEFAULT_FPR, Metric, get_metric
from sparsetoken.planner.pilot import plan_from_curve, plan_from_pilot
from sparsetoken.planner.solve import (
    Solution,
    UnreachableError,
    bayes_error,
    fewest_samples,
    least_alpha,
    least_error,
    solve,
)
from sparsetoken.planner.testing import plan_test_size
from sparsetoken.planner.words import (
    PlanResult,
    Progress,
    Words,
    answer_by_theory,
    least_by_theory,
    no_progress,
    words_by_theory,
)
from sparsetoken.population import Population
from sparsetoken.problem import Problem, SparseTokenProblem, check_problem
from sparsetoken.vocabulary import PARAMETERS, group

CLASSIFIERS = (models.DEFAULT, "two-step", "pooled", "vectorized")
"""What a plan compares; "optimal" is besides the best that any learner can do."""
_PROBLEM = group("problem")
_PLANNED_WITH = ("n_samples", "dim", *_PROBLEM)
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
    n_samples, dim : int
        Number of labelled sequences, and of features per token.
    n_tokens, n_signal : int or None
        Length of a sequence, and how many of its tokens carry the signal in a positive one; None
        for a population, whose kinds have their own.
    signal : float
        Strength of the signal; for a population, the factor on the strengths of its kinds.
    positive_rate : float
        Fraction of sequences that are recorded as positive.
    n_kinds : int
        Number of kinds of signal.
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
        self, model: Model, solution: Solution, asked: Study, progress: Progress = no_progress
    ) -> None:
        study, problem = solution.study, solution.study.problem
        self._model, self._study, self._asked, self._progress = model, study, asked, progress
        self._choice, self.error = solution.choice, solution.error
        self.problem, self.aim, self.metric = problem, study.metric, study.metric.name
        self.n_samples, self.dim = int(study.n_samples), int(study.dim)
        several = isinstance(problem, Population)
        self.n_tokens: int | None = None if several else problem.kinds[0].n_tokens
        self.n_signal: int | None = None if several else problem.kinds[0].n_signal
        self.signal = float(study.factor if several else problem.kinds[0].signal)
        self.positive_rate, self.n_kinds = problem.positive_rate, problem.n_kinds
        self.solved_for, self.model = study.unknown, model.name
        self.label = "the best learner" if model.name == "optimal" else model.look.label
        self.target = None if study.unknown == "error" else study.target

    @cached_property
    def limit(self) -> Any:
        """The theory's result at the plan's samples per dimension and settings."""
        return self._model.limit(self._study.size, self._choice)

    @property
    def limit_error(self) -> Estimate:
        """The error in the limit of many dimensions; far below ``error`` where chance matters."""
        return self.aim.error(self.limit)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The arguments of :meth:`classifier`."""
        return self._model.tuned(self._study.size, self._choice)

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
        values, planned = self._around(quantity), getattr(self, quantity)
        errors = {planned: self.error}
        below, above = [v for v in values if v < planned], [v for v in values if v > planned]
        for side in (below[::-1], above):
            choice = self._choice
            for value in side:
                study = replace(self._study, n_samples=value)
                if quantity != "n_samples":
                    study = self._asked.at(value)
                choice, errors[value] = choose(self._model, study, self._progress, choice)
        return PlanCurve(quantity, tuple(values), tuple(errors[value] for value in values))

    def _around(self, quantity: str) -> list[float]:
        """Return values around the planned one on a logarithmic scale, it among them."""
        value, whole = getattr(self, quantity), PARAMETERS[quantity].whole
        span = 4.0 if whole else 2.0
        low, high = {
            "n_samples": (fewest_samples(self.positive_rate), math.inf),
            "n_tokens": (self.n_signal, math.inf),
            "dim": (1, math.inf),
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
        others = [models.get(name) for name in CLASSIFIERS if name != self.model]
        expected = {
            other.name: choose(other, self._study, self._progress)[1]
            for other in others
            if _supports(other, self.problem)
        }
        if self.model != "optimal":
            expected["optimal"] = least_error(self.problem, self._study.size.alpha, self.aim)
        bayes = bayes_error(self.problem, self.aim)
        return expected if bayes is None else {**expected, "bayes": bayes}

    @cached_property
    def others(self) -> dict[str, int | None]:
        """Samples with which each other classifier reaches the planned error; None: no number."""
        target = self.target or float(self.error)
        asked = replace(self._study, n_samples=math.nan, target=target, unknown="n_samples")
        needed = dict[str, int | None]()
        for name in CLASSIFIERS:
            other = models.get(name)
            if name != self.model and _supports(other, self.problem):
                try:
                    needed[name] = int(solve(other, asked, self._progress).value)
                except UnreachableError:
                    needed[name] = None
        return needed

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
        if is_drawn(self._model, self._study):
            return "The expectation is the mean over simulated trainings of this size."
        return f"The expectation is that of {self._model.basis}."

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
        if self.n_samples > _FEW_SAMPLES:
            return ""
        return (
            f"{self.n_samples} sequences are few: the planned error is the mean over many studies, "
            "and a single one may be several times worse."
        )

    def _words(self) -> Words:
        return words_by_theory(self)

    def planned_with(self) -> dict[str, Any]:
        """Return the numbers planned with; of a population those that its kinds do not have."""
        names = [n for n in _PLANNED_WITH if n != "n_kinds" or self.n_kinds > 1]
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        curve, problem = self.curve, self.problem
        words = ("answer", "floor", "caution", "solved_for", "least_samples", "others")
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


class Planner:
    """Plan a study: call it with all quantities but one.

    Leave exactly one of ``n_samples``, ``dim``, ``n_tokens``, ``signal`` and ``error`` as None. The
    plan finds it from the theory, with finite-size
    fluctuations averaged in, and chooses the best settings of the classifier. The instance is
    :data:`sparsetoken.plan`.

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
        n_samples, dim : int or None
            Number of labelled sequences, with at least ten of the rarer class, and of features per
            token.
        n_tokens : int or None
            Length of a sequence.
        n_signal : int, default=1
            How many tokens of a positive sequence carry the signal.
        signal : float or None
            Strength of the signal, in standard deviations of the noise.
        positive_rate : float, default=0.5
            Fraction of positive sequences.
        n_kinds : int, default=1
            How many kinds of signal there are among the positives.
        error : float or None
            Target, below the error of chance.
        model : {"sparse-token", "two-step", "pooled", "vectorized", "optimal", "best"}
            The classifier, by default "sparse-token": :class:`~sparsetoken.SparseTokenClassifier`,
            which needs no settings. Of the others the plan chooses the settings: for the two-step
            protocol the query fraction, learning rates, sharpness, ridge and loss (logistic or
            square), for a linear classifier the ridge. "best" takes whichever of these four does
            best. "optimal" is the best learner, for
            :class:`~sparsetoken.BayesAttentionClassifier`; it has no settings.
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
            Whole numbers are rounded so that the target is met. The predicted error at the answer
            is within 1 % of the target, or below it if the smallest possible plan is more than
            enough.

        Raises
        ------
        ValueError
            For wrong arguments. :class:`UnreachableError` if no value meets the target.

        Notes
        -----
        ``plan.error`` is what to expect at this size. Up to 60 samples it is the mean over runs of
        the planned training. Above, it is the limit of many dimensions averaged, to leading order,
        over three fluctuations: of the trained bias, of the positive rate among the samples that
        teach the query, and of the overlap of the query's noise with the signal. Of a population
        the shares of the kinds fluctuate too, which is left out there. "optimal" has the limit,
        which is within a few per cent of finite sizes. "sparse-token" has the optimum made worse by
        an empirical law, which was within 10 % (one standard deviation) on random problems.
        """
        names = (*CLASSIFIERS, "optimal")
        check_choice("model", model, (*names, "best"))
        aim = get_metric(metric, fpr)
        asked = {"n_samples": n_samples, "dim": dim, "error": error}
        of_problem = {"n_tokens": n_tokens, "signal": signal}
        fixed = {"n_signal": n_signal, "positive_rate": positive_rate, "n_kinds": n_kinds}
        study = _make_study(aim, problem, asked, of_problem, fixed)
        candidates = CLASSIFIERS if model == "best" else (model,)
        return _plan_best([models.get(name) for name in candidates], study, progress)

    from_pilot = staticmethod(plan_from_pilot)
    from_curve = staticmethod(plan_from_curve)
    test_size = staticmethod(plan_test_size)

    def __repr__(self) -> str:
        return "<sparsetoken.plan: call it with all quantities but one>"


plan = Planner()


def _make_study(
    metric: Metric,
    problem: Problem | None,
    sizes: dict[str, Any],
    of_problem: dict[str, Any],
    fixed: dict[str, Any],
) -> Study:
    """Check what was asked, of which exactly one is None; a problem replaces what it has."""
    if problem is not None:
        problem = _check_problem(problem, of_problem | fixed)
        several = isinstance(problem, Population) and None not in sizes.values()
        of_problem = {"signal": None} if several else {}
    asked = sizes | of_problem
    missing = [name for name, value in asked.items() if value is None]
    if len(missing) != 1:
        raise ValueError(
            f"exactly one of {', '.join(asked)} must be None, the one to solve for; "
            f"got {', '.join(missing) or 'none'}"
        )
    checked = {
        name: PARAMETERS[name].check(value)
        for name, value in (asked | fixed).items()
        if name not in (*missing, "error")
    }
    if problem is None:
        # What is unknown takes the place of a one that it multiplies, or of the shortest length.
        unknown = {"signal": 1.0, "n_tokens": checked["n_signal"]}
        known = unknown | {name: checked[name] for name in _PROBLEM if name in checked}
        check_real("signal", known["signal"], low=0.0, above=True)
        check_count("n_signal", known["n_signal"], maximum=known["n_tokens"])
        check_real("positive_rate", known["positive_rate"], low=_RAREST, high=1.0 - _RAREST)
        problem = SparseTokenProblem(**{name: known[name] for name in _PROBLEM})
    rate, target = problem.positive_rate, math.nan
    if checked.get("n_samples", math.inf) < fewest_samples(rate):
        raise ValueError(
            f"n_samples must be at least {fewest_samples(rate)}, ten of the rarer class at "
            f"positive_rate={rate:g}, got {sizes['n_samples']}: with fewer, chance decides too much"
        )
    if sizes["error"] is not None:
        target = metric.check(sizes["error"], metric.chance(rate))
    n_samples, dim = (checked.get(name, math.nan) for name in ("n_samples", "dim"))
    return Study(problem, n_samples, dim, target, metric, missing[0])


def _check_problem(problem: Problem, of_problem: dict[str, Any]) -> Problem:
    """Return a problem that replaces its quantities, which must have been left out."""
    for name, value in of_problem.items():
        left_out = (
            PARAMETERS[name].default if name in ("n_signal", "positive_rate", "n_kinds") else None
        )
        if value != left_out:
            raise ValueError(f"{name} must be left out: the problem has it; got {value!r}")
    problem = check_problem(problem).plain()
    if max(kind.signal for kind in problem.kinds) == 0.0:
        raise ValueError("problem must have a signal in at least one kind, got 0 in each")
    return problem


def _plan_best(candidates: list[Model], asked: Study, progress: Progress) -> Plan:
    """Return the plan of the model that does best; if all fail, name each reason."""
    if len(candidates) > 1:
        candidates = [model for model in candidates if _supports(model, asked.problem)]
    solutions: list[tuple[float, Model, Solution]] = []
    failures = []
    for model in candidates:
        model.check(asked.problem, {}, frozenset({"test_error"}))
        try:
            solution = solve(model, asked, progress)
        except UnreachableError as failure:
            failures.append(str(failure))
            continue
        # The less the better, but for features and tokens, which are bearable up to the answer.
        sign = -1.0 if asked.unknown in ("dim", "n_tokens") else 1.0
        solutions.append((sign * solution.value, model, solution))
    if not solutions:
        raise UnreachableError("; ".join(failures))
    _, model, solution = min(solutions, key=lambda one: one[0])
    return Plan(model, solution, asked, progress)


def _supports(model: Model, problem: Problem) -> bool:
    """Whether a model can be trained on such sequences."""
    try:
        model.check(problem, {}, frozenset({"test_error"}))
    except ValueError:
        return False
    return True
