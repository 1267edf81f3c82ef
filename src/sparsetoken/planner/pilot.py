"""``plan.from_pilot`` and ``plan.from_curve``: samples for a target, from measured performance."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Floats
from sparsetoken._validation import check_count, check_real, shown
from sparsetoken.estimators import SparseTokenClassifier
from sparsetoken.estimators.folds import check_groups
from sparsetoken.inspection.estimation import check_pilot
from sparsetoken.planner.curves import (
    CURVE,
    CurveNoise,
    Measurements,
    correlated,
    extrapolate,
    likeness,
)
from sparsetoken.planner.metric import DEFAULT_FPR, Metric, get_metric
from sparsetoken.planner.observe import measure, observe
from sparsetoken.planner.pilot_plan import PilotPlan
from sparsetoken.planner.request import Progress, silent
from sparsetoken.problem import RandomState

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
    progress: Progress = silent,
) -> PilotPlan:
    """Plan the number of samples from pilot data.

    The classifier is trained on parts of the pilot, of several sizes, and tested on the rest.
    Learning curves that agree with these errors, and with how well the held-out scores rank, are
    extrapolated. They are of the theory's family: the error may stay at chance for a while before
    it falls.

    Parameters
    ----------
    X : Sequences, array of shape (n, L, d), or list of (L_i, d) arrays
        The pilot sequences.
    y : array-like of shape (n,)
        Their labels; at least four of each.
    error : float
        Target: the test error, below that of always predicting the commonest label. With
        ``metric="auc"`` it is 1 − AUC, with ``metric="recall"`` 1 − recall.
    estimator : classifier, optional
        The unfitted classifier that the plan is about, a
        :class:`~sparsetoken.estimators.SparseTokenClassifier` by default.
    groups : array-like of shape (n,), optional
        Groups of sequences that belong together, such as those of one patient: no group is trained
        on and tested on at the same time. A ``fit`` that takes ``groups`` gets them.
    metric : {"error", "auc", "recall"}, default="error"
        What ``error`` means. The last two need two classes; the second label in sorted order is the
        positive one.
    fpr : float, default=0.01
        The false-positive rate of the recall.
    effort : float, default=1.0
        How often the pilot is cut into parts anew: 2 trains twice as often, for a somewhat narrower
        interval.
    random_state : int, Generator or None, default=0
        Decides the parts. The same seed gives the same observed errors whatever the target.
    progress : callable, optional
        Called with a few words before each training; ``progress=print`` shows them.

    Returns
    -------
    PilotPlan
        With ``n_samples``, ``interval``, ``predict``, ``curve``, ``trust``, ``summary``, ``plot``
        and ``report``; ``more`` counts what is still to be labelled of each class.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=4, n_signal=2, signal=4.0)
    >>> X, y = problem.sample(40, 60, random_state=0)
    >>> pilot = st.plan.from_pilot(X, y, error=0.05, estimator=st.PooledClassifier(reg=0.1))
    >>> pilot
    PilotPlan(About 126 samples for an error of 0.05 (no upper limit can be told; at least 25).)
    >>> pilot.predict([80, 160]).round(2)  # lower, median and upper expected error
    array([[0.02, 0.06, 0.12],
           [0.01, 0.05, 0.12]])
    """
    aim = get_metric(metric, fpr)
    repeats = max(1, round(_REPEATS * check_real("effort", effort, low=0.0, above=True)))
    X, labels, counts = check_pilot(X, y)
    groups = check_groups(groups, len(X))
    if len(counts) > 2 and aim.name != "error":
        raise ValueError(f"metric must be 'error' with {len(counts)} labels in y, got {metric!r}")
    most_common = max(counts.values()) / labels.size
    error = aim.check(error, 1.0 - most_common if aim.name == "error" else aim.chance(0.5))
    *seeds, seed = np.random.default_rng(random_state).integers(2**31, size=repeats + 1).tolist()
    if estimator is None:
        estimator = SparseTokenClassifier(random_state=seed)
    seen = observe(estimator, X, labels, groups=groups, seeds=seeds, progress=progress)
    progress("fitting learning curves")
    posterior = extrapolate(measure(seen, aim))
    together = "" if groups is None else f", {np.unique(groups).size} groups kept together"
    method = f"held out after training on parts of the pilot of {labels.size}{together}"
    name = type(estimator).__name__
    return PilotPlan(error, aim, posterior, "pilot", name, counts, method)


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

    The curve may be anybody's: of a paper, or of a classifier that this package does not know. Its
    extrapolation is that of :meth:`from_pilot`. Test errors come with the noise of ``n_test``
    samples, and with that of each draw of training samples, whose size is estimated from the
    roughness of the curve.

    Parameters
    ----------
    sizes : array-like of shape (k,)
        Numbers of training samples; two different ones at least. A size may come several times.
    errors, aucs, recalls : array-like of shape (k,) or (k, repeats), optional
        Test errors, areas under the ROC curve, and recalls at the false-positive rate ``fpr``, at
        each size: at least one of the three. NaN is left out, with all that belongs to it.
    n_test : int
        Number of test samples.
    error : float
        Target: the test error. With ``metric="auc"`` it is 1 − AUC, with ``metric="recall"``
        1 − recall.
    chance : float, default=0.5
        Error of always predicting the commonest class.
    metric : {"error", "auc", "recall"}, default="error"
        What ``error`` means. One that was not measured is inferred, which ``trust`` says.
    fpr : float, default=0.01
        The false-positive rate of the recall.

    Returns
    -------
    PilotPlan
        With ``n_samples``, ``interval``, ``predict``, ``curve``, ``trust``, ``summary``, ``plot``
        and ``report``. ``rises`` is not None where the measured error clearly rises.

    Examples
    --------
    >>> import sparsetoken as st
    >>> errors = [0.35, 0.27, 0.2, 0.16]
    >>> plan = st.plan.from_curve([25, 50, 100, 200], errors, n_test=500, error=0.13)
    >>> plan
    PilotPlan(About 430 samples for an error of 0.13 (no upper limit can be told; at least 181).)
    >>> plan.predict([400, 800]).round(2)  # lower, median and upper expected error
    array([[0.08, 0.13, 0.19],
           [0.06, 0.11, 0.17]])
    """
    aim = get_metric(metric, fpr)
    n_test = check_count("n_test", n_test, minimum=2)
    chance = check_real("chance", chance, low=0.0, high=1.0, above=True)
    error = aim.check(error, chance if aim.name == "error" else aim.chance(0.5))
    tables: dict[Metric, ArrayLike | None] = {get_metric("error"): errors}
    for name, table in (("auc", aucs), ("recall", recalls)):
        tables[get_metric(name, fpr)] = None if table is None else 1.0 - np.asarray(table, float)
    at, measured = _check_curve(sizes, tables)
    posterior = extrapolate(_curve_measurements(at, measured, n_test, chance))
    method = f"measured on {n_test} test samples at {np.unique(at).size} sizes"
    return PilotPlan(error, aim, posterior, "curve", "the classifier of the curve", {}, method)


