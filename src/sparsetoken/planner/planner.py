"""``sparsetoken.plan``: call it with all quantities but one, or ask it about measurements."""

import math
from dataclasses import replace
from typing import Any

from sparsetoken import models
from sparsetoken._validation import check_choice, check_real
from sparsetoken.models import Model
from sparsetoken.planner.answer import CLASSIFIERS, Plan, classifiers_for
from sparsetoken.planner.expected import Study
from sparsetoken.planner.metric import DEFAULT_FPR, get_metric
from sparsetoken.planner.pilot import plan_from_curve, plan_from_pilot
from sparsetoken.planner.solve import LONGEST, UnreachableError, fewest_samples
from sparsetoken.planner.testing import plan_test_size
from sparsetoken.planner.words import Progress, no_progress
from sparsetoken.problem import Problem, SparseTokenProblem, check_problem
from sparsetoken.vocabulary import PARAMETERS

_RAREST = 1e-4


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
            Replaces ``n_tokens``, ``n_signal``, ``signal`` and ``positive_rate``. Errors
            of a population count against recorded labels.
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
        sizes = {"n_samples": n_samples, "dim": dim, "error": error}
        of_problem = {"n_tokens": n_tokens, "signal": signal}
        fixed = {"n_signal": n_signal, "positive_rate": positive_rate, "n_kinds": n_kinds}
        problem, unknown = _problem_and_unknown(problem, sizes, of_problem, fixed)
        size, features = (
            math.nan if value is None else PARAMETERS[name].check(value)
            for name, value in (("n_samples", n_samples), ("dim", dim))
        )
        rate, aim = problem.positive_rate, get_metric(metric, fpr)
        if size < fewest_samples(rate):
            raise ValueError(
                f"n_samples must be at least {fewest_samples(rate)}, ten of the rarer class at "
                f"positive_rate={rate:g}, got {n_samples}: with fewer, chance decides too much"
            )
        target = math.nan if error is None else aim.check(error, min(rate, 1.0 - rate))
        candidates = classifiers_for(problem) if model == "best" else [models.get(model)]
        asked = Study(problem, size, features, candidates[0], aim, target, unknown, progress)
        return _plan_best(candidates, asked)

    from_pilot = staticmethod(plan_from_pilot)
    from_curve = staticmethod(plan_from_curve)
    test_size = staticmethod(plan_test_size)

    def __repr__(self) -> str:
        return "<sparsetoken.plan: call it with all quantities but one>"


plan = Planner()


def _problem_and_unknown(
    problem: Problem | None,
    sizes: dict[str, Any],
    of_problem: dict[str, Any],
    fixed: dict[str, Any],
) -> tuple[Problem, str]:
    """Return the problem and the one quantity that is None; a problem replaces what it has."""
    asked = sizes | of_problem
    if problem is not None:
        for name, value in (of_problem | fixed).items():
            if value != (None if name in of_problem else PARAMETERS[name].default):
                raise ValueError(f"{name} must be left out: the problem has it; got {value!r}")
        problem = check_problem(problem).plain()
        if max(kind.signal for kind in problem.kinds) == 0.0:
            raise ValueError("problem must have a signal in at least one kind, got 0 in each")
        asked = sizes
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
    return problem, missing[0]


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
