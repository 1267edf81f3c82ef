"""What all the classifiers share: checked input, labels, scores and probabilities."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sparsetoken._validation import check_real
from sparsetoken.estimators.data import ChunkedData, Data, MemoryData, is_dask
from sparsetoken.estimators.passes import attention_weights
from sparsetoken.estimators.sequences import Sequences, as_sequences
from sparsetoken.losses import Loss, get_loss

__all__ = ["AttentionMixin", "SequenceClassifier"]

Floats = NDArray[np.float64]


class SequenceClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers: sign(⟨w, features⟩ + b) of two classes of sequences.

    A subclass gives ``_fit(data, sign, share)``, which sets ``coef_`` and ``intercept_``, and
    ``_features(data)``.
    """

    loss: Any
    reg: Any
    coef_: Floats
    intercept_: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to sequences and their labels.

        Parameters
        ----------
        X : array (n, L, d) or (n, d), list of (L_i, d) arrays, Sequences, or Dask array (n, L, d)
            The sequences; (n, d) means one token each.
        y : array-like of shape (n,)
            Labels of two classes.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights of the sequences.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )
        data = self._check_data(X, reset=True)
        sign = self._check_labels(y, len(data))
        share = _check_sample_weight(sample_weight, sign)
        self._fit(data, sign, share)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score ⟨w, features⟩ + b of each sequence; positive means ``classes_[1]``."""
        check_is_fitted(self)
        return self._decide(self._check_data(X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each sequence."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the two classes, in the order of ``classes_``.

        With logistic loss the fitted model is 1/(1 + e^−score). With any other loss the probability
        of ``classes_[1]`` is (1 + score)/2 cut to [0, 1]: what the square loss estimates. For the
        hinge loss it only orders the samples; to calibrate it use scikit-learn's
        ``CalibratedClassifierCV``.
        """
        score = self.decision_function(X)
        positive = get_loss(getattr(self, "loss", "logistic")).probability(score)
        return np.stack([1.0 - positive, positive], axis=1)

    def _decide(self, data: Data) -> Floats:
        return self._features(data) @ self.coef_ + self.intercept_

    def _fit(self, data: Data, sign: Floats, share: Floats) -> None:
        raise NotImplementedError

    def _features(self, data: Data) -> Floats:
        raise NotImplementedError

    def _check_objective(self) -> tuple[Loss, float]:
        return get_loss(self.loss), check_real("reg", self.reg, low=0.0, above=True)

    def _check_data(self, X: Any, *, reset: bool) -> Data:
        if is_dask(X):
            data: Data = ChunkedData(X)
        else:
            if hasattr(X, "__array__") and not hasattr(X, "shape"):
                X = np.asarray(X)
            if _is_table(X):  # scikit-learn knows all the kinds of tables, and their column names
                X = validate_data(
                    self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
                )
            data = MemoryData(as_sequences(X))
        if reset:
            self.n_features_in_ = data.dim
        elif data.dim != self.n_features_in_:
            raise ValueError(
                f"X has {data.dim} features per token, but {type(self).__name__} "
                f"is expecting {self.n_features_in_} features as input"
            )
        return data

    def _check_labels(self, y: Any, n_samples: int) -> Floats:
        y = column_or_1d(np.asarray(y), warn=True)
        if len(y) != n_samples:
            raise ValueError(
                f"X and y must have the same length, got {n_samples} sequences and {len(y)} labels"
            )
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if self.classes_.size == 1:
            raise ValueError(f"y must hold two classes, got one class: {self.classes_[0]!r}")
        if self.classes_.size > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y holds {self.classes_.size} classes"
            )
        return np.where(index == 1, 1.0, -1.0)

    def _known_labels(self, y: Any, n_samples: int) -> Floats:
        """Return the signs of labels that are all known from ``fit``, both of them present."""
        y = column_or_1d(np.asarray(y))
        if len(y) != n_samples or set(np.unique(y).tolist()) != set(self.classes_.tolist()):
            raise ValueError(
                f"y must hold {n_samples} labels, both of {self.classes_.tolist()}, "
                f"got {len(y)} of {np.unique(y).tolist()}"
            )
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.three_d_array = True
        return tags


class AttentionMixin:
    """Token weights of a classifier with a query."""

    query_: Floats

    def attention(self, X: Any) -> Any:
        """Return the weight of every token; the weights of a sequence sum to one.

        Parameters
        ----------
        X : as in ``fit``
            The sequences.

        Returns
        -------
        weights : ndarray of shape (n, L), or list of ndarrays of shape (L_i,)
            An array if ``X`` is one, a list if ``X`` is a list or Sequences, and a Dask array if
            ``X`` is one.
        """
        check_is_fitted(self)
        data = self._check_data(X, reset=False)  # type: ignore[attr-defined]
        data = data.mapped(getattr(self, "token_map_", None))
        query = self._effective_query()
        if isinstance(data, ChunkedData):
            return data.lazily(attention_weights, query)
        weights = attention_weights(data.sequences, query)
        if isinstance(X, Sequences | list | tuple) or _is_object_array(X):
            return np.split(weights, data.sequences.offsets[1:-1])
        return weights.reshape(len(data), -1)

    def _effective_query(self) -> Floats:
        return self.query_


def _is_table(X: Any) -> bool:
    """Return whether ``X`` has the form (n, d), or no form that has tokens."""
    if isinstance(X, Sequences | str):
        return False
    if isinstance(X, list | tuple):
        return len(X) > 0 and np.ndim(X[0]) < 2 and not isinstance(X[0], str)
    if _is_object_array(X):
        return len(X) > 0 and np.ndim(X[0]) < 1
    return hasattr(X, "shape") and len(X.shape) < 3


def _is_object_array(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind == "O"


def _check_sample_weight(sample_weight: Any, sign: Floats) -> Floats:
    """Return weights that sum to one, or raise ValueError."""
    if sample_weight is None:
        return np.full(len(sign), 1.0 / len(sign))
    weight = np.asarray(sample_weight, dtype=float)
    if weight.ndim == 0:
        weight = np.full(len(sign), float(weight))
    if weight.shape != sign.shape:
        raise ValueError(
            f"sample_weight must have shape ({len(sign)},), one per sequence, got {weight.shape}"
        )
    if not np.isfinite(weight).all() or weight.min() < 0:
        raise ValueError("sample_weight must be finite and non-negative")
    for label in (-1.0, 1.0):
        if not weight[sign == label].sum() > 0:
            raise ValueError("sample_weight must not be zero on all samples of a class")
    return weight / weight.sum()