def _curve_measurements(
    sizes: Floats, shortfalls: dict[Metric, Floats], n_test: int, chance: float
) -> Measurements:
    """Return the points of a curve with their noise: of tests, of draws, and of the family."""
    metrics, values = tuple(shortfalls), np.stack(list(shortfalls.values()))
    size = sizes / sizes.max()
    tested = correlated(sizes.size, CurveNoise.same_tests) / (4.0 * n_test)
    misfit, common = likeness(size), correlated(len(metrics), CurveNoise.common)
    of_ranks = np.diag(
        [0.0 if m.name == "error" else CurveNoise.misfit_of_ranks**2 for m in metrics]
    )
    fixed = np.kron(common, tested + CurveNoise.misfit**2 * misfit) + np.kron(of_ranks, misfit)
    drawn: Floats = np.eye(size.size) / size
    scaled: Any = np.kron(common, drawn + CurveNoise.misfit_of_draws**2 * misfit)
    bars = np.sqrt(np.maximum(values * (1.0 - values), 0.0) / n_test)
    unit = float(sizes.max())
    return Measurements(metrics, sizes, values, bars, n_test, unit, chance, CURVE, fixed, scaled)


def _check_curve(
    sizes: ArrayLike, tables: dict[Metric, ArrayLike | None]
) -> tuple[Floats, dict[Metric, Floats]]:
    """Return a row for each measurement; repeats become sizes that come several times."""
    at = _numbers("sizes", sizes)
    if at.ndim != 1 or not np.all(np.isfinite(at) & (at >= 1)):
        raise ValueError(f"sizes must be a row of numbers of samples >= 1, got {shown(sizes)}")
    values = {m: _numbers(f"{m.name}s", t) for m, t in tables.items() if t is not None}
    if not values:
        raise ValueError("errors, aucs or recalls must be given, got none")
    repeats = next(iter(values.values())).shape[1:]
    for metric, table in values.items():
        if table.shape != (at.size, *repeats) or table.ndim > 2:
            raise ValueError(
                f"{metric.name}s must have a row for each of the {at.size} sizes, and as many "
                f"repeats as the others, got shape {table.shape}"
            )
        if not np.all(np.isnan(table) | ((table >= 0.0) & (table <= 1.0))):
            raise ValueError(f"{metric.name}s must be in [0, 1], got {shown(tables[metric])}")
    at = np.repeat(at, *repeats) if repeats else at
    flat = {metric: table.ravel() for metric, table in values.items()}
    whole = np.all([np.isfinite(table) for table in flat.values()], axis=0)
    if np.unique(at[whole]).size < 2:
        raise ValueError("sizes must have two different ones at least, with something measured")
    return at[whole], {metric: table[whole] for metric, table in flat.items()}


def _numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {shown(values)}") from None
