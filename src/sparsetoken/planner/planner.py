"""``sparsetoken.plan``: call it with all quantities but one, or ask it about measurements."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from sparsetoken import models
from sparsetoken._validation import (
    check_choice,
    check_count,
    check_instance,
    check_random_state,
    check_real,
    shown,
)
from sparsetoken.estimators import SparseTokenClassifier
from sparsetoken.estimators.folds import check_groups
from sparsetoken.inspection.estimation import count_labels
from sparsetoken.models import Model
from sparsetoken.planner.answer import CLASSIFIERS, Plan, classifiers_for
from sparsetoken.planner.curves import extrapolate
from sparsetoken.planner.expected import Study
from sparsetoken.planner.measured import curve_points, cut_pilot, pilot_points, train_on_parts
from sparsetoken.planner.metric import DEFAULT_FPR, get_metric
from sparsetoken.planner.pilot import PilotPlan
from sparsetoken.planner.solve import LONGEST, UnreachableError, fewest_samples
from sparsetoken.planner.testing import plan_test_size
from sparsetoken.planner.words import Progress, no_progress
from sparsetoken.problem import Problem, RandomState, SparseTokenProblem, check_problem
from sparsetoken.sequences.sequences import as_sequences
from sparsetoken.vocabulary import PARAMETERS

_RAREST = 1e-4  # class planned for
_REPEATS = 2  # times the pilot is cut anew


def plan_from_pilot(
    X: Any,
    y: ArrayLike,
    *,
    error: float,
    estimator: Any = None,
    groups: ArrayLike | None = None,
    metric: str = "error",
    fpr: float = DEFAULT_FPR,
    effort: float = 1.0,
    random_state: RandomState = 0,
    progress: Progress = no_progress,
) -> PilotPlan:
    """Plan the number of samples from pilot data, for any classifier.

    The classifier is trained on parts of the pilot, of several sizes, and tested on the rest.
    Learning curves of the theory's family that agree with these errors are extrapolated.

    Parameters
    ----------
    X : array, data frame, sparse matrix, list or Sequences
        The pilot, in any form that the classifier's ``fit`` takes; for the default one, sequences.
    y : array-like of shape (n,)
        Their labels; at least four of each.
    error : float
        Target: the test error, below that of always predicting the commonest label. With
        ``metric="auc"`` it is 1 − AUC, with ``metric="recall"`` 1 − recall.
    estimator : classifier, optional
        By default the plan is for a :class:`~sparsetoken.estimators.SparseTokenClassifier`; pass
        any unfitted scikit-learn classifier to change it.
    groups : array-like of shape (n,), optional
        Groups of samples that belong together, such as those of one patient: no group is trained
        on and tested on at the same time. A ``fit`` that takes ``groups`` gets them.
    metric : {"error", "auc", "recall"}, default="error"
        What ``error`` means. The last two need two classes; the second label in sorted order is the
        positive one.
    fpr : float, default=0.01
        The false-positive rate of the recall.
    effort : float, default=1.0
        2 cuts the pilot into parts twice as often, for a somewhat narrower interval.
    random_state : int, Generator or None, default=0
        Decides the parts. The same seed gives the same observed errors whatever the target.
    progress : callable, optional
        Called with a few words before each training.

    Returns
    -------
    PilotPlan
        With ``n_samples``, ``interval``, ``assured``, ``predict``, ``curve`` and ``trust``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=4, n_signal=2, signal=4.0)
    >>> X, y = problem.sample(40, 60, random_state=0)
    >>> pilot = st.plan.from_pilot(X, y, error=0.05, estimator=st.PooledClassifier(reg=0.1))
    >>> pilot
    PilotPlan(About 126 labelled sequences for a 5 % test error (80 % interval: 25 to unbounded))
    >>> pilot.predict([80, 160]).round(2)  # lower, median and upper expected error
    array([[0.02, 0.06, 0.12],
           [0.01, 0.05, 0.12]])
    """
    aim = get_metric(metric, fpr)
    repeats = max(1, round(_REPEATS * check_real("effort", effort, low=0.0, above=True)))
    rng = check_random_state(random_state)
    if estimator is not None:
        check_instance("estimator", estimator)
        if not hasattr(estimator, "fit") or not is_classifier(estimator):
            raise ValueError(f"estimator must be a classifier, got {shown(estimator)}")
    (X,) = indexable(as_sequences(X) if estimator is None else X)
    labels = np.asarray(y)
    counts, codes = count_labels(labels, _num_samples(X)), check_groups(groups, labels.size)
    if len(counts) < 2:
        raise ValueError(f"y must have at least two labels, got {len(counts)}")
    if len(counts) > 2 and aim.name != "error":
        raise ValueError(f"metric must be 'error' with {len(counts)} labels in y, got {metric!r}")
    target = aim.check(error, 1.0 - max(counts.values()) / labels.size)
    cuts = [cut_pilot(labels, codes, rng) for _ in range(repeats)]
    if estimator is None:
        estimator = SparseTokenClassifier(random_state=int(rng.integers(2**31)))
    held_out = train_on_parts(estimator, X, labels, cuts, groups=codes, progress=progress)
    progress("fitting learning curves")
    posterior = extrapolate(pilot_points(held_out, aim))
    together = "" if codes is None else f", {np.unique(codes).size} groups kept together"
    classes = ", ".join(f"{count} of class {name}" for name, count in counts.items())
    method = f"held out after training on parts of the pilot of {labels.size}{together} ({classes})"
    unit, name = "sequences" if _has_tokens(X) else "samples", type(estimator).__name__
    return PilotPlan(target, aim, posterior, "pilot", unit, name, method)


def _has_tokens(X: Any) -> bool:
    """Whether the samples are sequences of tokens, not rows of a table."""
    if hasattr(X, "offsets"):
        return bool(X.lengths.max() > 1)
    return len(getattr(X, "shape", ())) == 3 or (isinstance(X, list) and np.ndim(X[0]) == 2)


def plan_from_curve(
    sizes: ArrayLike,
    errors: ArrayLike | None = None,
    *,
    n_test: int,
    error: float,
    aucs: ArrayLike | None = None,
    recalls: ArrayLike | None = None,
    chance: float = 0.5,
    metric: str = "error",
    fpr: float = DEFAULT_FPR,
) -> PilotPlan:
    """Plan the number of samples from a learning curve alone.

    The curve may be anybody's: of a paper, or of a classifier that this package does not know. Test
    errors come with the noise of ``n_test`` samples, and with that of each draw of training
    samples, which is estimated from the roughness of the curve.

    Parameters
    ----------
    sizes : array-like of shape (k,)
        Numbers of training samples; two different ones at least. A size may come several times.
    errors, aucs, recalls : array-like of shape (k,) or (k, repeats), optional
        Test errors, areas under the ROC curve, and recalls at the false-positive rate ``fpr``, at
        each size: at least one of the three. NaN is left out, with all that belongs to it.
    n_test : int
        Number of test samples.
    error, metric, fpr
        The target, as in :meth:`from_pilot`. A metric that was not measured is inferred, which
        ``trust`` says.
    chance : float, default=0.5
        Error of always predicting the commonest class.

    Returns
    -------
    PilotPlan
        As of :meth:`from_pilot`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> errors = [0.35, 0.27, 0.2, 0.16]
    >>> plan = st.plan.from_curve([25, 50, 100, 200], errors, n_test=500, error=0.13)
    >>> plan
    PilotPlan(About 601 labelled samples for a 13 % test error (80 % interval: 221 to unbounded))
    >>> plan.predict([400, 800]).round(2)  # lower, median and upper expected error
    array([[0.09, 0.14, 0.2 ],
           [0.07, 0.12, 0.19]])
    """
    aim = get_metric(metric, fpr)
    n_test = check_count("n_test", n_test, minimum=2)
    chance = check_real("chance", chance, low=0.0, high=1.0, above=True)
    target = aim.check(error, chance)
    tables = {"error": errors, "auc": aucs, "recall": recalls}
    by_metric = {get_metric(name, fpr): t for name, t in tables.items() if t is not None}
    points = curve_points(sizes, by_metric, n_test, chance)
    method = f"measured on {n_test} test samples at {np.unique(points.sizes).size} sizes"
    about = "learning curve", "samples", "the classifier of the curve", method
    return PilotPlan(target, aim, extrapolate(points), *about)


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
        problem, asked = check_problem(problem).plain(), sizes
    missing = [name for name, value in asked.items() if value is None]
    if len(missing) != 1:
        raise ValueError(
            f"leave out exactly one of {', '.join(asked)}, the one to solve for; "
            f"left out: {', '.join(missing) or 'none'}"
        )
    if problem is None:
        known = {name: value for name, value in of_problem.items() if value is not None}
        problem = SparseTokenProblem(**{"n_tokens": LONGEST, "signal": 1.0} | known | fixed)
    check_real("signal", max(kind.signal for kind in problem.kinds), low=0.0, above=True)
    check_real("positive_rate", problem.positive_rate, low=_RAREST, high=1.0 - _RAREST)
    return problem, missing[0]


def _plan_best(candidates: list[Model], asked: Study) -> Plan:
    """Return the plan of the model that does best; if all fail, name each reason."""
    plans, failures = list[Plan](), []
    for model in candidates:
        try:
            plans.append(Plan(replace(asked, model=model)))
        except UnreachableError as failure:
            failures.append(str(failure))
    if not plans:
        raise UnreachableError("; ".join(failures))
    # The less the better, but for features and tokens, which are bearable up to the answer.
    best = max if asked.unknown in ("dim", "n_tokens") else min
    return best(plans, key=lambda plan: float(getattr(plan, asked.unknown)))
