"""The classifiers for real data: which members each of them stacks."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sparsetoken._types import Floats
from sparsetoken._validation import check_count, check_flag, check_real
from sparsetoken.estimators.answers import describe_fit
from sparsetoken.estimators.attention_heads import AttentionHeads, PooledHeads, Shrinkages
from sparsetoken.estimators.kernel_heads import KernelHeads
from sparsetoken.estimators.members import Member, TrainingSamples
from sparsetoken.estimators.posterior_heads import PosteriorHeads
from sparsetoken.estimators.stack_classifier import StackClassifier
from sparsetoken.estimators.trees import Trees

_OPERATIONS, _LEAST_TOKENS = 2**31, 1000  # to look at the tokens' noise


@dataclass(eq=False, repr=False)
class SparseTokenClassifier(StackClassifier):
    """The classifier to reach for: attention, pooling and trees, weighed by held-out scores.

    A few tokens may decide the label, or all of them together, or statistics of the sequence. There
    are members for each case: heads of attention, among them those of
    :class:`BayesAttentionClassifier`; logistic regression on the mean token and on the mean of a
    kernel map of the tokens; and trees. Their weights are not negative and make the scores of
    held-out samples fit the labels best. The same scores calibrate the probabilities.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    cv : int, splitter or iterable, default=5
        Folds of the cross-validation, as in scikit-learn; an int means stratified folds, at most
        as many as the smallest class has samples.
    monotone : bool, default=False
        Whether tokens may only speak for a class, ``classes_[1]`` of two, so that a further token
        never lowers the score: for one malignant cell or one malicious message among any others.
        Pooling and trees have no part then. Scores grow with the number of tokens: trained on 6, it
        may call half of the negatives of 200 tokens positive; use ``threshold(fpr, n_tokens)``.
    contiguous : bool, default=False
        Whether tokens that decide are neighbors, as in ``SparseTokenProblem(contiguous=True)``: an
        event in time, adjacent patches. The posterior heads then look at windows.
    refine_steps : int, default=40
        Most steps of L-BFGS for the attention heads.
    n_trees : int, default=500
        Trees, in all folds together. They take most of the time of a small fit.
    random_state : int, Generator, RandomState or None, default=None
        Decides the folds and the trees.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn; the result is the same for any number.

    Attributes
    ----------
    members_ : dict
        The weight of each kind of member, of sum one: "attention" (a few tokens decide), "pooled"
        (a mean over all tokens does, or over their kernel map) and "statistics" (trees on the
        number of tokens and on mean, extremes, deviation and histogram of each feature).
    n_kinds_ : int
        How many kinds of signal the posterior heads find, as in :class:`BayesAttentionClassifier`.
    heads_, query_, coef_, intercept_, query_reliability_, chosen_, half_auc_, stack_, reference_
        As in :class:`AttentionClassifier`.
    n_passes_, token_mean_, token_scale_, classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`AttentionClassifier`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(700, 20, random_state=0)
    >>> clf = st.SparseTokenClassifier(random_state=0).fit(X[:200], y[:200])
    >>> bool(clf.score(X[200:], y[200:]) > 0.96)
    True
    >>> max(clf.members_, key=clf.members_.get)
    'attention'
    """

    class_weight: Any = None
    cv: Any = 5
    _: KW_ONLY
    monotone: bool = False
    contiguous: bool = False
    refine_steps: int = 40
    n_trees: int = 500

    def _members(self, n_tokens: int | None) -> list[Member]:
        monotone = check_flag("monotone", self.monotone)
        contiguous = check_flag("contiguous", self.contiguous)
        steps = check_count("refine_steps", self.refine_steps)
        trees = Trees(check_count("n_trees", self.n_trees))
        attending: list[Member] = [
            AttentionHeads(steps=steps, sums_evidence=monotone),
            PosteriorHeads(sums_evidence=monotone, contiguous=contiguous),
        ]
        if monotone:
            return attending
        several = n_tokens != 1  # else there is nothing to attend to
        return [*(attending if several else ()), PooledHeads(), KernelHeads(), trees]


@dataclass(eq=False, repr=False)
class AttentionClassifier(StackClassifier):
    """Find the few informative tokens of each sequence; the defaults suit real data.

    A head scores a sequence by a·log mean exp(z·w/a) over its tokens z, which are centered and
    divided by one common scale, or nearly whitened: attention whose query and readout are one
    direction w. There are sharp heads (a = 1, a few tokens decide) and soft ones (a = 3 and 10) for
    either class, the heads of :class:`BayesAttentionClassifier`, and heads of plain mean pooling,
    weighed and calibrated as in :class:`SparseTokenClassifier`.

    Parameters
    ----------
    reg : float or "auto", default="auto"
        Ridge λ on w in standard coordinates. A number means sharp heads only; by default it is
        0.01 for sharp heads, 0.003 and 0.0003 for soft ones.
    shrinkage : float, None or "auto", default="auto"
        How far the tokens' correlations are drawn to zero before whitening: 1 only scales each
        feature, None scales all alike. By default there are heads with None and with 0.3, pooled
        ones with 1 as well; None and 1 for more than 1000 features. Giving either ``reg`` or
        ``shrinkage`` leaves out the posterior heads, giving both also the pooled ones.
    refine_steps : int, default=40
        Most steps of L-BFGS; stopping early is part of the regularization.
    class_weight, cv, random_state, n_jobs
        As in :class:`SparseTokenClassifier`.

    Attributes
    ----------
    members_ : dict
        The weight of each kind of member, of sum one: "attention" and "pooled".
    heads_ : list of Head
        The heads, calibrated and for tokens as they are.
    query_ : ndarray of shape (d,), or (classes, d) for more than two classes
        The query of the head of largest weight: its token weights are ``softmax(X query_)``. Zero
        if that is one of pooling.
    coef_, intercept_ : ndarray of shape (d,), float; or (classes, d), (classes,)
        That head's direction w and bias.
    query_reliability_ : float
        Estimated cosine between the query and the one that unlimited data would give, from queries
        learned on two halves. Zero if the leading head is one of pooling.
    chosen_ : dict
        The leading head's model, shrinkage, reg, and AUC of held-out samples (None if too few).
    half_auc_ : float or None
        AUC of samples by the leading kind of head fitted to the other half of them.
    stack_, reference_
        The fitted members, and what thresholds are found from.
    n_passes_ : int
        Passes over the tokens that ``fit`` made.
    token_mean_, token_scale_ : ndarray of shape (d,)
        The mean token, what contributions are counted from, and the scale of each feature.
    n_kinds_ : int
        How many kinds of signal the posterior heads find.
    classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`.

    Notes
    -----
    Of large data a random part finds heads and weights: at least 2000 sequences, if 2²⁵ numbers
    hold them. Then all data refine the heads, a Dask array on its workers. Where a fold holds as
    many of each class as that part, its sequences weigh the heads, which then have not seen them.

    Examples
    --------
    >>> import sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(700, 20, random_state=0)
    >>> clf = st.AttentionClassifier(random_state=0).fit(X[:200], y[:200])
    >>> bool(clf.score(X[200:], y[200:]) > 0.95)
    True
    """

    reg: float | str = "auto"
    shrinkage: float | str | None = "auto"
    _: KW_ONLY
    refine_steps: int = 40

    def _members(self, n_tokens: int | None) -> list[Member]:
        steps = check_count("refine_steps", self.refine_steps)
        reg = None if self.reg == "auto" else check_real("reg", self.reg, low=0.0, above=True)
        shrinkages: Shrinkages | None = None if self.shrinkage == "auto" else (None,)
        if self.shrinkage not in (None, "auto"):
            shrinkages = (check_real("shrinkage", self.shrinkage, 0.0, 1.0, above=True),)
        members: list[Member] = []
        if n_tokens != 1:
            members = [AttentionHeads(reg=reg, shrinkages=shrinkages, steps=steps)]
            if reg is None and shrinkages is None:
                members.append(PosteriorHeads())
        if n_tokens == 1 or reg is None or shrinkages is None:
            members.append(PooledHeads(shrinkages=shrinkages))
        return members


@dataclass(eq=False, repr=False)
class BayesAttentionClassifier(StackClassifier):
    """The best possible learner of the sparse-token model, for labelled and unlabelled sequences.

    Sequences of ``classes_[1]`` carry a signal of one direction, or of one of several, in a few
    tokens, and all else is noise (docs/theory). This classifier finds the posterior mean of each
    direction by iteration, and all else that the model has. A sequence's score is the log posterior
    odds that it carries a signal, and its attention is the posterior of where.
    On samples of the model its error is that of :func:`sparsetoken.theory.optimal`; ``model_fit_``
    says whether yours are like that. If not, :class:`SparseTokenClassifier` has it as a member.

    Parameters
    ----------
    n_kinds : int or "auto", default="auto"
        How many kinds of signal there are, each with a direction of its own; a positive sequence
        carries one of them. By default held-out labels decide, up to five.
    contiguous, class_weight, cv, random_state, n_jobs
        As in :class:`SparseTokenClassifier`.

    Attributes
    ----------
    model_fit_ : ModelFit
        How well the model describes these data, and where it fails. Print it.
    n_kinds_ : int
        The number of kinds of signal that explains the labels best.
    members_, heads_, query_, coef_, intercept_, query_reliability_, chosen_, half_auc_, stack_
        As in :class:`AttentionClassifier`.
    reference_, n_passes_, token_mean_, token_scale_, classes_, n_features_in_, feature_names_in_
        As in :class:`AttentionClassifier`, and so is ``fingerprints_``.

    Notes
    -----
    In ``fit``, labels -1 mark sequences without a label if there are at least two other classes.
    With more than two classes each one is set against the rest.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=20, signal=6.0)
    >>> X, y = problem.sample(2100, 100, random_state=0)
    >>> clf = st.BayesAttentionClassifier(random_state=0).fit(X[:100], y[:100])
    >>> bool(clf.score(X[100:], y[100:]) > 0.985)
    True
    >>> float(st.theory.optimal(problem, alpha=1.0).test_error)
    0.007
    """

    class_weight: Any = None
    cv: Any = 5
    _: KW_ONLY
    _semi_supervised = True
    n_kinds: int | str = "auto"
    contiguous: bool = False

    def _members(self, n_tokens: int | None) -> list[Member]:
        contiguous = check_flag("contiguous", self.contiguous)
        kinds = None if self.n_kinds == "auto" else check_count("n_kinds", self.n_kinds)
        return [PosteriorHeads(either_class=False, contiguous=contiguous, wanted_kinds=kinds)]

    def _learn(self, *samples: Any) -> tuple[TrainingSamples, Floats]:
        training, held_out = super()._learn(*samples)
        heads: Any = self.stack_.members[0]
        carries, order = training.signs > 0, training.order
        if held_out.shape[1] == 1:  # of several classes each carries a signal
            order = order[~carries[order, 0]]
        most = max(_OPERATIONS // training.data.dim**2, _LEAST_TOKENS)
        enough = np.searchsorted(np.cumsum(training.data.lengths[order]), most)
        noise = training.data.take(np.sort(order[: enough + 1])).sequences
        ones, shrinkage = np.ones(len(noise.tokens)), heads.specs[0].shrinkage
        white = training.standard.from_data(noise.tokens, ones, shrinkage)
        odds = float(self.stack_.weights @ self.stack_.scales)
        self.model_fit_ = describe_fit(white, noise.offsets, held_out, carries, odds)
        return training, held_out
