"""``sparsetoken.plan``: call it with all quantities but one, or ask it about pilot data."""

from typing import Any

from numpy.typing import ArrayLike

from sparsetoken._validation import check_choice
from sparsetoken.planner.architectures import ARCHITECTURES
from sparsetoken.planner.metric import get_metric
from sparsetoken.planner.pilot import PilotPlan, plan_from_pilot
from sparsetoken.planner.record import Plan
from sparsetoken.planner.request import Progress, make_request, silent
from sparsetoken.planner.solve import solve_best
from sparsetoken.population import AnyProblem
from sparsetoken.problem import RandomState

__all__ = ["Planner", "plan"]


class Planner:
    """Plan a study: call it with all quantities but one.

    Exactly one of ``n_samples``, ``dim``, ``n_tokens``, ``n_signal``, ``signal``,
    ``positive_rate`` and ``error`` is None. It is found from the theory, with finite-size
    fluctuations averaged in and the best settings of the classifier. The instance is
    :data:`sparsetoken.plan`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> plan = st.plan(dim=384, n_tokens=50, signal=30.0, error=0.05, model="pooled")
    >>> plan
    Plan(pooled needs n_samples at least 1...
    >>> clf = plan.classifier()

    A request that no number of samples fulfils says why:

    >>> st.plan(dim=384, n_tokens=50, signal=6.0, error=0.05, model="pooled")
    Traceback (most recent call last):
    ...
    sparsetoken...UnreachableError: error=0.05 cannot be reached by pooled: its floor is ...
    """

    def __call__(
        self,
        *,
        n_samples: int | None = None,
        dim: int | None = None,
        n_tokens: int | None = None,
        n_signal: int | None = 1,
        signal: float | None = None,
        positive_rate: float | None = 0.5,
        error: float | None = None,
        model: str = "two-step",
        metric: str = "error",
        fpr: float = 0.01,
        problem: AnyProblem | None = None,
        progress: Progress = silent,
    ) -> Plan:
        """Solve for the one quantity that is None.

        Parameters
        ----------
        n_samples, dim : int or None
            Number of labelled sequences, with at least ten of the rarer class, and of features per
            token.
        n_tokens, n_signal : int or None
            Length of a sequence, and how many of its tokens carry the signal in a positive one.
        signal : float or None
            Strength of the signal, in standard deviations of the noise.
        positive_rate : float or None
            Fraction of positive sequences. Solved for, it is the rate nearest to ½, and not above
            it, where the prediction crosses the target. The test error is not monotone in it
            (always predicting the commoner class gets better as the other gets rarer); the AUC is.
        error : float or None
            Target, below that of chance. With ``metric="auc"`` it is 1 − AUC, with
            ``metric="recall"`` 1 − recall.
        model : {"two-step", "pooled", "vectorized", "best"}, default="two-step"
            The classifier: the two-step protocol, with query fraction, learning rates, sharpness,
            ridge and loss (logistic or square) chosen; a linear one, with its ridge chosen; or
            whichever of the three does best.
        metric : {"error", "auc", "recall"}, default="error"
            What ``error`` means: the test error, or for rare positives 1 − AUC or 1 − recall.
        fpr : float, default=0.01
            The false-positive rate at which the recall is meant.
        problem : SparseTokenProblem or Population, optional
            Instead of ``n_tokens``, ``n_signal``, ``signal`` and ``positive_rate``, which are then
            left out. With a population one of ``n_samples``, ``dim`` and ``error`` is None; if none
            is, a factor on the strengths of all its kinds is solved for, ``plan.signal``. Errors
            count against recorded labels.
        progress : callable, optional
            Called with a few words at each step, also when ``curve`` and ``alternatives`` of the
            plan are computed; ``progress=print`` shows them.

        Returns
        -------
        Plan
            Whole numbers are rounded to the side that meets the target. Predicting at a solved
            value gives the target to within 1 %, or less if the fewest samples that can be planned
            for are more than enough.

        Raises
        ------
        ValueError
            For wrong arguments; as :class:`UnreachableError` for a target that no value meets.

        Notes
        -----
        ``plan.limit_error`` is the limit of many dimensions. ``plan.error`` is what to expect at
        this size. Up to 60 samples it is the mean over runs of the planned training. Above, it is
        the limit averaged, to leading order, over three fluctuations: of the trained bias, of the
        positive rate among the samples that teach the query, and of the overlap of the query's
        noise with the signal. Of a population the shares of the kinds fluctuate too, which is left
        out there. ``python -m benchmarks.plan_truth`` compares plans with simulation.
        """
        check_choice("model", model, (*ARCHITECTURES, "best"))
        quantities = {
            "n_samples": n_samples,
            "dim": dim,
            "n_tokens": n_tokens,
            "n_signal": n_signal,
            "signal": signal,
            "positive_rate": positive_rate,
            "error": error,
        }
        request = make_request(get_metric(metric, fpr), problem, **quantities)
        models = [*ARCHITECTURES] if model == "best" else [model]
        return Plan(error, solve_best(models, request, progress), progress)

    def from_pilot(
        self,
        X: Any,
        y: ArrayLike,
        *,
        error: float,
        estimator: Any = None,
        groups: ArrayLike | None = None,
        effort: float = 1.0,
        random_state: RandomState = 0,
        progress: Progress = silent,
    ) -> PilotPlan:
        """Plan the number of samples from pilot data.

        The classifier is trained on parts of the pilot, of several sizes, and tested on the rest.
        Learning curves that agree with these errors, and with how well the held-out scores rank,
        are extrapolated. They are of the theory's family: the error may stay at chance for a while
        before it falls.

        Parameters
        ----------
        X : Sequences, array of shape (n, L, d), or list of (L_i, d) arrays
            The pilot sequences.
        y : array-like of shape (n,)
            Their labels; at least four of each.
        error : float
            Target test error, below that of always predicting the commonest label.
        estimator : classifier, optional
            The unfitted classifier that the plan is about, a
            :class:`~sparsetoken.estimators.SparseTokenClassifier` by default.
        groups : array-like of shape (n,), optional
            Groups of sequences that belong together, such as those of one patient: no group is
            trained on and tested on at the same time.
        effort : float, default=1.0
            How often the pilot is cut into parts anew: 2 trains twice as often, for a somewhat
            narrower interval.
        random_state : int, Generator or None, default=0
            Decides the parts. The same seed gives the same observed errors whatever the target.
        progress : callable, optional
            Called with a few words before each training; ``progress=print`` shows them.

        Returns
        -------
        PilotPlan
            With ``n_samples``, ``interval``, ``predict``, ``curve``, ``trust``, ``summary`` and
            ``plot``.

        Notes
        -----
        ``python -m benchmarks.pilot_truth`` compares predictions with what was found later, on real
        and simulated data of many kinds.

        Examples
        --------
        >>> import sparsetoken as st
        >>> problem = st.SparseTokenProblem(n_tokens=4, n_signal=2, signal=4.0)
        >>> X, y = problem.sample(80, 20, random_state=0)
        >>> pilot = st.plan.from_pilot(X, y, error=0.1, estimator=st.PooledClassifier())
        >>> low, high = pilot.interval
        >>> low <= pilot.n_samples <= high
        True
        >>> pilot.predict([160, 320]).shape  # lower, median, upper
        (2, 3)
        """
        return plan_from_pilot(
            X,
            y,
            error=error,
            estimator=estimator,
            groups=groups,
            effort=effort,
            random_state=random_state,
            progress=progress,
        )

    def __repr__(self) -> str:
        return "<sparsetoken.plan: call it with all quantities but one>"


plan = Planner()
