"""The classifier that learns as well as anything can where the model holds."""

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from sparsetoken._types import Floats, Indices
from sparsetoken._validation import check_count, check_flag
from sparsetoken.estimators.members import Member, TrainingSamples
from sparsetoken.estimators.model_fit import ModelFit, describe_fit
from sparsetoken.estimators.posterior_heads import PosteriorHeads, likely_kinds
from sparsetoken.estimators.stack_classifier import StackClassifier

_UNLABELLED = -1
_OPERATIONS, _LEAST_TOKENS = 2**31, 1000  # to look at the tokens' noise


class BayesAttentionClassifier(StackClassifier):
    """The best possible learner of the sparse-token model, for labelled and unlabelled sequences.

    Sequences of ``classes_[1]`` carry a signal of one direction, or of one of several, in a few
    tokens, and all else is noise (docs/theory). This classifier finds the posterior mean of each
    direction by iteration: attention, whose query and readout are the same vector. The tokens' mean
    and covariance, the strength of the signal, how many kinds there are, how many tokens carry it
    and the noise along it are found in the data. A sequence's score is the log posterior odds that
    it carries a signal, and its attention is the posterior of where. On samples of the model its
    error is that of
    :func:`sparsetoken.theory.optimal`; ``model_fit_`` says whether yours are like that. If they
    are not, :class:`SparseTokenClassifier` has this as one of its members.

    Parameters
    ----------
    n_kinds : int or "auto", default="auto"
        How many kinds of signal there are, each with a direction of its own; a positive sequence
        carries one of them. By default up to five are found by what they add to the likelihood of
        held-out labels.
    contiguous : bool, default=False
        Whether the tokens that carry the signal are neighbors, as in
        ``SparseTokenProblem(contiguous=True)``: an event in time, adjacent patches.
    class_weight, cv, random_state, n_jobs
        As in :class:`SparseTokenClassifier`; the folds calibrate the odds.

    Attributes
    ----------
    model_fit_ : ModelFit
        How well the model describes these data, and where it fails. Print it.
    n_kinds_ : int
        The number of kinds of signal that explains the labels best.
    heads_ : list of Head
        A head for each number of tokens that may carry the signal, with its weight; an entry for
        each kind.
    query_, coef_, intercept_ : ndarray of shape (d,), (d,), float; or (classes, d), ...
        Those of the head of largest weight.
    members_, query_reliability_, chosen_, half_auc_, stack_, reference_
        As in :class:`AttentionClassifier`.
    n_passes_, token_mean_, token_scale_
        As in :class:`AttentionClassifier`.
    classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`.

    Notes
    -----
    In ``fit``, labels -1 mark sequences without a label if there are at least two other
    classes, as in scikit-learn. They help to find the direction; what each is worth is in
    docs/gallery. With more than two classes each one is set against the rest.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=20, signal=6.0)
    >>> X, y, truth = problem.sample(100, 100, random_state=0, return_truth=True)
    >>> X_new, y_new = problem.sample(2000, 100, random_state=1, direction=truth.direction)
    >>> clf = st.BayesAttentionClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X_new, y_new) > 0.985)
    True
    >>> float(st.theory.optimal(problem, alpha=1.0).test_error)
    0.007
    """

    model_fit_: ModelFit

    def __init__(
        self,
        class_weight: Any = None,
        cv: Any = 5,
        *,
        n_kinds: int | str = "auto",
        contiguous: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.class_weight = class_weight
        self.cv = cv
        self.n_kinds = n_kinds
        self.contiguous = contiguous
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _members(self, n_tokens: int | None) -> list[Member]:
        contiguous = check_flag("contiguous", self.contiguous)
        kinds = None if self.n_kinds == "auto" else check_count("n_kinds", self.n_kinds)
        return [PosteriorHeads(either_class=False, contiguous=contiguous, wanted_kinds=kinds)]

    @property
    def n_kinds_(self) -> int:
        """The number of kinds of signal that explains the labels best."""
        return likely_kinds(self.stack_)

    def _check_labels(self, y: Any, n_samples: int) -> Indices:
        """Return the number of each label's class, -1 for sequences without a label."""
        labels = column_or_1d(np.asarray(y), warn=True)
        labelled = np.ones(len(labels), dtype=bool)
        if labels.dtype.kind in "if":
            labelled = labels != _UNLABELLED
            if np.unique(labels[labelled]).size < 2:
                labelled[:] = True
        index = np.full(len(labels), _UNLABELLED)
        n_labelled = n_samples - int((~labelled).sum())
        index[labelled] = super()._check_labels(labels[labelled], n_labelled)
        return index

    def _describe_model_fit(self, training: TrainingSamples, held_out: Floats) -> None:
        heads: Any = self.stack_.members[0]
        several = held_out.shape[1] > 1
        classes = np.arange(held_out.shape[1]) if several else 1
        carries = training.index[:, np.newaxis] == classes
        order = training.order if several else training.order[~carries[training.order, 0]]
        most = max(_OPERATIONS // training.data.dim**2, _LEAST_TOKENS)
        enough = np.searchsorted(np.cumsum(training.data.lengths[order]), most)
        self.model_fit_ = describe_fit(
            training.data.take(np.sort(order[: enough + 1])).sequences,
            training.mean,
            training.standard.whitening(heads.specs[0].shrinkage),
            held_out,
            carries,
            float(self.stack_.weights @ self.stack_.scales),
        )
