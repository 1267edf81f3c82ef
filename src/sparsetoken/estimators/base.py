"""What all the classifiers share: checked input, labels, scores, and the questions they answer."""

import importlib
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sparsetoken._types import Array, Floats, Indices
from sparsetoken._validation import check_count
from sparsetoken.estimate import Estimate
from sparsetoken.estimators.answers import Diagnosis, Explanation
from sparsetoken.estimators.folds import selection_rows
from sparsetoken.estimators.inputs import check_data, check_sample_weight, is_ragged, plain_labels
from sparsetoken.estimators.stack import Reference, Stack
from sparsetoken.estimators.streams import ScoreStream
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.grouping import align_labels
from sparsetoken.sequences.passes import fingerprints


class SequenceClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers: a fitted one is a stack of members, which ``as_stack()`` returns.

    One that holds samples out in ``fit`` sets ``reference_``, from which thresholds are found.
    """

    _multi_class = _semi_supervised = False
    stack_: Stack
    token_scale_: Annotated[Any, "d"]
    reference_: Reference | None = None
    half_auc_: float | None = None
    query_reliability_ = 0.0
    classes_: Annotated[Array, "c"]
    feature_names_in_: Array
    fingerprints_: NDArray[np.uint64]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions for these labels."""
        weight = align_labels(X, sample_weight, "sample_weight")
        return float(super().score(X, align_labels(X, y), weight))

    def decision_function(self, X: Any, window: int | None = None) -> Floats:
        """Return the score of each sequence.

        Parameters
        ----------
        X : as in ``fit``
            The sequences.
        window : int, optional
            Return the largest score over windows of at most this many tokens: for sequences much
            longer than those of ``fit``.

        Returns
        -------
        scores : ndarray of shape (n,), or (n, classes) for more than two
            Positive scores mean ``classes_[1]``; they are log-odds if the loss is logistic.
        """
        window = None if window is None else check_count("window", window)
        data = self._checked(X)
        scores = self.as_stack().scores(data, window)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """Return the predicted label of each sequence."""
        score = self.decision_function(X)
        index = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[index]

    def attention(self, X: Any, label: Any = None) -> Any:
        """Return the weight of every token; the weights of a sequence sum to one.

        Parameters
        ----------
        X : as in ``fit``
            The sequences.
        label : optional
            The class to look at, if there are more than two; by default the predicted one.

        Returns
        -------
        weights : ndarray of shape (n, L), or list of ndarrays of shape (L_i,)
            An array if ``X`` is one, also of Dask, and a list if ``X`` is a list or Sequences.
        """
        data = self._checked(X)
        weights = _inspection().attention(self.as_stack(), data, self.classes_, label)
        if is_ragged(X):
            return np.split(weights, np.cumsum(data.lengths)[:-1])
        return weights.reshape(len(data), -1)

    def explain(self, X: Any, top: int = 3, label: Any = None) -> list[Explanation]:
        """Return the tokens that matter most in each sequence.

        Parameters
        ----------
        X : as in ``fit``, but not a Dask array
            The sequences.
        top : int, default=3
            How many tokens of each sequence, at most.
        label : optional
            The class to explain: positive contributions speak for it. By default ``classes_[1]``
            of two classes, and of more the predicted one.
        """
        data, top = self._checked(X), check_count("top", top)
        if not isinstance(data, MemoryData):
            raise ValueError("explain needs X in memory, got a Dask array; pass X[:100].compute()")
        return _inspection().explain(self.as_stack(), data, self.classes_, top, label)

    def diagnose(self, X: Any, y: Any) -> Diagnosis:
        """Say whether anything beats chance, what kind of signal it is, and what is wrong.

        Parameters
        ----------
        X, y : as in ``fit``
            Labelled sequences; for a fair verdict, ones that ``fit`` has not seen.

        Returns
        -------
        diagnosis : Diagnosis
            ``print`` it; ``diagnosis.problems`` lists what was found, each with what to do.
        """
        data = self._checked(X)
        y, labels = column_or_1d(np.asarray(align_labels(X, y))), self.classes_.tolist()
        if len(y) != len(data) or set(y.tolist()) != set(labels):
            raise ValueError(
                f"y must hold {len(data)} labels, all of {labels}, "
                f"got {len(y)} of {np.unique(y).tolist()}"
            )
        index = np.searchsorted(self.classes_, y)
        if data.size > data.memory_budget:  # a random part tells as much
            rng = np.random.default_rng(0)
            rows, _ = selection_rows(data, index, np.arange(len(index)), rng)
            data, index = data.take(rows), index[rows]
        return _inspection().diagnose(self, data, index)

    def threshold(
        self, fpr: float, n_tokens: int | None = None, window: int | None = None, label: Any = None
    ) -> Estimate:
        """Return the score that a fraction ``fpr`` of the negative sequences exceeds.

        Parameters
        ----------
        fpr : float
            The false-positive rate to hold, in (0, 1).
        n_tokens : int, optional
            The length of the sequences to be scored; by default they are like those of ``fit``.
            Negatives of a fold are joined to that length, and scored by the fit without the fold.
        window : int, optional
            The window of :meth:`decision_function` that the threshold is for.
        label : optional
            The class whose scores it is for; needed for more than two classes.

        Returns
        -------
        threshold : Estimate
            A float to compare with :meth:`decision_function`, and its standard error
            ``uncertainty``. The true false-positive rate lies within ``rate_interval`` in 8 of 10
            cases; ``converged`` is False if it may be off by more than a factor of 1.5. To be that
            sure takes about ``10 / fpr`` negatives, and for sequences k times as long as those of
            ``fit`` k times as many; with 40 times too few, a warning says how many are enough.
        """
        check_is_fitted(self)
        return _inspection().threshold(self, fpr, n_tokens, window, label)

    def stream(
        self, *, fpr: float | None = None, n_tokens: int | None = None, window: int | None = None
    ) -> ScoreStream:
        """Return an object that takes one sequence token by token, and knows its score.

        Parameters
        ----------
        fpr : float, optional
            With it, ``stream.alarm`` becomes True for this fraction of harmless sequences. The
            score is looked at up to 32 times, evenly spaced, or at least twice a window, once there
            are as many tokens as in the shortest tenth of training sequences, or in the window.
        n_tokens : int, optional
            The length of a whole sequence; needed with ``fpr``. A longer one warns once.
        window : int, optional
            Score only the last ``window`` tokens, and keep only these in memory.

        Examples
        --------
        >>> import sparsetoken as st
        >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(200, 20, random_state=0)
        >>> clf = st.AttentionClassifier(random_state=0).fit(X, y)
        >>> stream = clf.stream(fpr=0.05, n_tokens=10)
        >>> for token in X[y == 1][0]:
        ...     score = stream.update(token)
        >>> stream.alarm
        True
        """
        check_is_fitted(self)
        return _inspection().stream(self, fpr, n_tokens, window)

    def as_stack(self) -> Stack:
        """Return the fitted classifier as a stack of members."""
        raise NotImplementedError

    def leading_query(self) -> Floats:
        """Return what the leading head scores tokens by, (1 or classes, d); zero if by nothing."""
        return np.atleast_2d(getattr(self, "query_", np.zeros(self.n_features_in_)))

    @property
    def members_(self) -> dict[str, float]:
        """The weight of each member, of sum one."""
        totals: dict[str, float] = {}
        for member, weights, _ in self.as_stack().parts():
            totals[member.name] = totals.get(member.name, 0.0) + float(weights.sum())
        return totals

    def _checked(self, X: Any) -> Data:
        """Return sequences for a fitted classifier."""
        check_is_fitted(self)
        return check_data(self, X, reset=False)

    def _check_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Data, Indices, Floats]:
        """Return the sequences, the class of each, and weights that sum to one."""
        if y is None:  # in scikit-learn's words
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        data = check_data(self, X, reset=True)
        index = self._check_labels(plain_labels(align_labels(X, y)), len(data))
        sample_weight = align_labels(X, sample_weight, "sample_weight")
        self.fingerprints_ = data.per_sample(fingerprints)
        return data, index, check_sample_weight(sample_weight, index)

    def _check_labels(self, y: Any, n_samples: int) -> Indices:
        """Return the number of each label's class, -1 for sequences without a label."""
        y = column_or_1d(np.asarray(y), warn=True)
        if len(y) != n_samples:
            raise ValueError(
                f"X and y must have the same length, got {n_samples} sequences and {len(y)} labels"
            )
        index, labelled = np.full(len(y), -1), np.ones(len(y), dtype=bool)
        if self._semi_supervised and y.dtype.kind in "if" and np.unique(y[y != -1]).size > 1:
            labelled = y != -1
        y = y[labelled]
        check_classification_targets(y)
        self.classes_, index[labelled] = np.unique(y, return_inverse=True)
        if self.classes_.size == 1:
            raise ValueError(
                f"y must hold two classes, got one class: {self.classes_.tolist()[0]!r}"
            )
        if self.classes_.size > 2 and not self._multi_class:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y holds {self.classes_.size} classes. "
                "SparseTokenClassifier and AttentionClassifier take more than two"
            )
        return index

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multi_class
        tags.input_tags.three_d_array = True
        return tags


def _inspection() -> Any:
    """Return the package that answers questions; it imports the classifiers, so not at once."""
    return importlib.import_module("sparsetoken.inspection")
