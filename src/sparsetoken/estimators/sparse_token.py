"""The classifier for real data of unknown kind."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsetoken._validation import check_count
from sparsetoken.estimators.ensemble import Ensemble
from sparsetoken.estimators.head_passes import Heads
from sparsetoken.estimators.search import Fold
from sparsetoken.estimators.trees import (
    check_forests,
    cross_fit_forests,
    forest_scores,
    statistics_scores,
    token_statistics,
)
from sparsetoken.estimators.trial import Others, Trial
from sparsetoken.sequences.data import Data, MemoryData

__all__ = ["SparseTokenClassifier"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class SparseTokenClassifier(Ensemble):
    """The classifier to reach for: attention, pooling and trees, weighed by held-out scores.

    A few tokens may decide the label, or their mean, or the sequence as a whole. This classifier
    fits all three kinds of members. Their weights are not negative and make the scores of held-out
    samples fit the labels best; with few samples they stay near equal. The same scores calibrate
    the probabilities.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    cv : int, splitter or iterable, default=5
        Folds of the cross-validation, as in scikit-learn; an int means stratified folds, at most
        as many as the smallest class has samples.
    refine_steps : int, default=60
        Most steps of L-BFGS for the attention heads.
    n_trees : int, default=500
        Trees, in the forests of all folds together. They take most of the time of a small fit.
    random_state : int, Generator, RandomState or None, default=None
        Decides the folds and the trees.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn; the result is the same for any number.
    verbose : int, default=0
        Whether to print what the cross-validation found.

    Attributes
    ----------
    members_ : dict
        The weight of each member, of sum one: "attention" (a few tokens decide), "pooled" (the
        mean does) and "statistics" (trees on mean, largest, smallest and standard deviation of a
        sequence's tokens, feature by feature).
    heads_ : list of Head
        The heads of attention and pooling, as in :class:`AttentionClassifier`.
    query_, coef_, intercept_ : ndarray of shape (d,), (d,), float; or (classes, d), ...
        Those of the head of largest weight.
    query_reliability_, chosen_, n_passes_, token_mean_, token_scale_
        As in :class:`AttentionClassifier`.
    forests_ : list of dict
        The trees, as arrays: a forest for each fold, grown without it.
    classes_ : ndarray
        The labels; with two, a positive score means the second.
    n_features_in_ : int
        The dimension of the tokens.
    feature_names_in_ : ndarray of str
        Names of the features, if ``X`` had them.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> X, y, truth = problem.sample(200, 20, random_state=0, return_truth=True)
    >>> X_new, y_new = problem.sample(500, 20, random_state=1, direction=truth.direction)
    >>> clf = st.SparseTokenClassifier(random_state=0).fit(X, y)
    >>> clf.score(X_new, y_new)
    0.98
    >>> max(clf.members_, key=clf.members_.get)
    'attention'
    """

    def __init__(
        self,
        class_weight: Any = None,
        cv: Any = 5,
        refine_steps: int = 60,
        n_trees: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.class_weight = class_weight
        self.cv = cv
        self.refine_steps = refine_steps
        self.n_trees = n_trees
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_others(
        self,
        data: MemoryData,
        index: Indices,
        share: Floats,
        folds: list[Fold],
        seed: int,
    ) -> Others:
        n_trees = check_count("n_trees", self.n_trees)
        rows = data.per_sample(token_statistics)
        rng = np.random.default_rng(seed)
        forests, scores = cross_fit_forests(rows, index, share, folds, n_trees, rng, self.n_jobs)
        return Others(forests, scores[np.newaxis])

    def _keep(self, best: Trial, heads: Heads) -> None:
        super()._keep(best, heads)
        self.forests_ = best.others.fitted
        self.statistics_scale_ = float(best.stack.scales[-1])
        self.statistics_shift_ = best.stack.shift
        kinds = [kind[0] for kind in self.head_kinds_]
        weights = {
            model: float(
                sum(w for w, k in zip(self.head_weights_, kinds, strict=True) if k == model)
            )
            for model in ("attention", "pooled")
        }
        self.members_ = {**weights, "statistics": float(best.stack.weights[-1])}

    def _without_fold(self, fold: int) -> Self:
        other = super()._without_fold(fold)
        other.forests_ = [self.forests_[fold]]
        return other

    def _other_scores(self, data: Data) -> Floats:
        check_forests(self.forests_, 4 * data.dim)
        found = data.per_sample(
            statistics_scores, self.token_mean_, self.token_scale_, self.forests_
        )
        return self._weighed(found)

    def _whole_of_statistics(self) -> tuple[Any, Any]:
        check_forests(self.forests_, 4 * len(self.token_mean_))
        return (self.token_mean_, self.token_scale_), self._score_of_statistics

    def _score_of_statistics(self, row: NDArray[np.float32]) -> Floats:
        score: Floats = self._weighed(forest_scores(row, self.forests_))[0]
        return score

    def _weighed(self, scores: Floats) -> Floats:
        """Return the trees' part in the score."""
        scores = self.statistics_scale_ * scores + self.statistics_shift_
        return self.members_["statistics"] * scores
