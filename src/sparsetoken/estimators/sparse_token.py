"""The classifier for real data of unknown kind."""

from typing import Any

from sparsetoken._validation import check_count, check_flag
from sparsetoken.estimators.attention import head_members
from sparsetoken.estimators.attention_heads import AttentionHeads
from sparsetoken.estimators.kernel_heads import KernelHeads
from sparsetoken.estimators.members import Member
from sparsetoken.estimators.posterior_heads import PosteriorHeads, likely_kinds
from sparsetoken.estimators.stack_classifier import StackClassifier
from sparsetoken.estimators.trees import Trees


class SparseTokenClassifier(StackClassifier):
    """The classifier to reach for: attention, pooling and trees, weighed by held-out scores.

    A few tokens may decide the label, or all of them together, or statistics of the sequence. This
    classifier fits members for each case:

    * heads of attention, among them those of :class:`BayesAttentionClassifier`, which learn from
      few samples where its model holds;
    * pooled heads: logistic regression on the mean token, and on the mean of a kernel map of the
      tokens, which sees differences that no single feature shows;
    * trees on statistics of each feature.

    The weights are not negative and make the scores of held-out samples fit the labels best; with
    few samples they stay near what each score alone says of its worth. The same scores calibrate
    the probabilities.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    cv : int, splitter or iterable, default=5
        Folds of the cross-validation, as in scikit-learn; an int means stratified folds, at most
        as many as the smallest class has samples.
    monotone : bool, default=False
        Whether tokens may only speak for a class, never against it: ``classes_[1]`` of two. A
        further token then never lowers the score, so that neither a harmless token nor its absence
        decides: for one malignant cell or one malicious message among any others. Pooling and
        trees, which cannot promise that, have no part. Scores are sums over tokens and grow with
        their number: trained on 6 tokens, it may call half of the negatives of 200 tokens positive.
        For other lengths than those of ``fit`` use ``threshold(fpr, n_tokens)``.
    contiguous : bool, default=False
        Whether tokens that decide come as neighbors: an event in time, adjacent patches. The
        posterior heads then look at windows.
    refine_steps : int, default=40
        Most steps of L-BFGS for the attention heads.
    n_trees : int, default=500
        Trees, in the forests of all folds together. They take most of the time of a small fit.
    random_state : int, Generator, RandomState or None, default=None
        Decides the folds and the trees.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn; the result is the same for any number.

    Attributes
    ----------
    members_ : dict
        The weight of each kind of member, of sum one: "attention" (a few tokens decide), "pooled"
        (a mean over all tokens does, of the tokens or of their kernel map) and "statistics" (trees
        on the number of a sequence's tokens and on their mean, largest, smallest and standard
        deviation or how many exceed certain levels, feature by feature).
    heads_ : list of Head
        The heads of attention and of the mean token, as in :class:`AttentionClassifier`.
    n_kinds_ : int
        How many kinds of signal the posterior heads find, as in :class:`BayesAttentionClassifier`.
    query_, coef_, intercept_ : ndarray of shape (d,), (d,), float; or (classes, d), ...
        Those of the head of largest weight.
    query_reliability_, chosen_, half_auc_, stack_, reference_, n_passes_, token_mean_, token_scale_
        As in :class:`AttentionClassifier`.
    classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> X, y, truth = problem.sample(200, 20, random_state=0, return_truth=True)
    >>> X_new, y_new = problem.sample(500, 20, random_state=1, direction=truth.direction)
    >>> clf = st.SparseTokenClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X_new, y_new) > 0.97)
    True
    >>> max(clf.members_, key=clf.members_.get)
    'attention'
    """

    def __init__(
        self,
        class_weight: Any = None,
        cv: Any = 5,
        *,
        monotone: bool = False,
        contiguous: bool = False,
        refine_steps: int = 40,
        n_trees: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.class_weight = class_weight
        self.cv = cv
        self.monotone = monotone
        self.contiguous = contiguous
        self.refine_steps = refine_steps
        self.n_trees = n_trees
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def n_kinds_(self) -> int:
        """How many kinds of signal the posterior heads find."""
        return likely_kinds(self.stack_)

    def _members(self, n_tokens: int | None) -> list[Member]:
        contiguous = check_flag("contiguous", self.contiguous)
        if check_flag("monotone", self.monotone):
            steps = check_count("refine_steps", self.refine_steps)
            posterior = PosteriorHeads(sums_evidence=True, contiguous=contiguous)
            return [AttentionHeads(steps=steps, sums_evidence=True), posterior]
        members = head_members("auto", "auto", self.refine_steps, n_tokens, contiguous)
        return [*members, KernelHeads(), Trees(check_count("n_trees", self.n_trees))]
