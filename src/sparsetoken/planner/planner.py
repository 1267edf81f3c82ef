"""``sparsetoken.plan``: call it with all quantities but one, or ask it about pilot data."""

from sparsetoken._validation import check_choice
from sparsetoken.planner.architectures import ARCHITECTURES, OPTIMAL
from sparsetoken.planner.expectation import Progress, no_progress
from sparsetoken.planner.metric import DEFAULT_FPR, get_metric
from sparsetoken.planner.pilot import plan_from_curve, plan_from_pilot
from sparsetoken.planner.request import DEFAULTS, make_request
from sparsetoken.planner.solve import solve_best
from sparsetoken.planner.testing import plan_test_size
from sparsetoken.planner.theory_plan import Plan
from sparsetoken.problem import Problem
from sparsetoken.vocabulary import PARAMETERS


class Planner:
    """Plan a study: call it with all quantities but one.

    Leave exactly one of ``n_samples``, ``dim``, ``n_tokens``, ``n_signal``, ``signal``,
    ``positive_rate`` and ``error`` as None. The plan finds it from the theory, with finite-size
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
        n_signal: int | None = DEFAULTS["n_signal"],
        signal: float | None = None,
        positive_rate: float | None = DEFAULTS["positive_rate"],
        error: float | None = None,
        model: str = PARAMETERS["model"].default,
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
        n_tokens, n_signal : int or None
            Length of a sequence, and how many of its tokens carry the signal in a positive one.
        signal : float or None
            Strength of the signal, in standard deviations of the noise.
        positive_rate : float or None
            Fraction of positive sequences. If None, the rate at most ½, and nearest to it, at
            which the prediction crosses the target. The AUC falls steadily as positives get
            rarer. The test error does not: always saying "negative" gets better.
        error : float or None
            Target, below the error of chance.
        model : {"two-step", "pooled", "vectorized", "optimal", "best"}, default="two-step"
            The classifier. The plan chooses its settings: for the two-step protocol the query
            fraction, learning rates, sharpness, ridge and loss (logistic or square), for a linear
            classifier the ridge. "best" takes whichever of these three does best. "optimal" is the
            best learner, for :class:`~sparsetoken.BayesAttentionClassifier`; it has no settings.
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
        which is within a few per cent of finite sizes.
        """
        models = {**ARCHITECTURES, OPTIMAL.name: OPTIMAL}
        check_choice("model", model, (*models, "best"))
        quantities = {
            "n_samples": n_samples,
            "dim": dim,
            "n_tokens": n_tokens,
            "n_signal": n_signal,
            "signal": signal,
            "positive_rate": positive_rate,
            "error": error,
        }
        request = make_request(get_metric(metric, fpr), problem, quantities)
        candidates = [*ARCHITECTURES.values()] if model == "best" else [models[model]]
        return solve_best(candidates, request, progress)

    from_pilot = staticmethod(plan_from_pilot)
    from_curve = staticmethod(plan_from_curve)
    test_size = staticmethod(plan_test_size)

    def __repr__(self) -> str:
        return "<sparsetoken.plan: call it with all quantities but one>"


plan = Planner()
