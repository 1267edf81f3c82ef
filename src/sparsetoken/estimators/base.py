"""What all the classifiers share: checked input, labels, scores and probabilities."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sparsetoken._types import Array, Floats, Indices
from sparsetoken._validation import check_real, shown
from sparsetoken.estimators.stack import Stack
from sparsetoken.losses import Loss, get_loss
from sparsetoken.sequences.chunks import chunks_of_array, is_dask
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.fingerprints import fingerprints_of
from sparsetoken.sequences.forms import check_frame
from sparsetoken.sequences.grouping import align_labels
from sparsetoken.sequences.sequences import Sequences, as_sequences
from sparsetoken.sequences.threads import one_blas_thread

_REMEMBERED = 2**20  # sequences; of more, a model's file would be too large


class SequenceClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers: a fitted one is a stack of members, which ``_stack()`` returns.

    A subclass of two classes gives ``_fit(data, sign, weights)``.
    """

    _multi_class = False
    loss: Any
    reg: Any
    coef_: Floats
    intercept_: float
    feature_names_in_: Array
    fingerprints_: NDArray[np.uint64]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to sequences and their labels.

        Parameters
        ----------
        X : array (n, L, d) or (n, d), list of (L_i, d) arrays, Sequences, or Dask array (n, L, d)
            The sequences; (n, d) means one token each. What ``Sequences.open`` returns is read in
            parts.
        y : array-like of shape (n,)
            Labels of two classes.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights of the sequences.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with one_blas_thread():
            data, index, weights = self._check_fit(X, y, sample_weight)
            self._fit(data, np.where(index == 1, 1.0, -1.0), weights)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions for these labels."""
        weight = align_labels(X, sample_weight, "sample_weight")
        return float(super().score(X, align_labels(X, y), weight))

    def decision_function(self, X: Any) -> Floats:
        """Return the score ⟨w, features⟩ + b of each sequence; positive means ``classes_[1]``."""
        check_is_fitted(self)
        return self._decide(self._check_data(X, reset=False))

    def predict(self, X: Any) -> Array:
        """Return the predicted label of each sequence."""
        score = self.decision_function(X)
        index = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[index]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the two classes, in the order of ``classes_``.

        With logistic loss the fitted model is 1/(1 + e^−score). With any other loss the probability
        of ``classes_[1]`` is (1 + score)/2 cut to [0, 1]: what the square loss estimates. For the
        hinge loss it only orders the samples; to calibrate it use scikit-learn's
        ``CalibratedClassifierCV``.
        """
        positive = get_loss(self.loss).probability(self.decision_function(X))
        return np.stack([1.0 - positive, positive], axis=1)

    def _fit(self, data: Data, sign: Floats, weights: Floats) -> None:
        raise NotImplementedError

    def _stack(self) -> Stack:
        """Return the fitted classifier as a stack of members."""
        raise NotImplementedError

    def _decide(self, data: Data) -> Floats:
        score = self._stack().scores(data)
        return score[:, 0] if score.shape[1] == 1 else score

    def _check_objective(self) -> tuple[Loss, float]:
        return get_loss(self.loss), check_real("reg", self.reg, low=0.0, above=True)

    def _check_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Data, Indices, Floats]:
        """Return the sequences, the class of each, and weights that sum to one."""
        if y is None:  # in scikit-learn's words
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        data = self._check_data(X, reset=True)
        index = self._check_labels(align_labels(X, y), len(data))
        sample_weight = align_labels(X, sample_weight, "sample_weight")
        self.__dict__.pop("fingerprints_", None)  # of an earlier fit
        if len(data) <= _REMEMBERED:
            self.fingerprints_ = fingerprints_of(data)
        return data, index, _check_sample_weight(sample_weight, index)

    def _check_data(self, X: Any, *, reset: bool) -> Data:
        """Return checked sequences, with features in the order of ``fit`` if they have names."""
        n_jobs, table = getattr(self, "n_jobs", None), False
        if is_dask(X):
            data: Data = chunks_of_array(X)
            self._check_names(None, reset=reset)
        else:
            names = _column_names(X)
            if names is not None:
                check_frame(X)
            if hasattr(X, "__array__") and not hasattr(X, "shape"):
                X = np.asarray(X)
            table = _is_table(X)
            if table and not np.ma.is_masked(X):  # scikit-learn knows all the kinds of tables
                floats = [np.float64, np.float32]
                X = check_array(X, dtype=floats, ensure_all_finite=False, estimator=self)
            sequences = as_sequences(X)
            names = getattr(sequences, "feature_names", None) if names is None else names
            order = self._check_names(names, reset=reset)
            if order is not None:
                sequences = _in_order(sequences, order)
            data = MemoryData(sequences, n_jobs)
        if reset:
            self.n_features_in_ = data.dim
        elif data.dim != self.n_features_in_:
            raise ValueError(
                f"X has {data.dim} features{'' if table else ' per token'}, but "
                f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        return data

    def _check_names(self, names: Any, *, reset: bool) -> Indices | None:
        """Store the names of the features, or return where those of ``fit`` are now."""
        if reset:
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
            if names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
            return None
        fitted = getattr(self, "feature_names_in_", None)
        if fitted is None or names is None:
            if (fitted is None) != (names is None):
                has, out = ("has", "out") if fitted is None else ("does not have valid", "")
                warnings.warn(
                    f"X {has} feature names, but {type(self).__name__} was fitted with{out} "
                    "feature names",
                    UserWarning,
                    stacklevel=4,
                )
            return None
        unseen, missing = (sorted(set(a) - set(b)) for a, b in ((names, fitted), (fitted, names)))
        if unseen or missing or len(names) != len(fitted):
            raise ValueError(
                "X must have the features of fit, each once: it has "
                f"{shown(unseen)} that fit had not, and lacks {shown(missing)}"
            )
        place = {name: position for position, name in enumerate(names)}
        order = np.array([place[name] for name in fitted])
        return None if np.array_equal(order, np.arange(len(order))) else order

    def _check_labels(self, y: Any, n_samples: int) -> Indices:
        """Return the number of each label's class."""
        y = column_or_1d(np.asarray(y), warn=True)
        if len(y) != n_samples:
            raise ValueError(
                f"X and y must have the same length, got {n_samples} sequences and {len(y)} labels"
            )
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
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


def _column_names(X: Any) -> Array | None:
    """Return the columns of a frame if they are names."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def _in_order(sequences: Sequences, order: Indices) -> Sequences:
    return Sequences(sequences.tokens[:, order], sequences.offsets)


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


def is_ragged(X: Any) -> bool:
    """Return whether ``X`` is a form that holds sequences of any length."""
    return isinstance(X, Sequences | list | tuple) or _is_object_array(X)


def _check_sample_weight(sample_weight: Any, index: Indices) -> Floats:
    """Return weights that sum to one, or raise ValueError."""
    weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=float)
    if weights.ndim == 0:
        weights = np.full(len(index), float(weights))
    if weights.shape != index.shape:
        raise ValueError(
            f"sample_weight must have shape ({len(index)},), one per sequence, got {weights.shape}"
        )
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError("sample_weight must be finite and non-negative")
    if not np.bincount(index[index >= 0], weights[index >= 0]).all():
        raise ValueError("sample_weight must not be zero on all samples of a class")
    return weights / weights.sum()
