"""Attention for real data."""

from numbers import Real
from typing import Any

from sparsetoken._validation import check_count, check_real
from sparsetoken.estimators.attention_heads import AttentionHeads, PooledHeads
from sparsetoken.estimators.members import Member
from sparsetoken.estimators.posterior_heads import PosteriorHeads
from sparsetoken.estimators.stack_classifier import StackClassifier


class AttentionClassifier(StackClassifier):
    """Find the few informative tokens of each sequence; the defaults suit real data.

    A head scores a sequence by a·log mean exp(z·w/a) over its tokens z, which are centered and
    divided by one common scale, or nearly whitened: attention whose query and readout are one
    direction w. It starts from a class-balanced two-step query. There are

    * sharp heads (a = 1, a few tokens decide) and soft ones (a = 3 and 10), for either class;
    * the heads of :class:`BayesAttentionClassifier`, which learn from few samples where its model
      holds;
    * heads of plain mean pooling.

    Their weights are not negative and fit the labels of held-out samples, whose scores also
    calibrate the probabilities. :class:`SparseTokenClassifier` adds means of a kernel map, and
    trees on statistics of whole sequences.

    Parameters
    ----------
    reg : float or "auto", default="auto"
        Ridge λ on w in standard coordinates. A number means sharp heads only; by default it is
        0.01 for sharp heads, 0.003 and 0.0003 for soft ones.
    shrinkage : float, None or "auto", default="auto"
        How far the tokens' correlations are drawn to zero before whitening: 1 only scales each
        feature, None scales all alike. By default there are heads with None and heads with 0.3,
        and pooled ones with 1 as well; None and 1 for tokens of more than 1000 features. Giving
        either ``reg`` or ``shrinkage`` leaves out the posterior heads, giving both also the pooled
        ones.
    refine_steps : int, default=40
        Most steps of L-BFGS; stopping early is part of the regularization.
    class_weight, cv, random_state, n_jobs
        As in :class:`SparseTokenClassifier`.

    Attributes
    ----------
    members_ : dict
        The weight of each member, of sum one: "attention" (a few tokens decide) and "pooled" (the
        mean does).
    heads_ : list of Head
        Each head's model, temperature, shrinkage, reg, AUC of held-out samples, weight, query,
        coef and intercept, calibrated and for tokens as they are.
    query_ : ndarray of shape (d,), or (classes, d) for more than two classes
        The query of the head of largest weight: its token weights are ``softmax(X query_)``. Zero
        if that is one of pooling.
    coef_, intercept_ : ndarray of shape (d,), float; or (classes, d), (classes,)
        That head's direction w and bias.
    query_reliability_ : float
        Estimated cosine between the query and the one that unlimited data would give: from the
        agreement of queries learned on two halves. Zero if the leading head is one of pooling.
    chosen_ : dict
        The leading head's model, shrinkage, reg, and AUC of held-out samples (None if there were
        too few).
    half_auc_ : float or None
        AUC of samples by the leading kind of head fitted to the other half of them.
    stack_, reference_
        The fitted members, and what thresholds are found from: scores of samples when they were
        held out, and some of the training tokens.
    n_passes_ : int
        Passes over the tokens that ``fit`` made.
    token_mean_, token_scale_ : ndarray of shape (d,)
        The mean token, what contributions are counted from, and the scale of each feature.
    classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`.

    Notes
    -----
    Folds, candidates and classes advance together, so that a pass over the tokens serves all of
    them. Of large data the weights of the heads are found on a random part: at least 2000
    sequences, if 2²⁵ numbers hold them. The heads are then refined on all data. With a Dask array
    that part is all that comes to the client; refinement is a sum over its chunks.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> X, y, truth = problem.sample(200, 20, random_state=0, return_truth=True)
    >>> X_new, y_new = problem.sample(500, 20, random_state=1, direction=truth.direction)
    >>> clf = st.AttentionClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X_new, y_new) > 0.95)
    True
    """

    def __init__(
        self,
        reg: float | str = "auto",
        shrinkage: float | str | None = "auto",
        *,
        class_weight: Any = None,
        cv: Any = 5,
        refine_steps: int = 40,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.reg = reg
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.cv = cv
        self.refine_steps = refine_steps
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _members(self, n_tokens: int | None) -> list[Member]:
        return head_members(self.reg, self.shrinkage, self.refine_steps, n_tokens)


def head_members(
    reg: Any, shrinkage: Any, steps: int, n_tokens: int | None, contiguous: bool = False
) -> list[Member]:
    """Return the members with heads, for what a user asks of ``reg`` and ``shrinkage``."""
    steps = check_count("refine_steps", steps)
    if isinstance(reg, str) and reg != "auto":
        raise ValueError(f'reg must be "auto" or a number > 0, got {reg!r}')
    ridge = None if reg == "auto" else check_real("reg", reg, low=0.0, above=True)
    shrinkages: tuple[float | None, ...] | None = None
    if shrinkage != "auto":
        if not (shrinkage is None or (isinstance(shrinkage, Real) and 0 < float(shrinkage) <= 1)):
            raise ValueError(
                f'shrinkage must be "auto", None or a number in (0, 1], got {shrinkage!r}'
            )
        shrinkages = (None if shrinkage is None else float(shrinkage),)
    members: list[Member] = []
    if n_tokens != 1:  # else there is nothing to attend to
        members = [AttentionHeads(reg=ridge, shrinkages=shrinkages, steps=steps)]
        if reg == shrinkage == "auto":
            members.append(PosteriorHeads(contiguous=contiguous))
    if n_tokens == 1 or "auto" in (reg, shrinkage):
        members.append(PooledHeads(shrinkages=shrinkages))
    return members
