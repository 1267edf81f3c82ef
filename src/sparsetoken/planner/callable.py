"""The public face of the planner: ``plan(...)`` and ``plan.from_pilot(...)``."""

from typing import Any

from sparsetoken.planner.entry import make_plan
from sparsetoken.planner.pilot import plan_from_pilot
from sparsetoken.planner.pilot_record import PilotPlan
from sparsetoken.planner.record import Plan
from sparsetoken.problem import RandomState

__all__ = ["Planner", "plan"]


class Planner:
    """Plan a study: call it with all quantities but one.

    Exactly one of ``n_samples``, ``dim``, ``n_tokens``, ``n_signal``, ``signal``,
    ``positive_rate`` and ``error`` is None; it is solved for by the high-dimensional theory, what
    chance does at a finite size averaged over, with the best settings of the classifier. The
    instance is :data:`sparsetoken.plan`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> plan = st.plan(dim=384, n_tokens=50, signal=30.0, error=0.05, model="pooled")
    >>> plan
    Plan(pooled needs n_samples at least 1...
    >>> clf = st.PooledClassifier(**plan.settings)

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
        model: str = "attention",
        metric: str = "error",
    ) -> Plan:
        """Solve for the one quantity that is None.

        Parameters
        ----------
        n_samples, dim : int or None
            Number of labelled sequences, with ten of the rarer class at least, and of features per
            token.
        n_tokens, n_signal : int or None
            Length of a sequence, and how many of its tokens carry the signal in a positive one.
        signal : float or None
            Strength of the signal, in units of the noise's standard deviation.
        positive_rate : float or None
            Share of positive sequences. As the unknown: the rate nearest to ½, and not above it,
            where the prediction crosses the target. The test error is not monotone in it (always
            predicting the commoner class gets better as the other gets rarer); 1 − AUC is.
        error : float or None
            Target, below that of chance; the prediction is returned for None. With
            ``metric="auc"`` it is 1 − AUC.
        model : {"attention", "pooled", "vectorized", "best"}, default="attention"
            The classifier: the two-step protocol with its share of samples for the query, learning
            rates, sharpness, ridge and loss (logistic or square) chosen; a linear one with its
            ridge chosen; or the one of the three that does best.
        metric : {"error", "auc"}, default="error"
            What ``error`` means: the test error, or 1 − AUC for rare positives.

        Returns
        -------
        Plan
            Whole numbers are rounded to the side that meets the target. Predicting at a solved
            value from scratch gives the target to within 1 % of it; below it only where the fewest
            samples planned for are more than enough.

        Raises
        ------
        ValueError
            For wrong arguments; as :class:`UnreachableError` for a target that no value meets.

        Notes
        -----
        ``plan.error`` is the limit of many dimensions (``plan.limit_error``) averaged, to leading
        order, over what chance does at this size: to the trained bias, to the share of positives
        among the samples of the query, and to the overlap of its noise with the signal. What is
        left out matters for a few dozen samples: there the error may be larger than planned.
        ``python -m benchmarks.plan_truth`` compares plans with simulation.
        """
        return make_plan(
            n_samples=n_samples,
            dim=dim,
            n_tokens=n_tokens,
            n_signal=n_signal,
            signal=signal,
            positive_rate=positive_rate,
            error=error,
            model=model,
            metric=metric,
        )

    def from_pilot(
        self,
        X: Any,
        y: Any,
        *,
        error: float,
        model: str = "attention",
        random_state: RandomState = 0,
    ) -> PilotPlan:
        """Plan the number of samples from pilot data.

        The problem is estimated by :func:`sparsetoken.estimate_problem`; the plan is made at the
        estimate, and at the easiest and the hardest problem within two standard errors of it. Real
        tokens are not Gaussian, so the prediction is also compared with cross-validated errors on
        parts of the pilot, its tokens whitened like those of the estimate; ``trust`` says how far
        the plan goes.

        Parameters
        ----------
        X, y : sequences and labels
            The pilot, as for :func:`sparsetoken.estimate_problem`.
        error : float
            Target test error.
        model : {"attention", "pooled"}, default="attention"
            The classifier.
        random_state : int, Generator or None, default=0
            Decides groups, subsets and folds.

        Examples
        --------
        >>> import sparsetoken as st
        >>> problem = st.SparseTokenProblem(n_tokens=4, n_signal=2, signal=3.0)
        >>> X, y = problem.sample(400, 20, random_state=0)
        >>> found = st.plan.from_pilot(X, y, error=0.1, model="pooled")
        >>> found.optimistic.n_samples <= found.plan.n_samples
        True
        >>> found.trust
        "as far as the range goes: the pilot's own errors agree with the prediction"
        """
        return plan_from_pilot(X, y, error=error, model=model, random_state=random_state)

    def __repr__(self) -> str:
        return "<sparsetoken.plan: call it with all quantities but one>"


plan = Planner()
