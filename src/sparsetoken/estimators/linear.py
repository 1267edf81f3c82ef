"""Linear classifiers of a whole sequence: of its mean token, or of all its tokens in a row."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsetoken._types import Array, Floats
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.members import LinearHead
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.estimators.stack import Stack, single
from sparsetoken.inspection import ScoreStream
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.passes import pooled_features
from sparsetoken.sequences.sequences import Sequences


class _LinearClassifier(SequenceClassifier):
    """A readout of features; as a head its query is zero, so that all tokens weigh the same."""

    def __init__(self, reg: float = 1e-2, loss: Any = "logistic") -> None:
        self.reg = reg
        self.loss = loss

    def _features(self, data: Data) -> Floats:
        raise NotImplementedError

    def _fit(self, data: Data, sign: Floats, weights: Floats) -> None:
        loss, reg = self._check_objective()
        features = self._features(data)
        self.coef_, self.intercept_ = fit_readout(features, sign, reg, loss, weights)

    def _stack(self) -> Stack:
        return single(LinearHead(np.zeros_like(self.coef_), self.coef_, self.intercept_))


class PooledClassifier(_LinearClassifier):
    """Linear classifier of the mean token.

    The baseline for attention: the mean drowns a few informative tokens among many.

    Parameters
    ----------
    reg : float, default=1e-2
        Ridge λ in (1/n) Σ ℓ(⟨w, X̄ᵢ⟩ + b; yᵢ) + (λ/2)‖w‖²; the bias is not penalized.
    loss : {"logistic", "square", "hinge"} or Loss, default="logistic"
        The loss ℓ.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The readout w.
    intercept_ : float
        The bias b.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn; a positive score means ``classes_[1]``.
    fingerprints_ : ndarray of int
        A number for each training sequence, by which predictions on it are told from others.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> X, y, truth = problem.sample(200, 20, random_state=0, return_truth=True)
    >>> X_new, y_new = problem.sample(500, 20, random_state=1, direction=truth.direction)
    >>> st.PooledClassifier().fit(X, y).score(X_new, y_new)
    0.798
    """

    def _features(self, data: Data) -> Floats:
        return data.per_sample(pooled_features)

    def stream(self, *, window: int | None = None) -> ScoreStream:
        """Return an object that scores one sequence token by token, or its last ``window``."""
        check_is_fitted(self)
        return ScoreStream(self._stack(), self.n_features_in_, window)


class VectorizedClassifier(_LinearClassifier):
    """Linear classifier of all tokens in a row; every sequence must have the same length.

    Parameters
    ----------
    reg, loss
        As in :class:`PooledClassifier`, with all tokens in a row instead of their mean.

    Attributes
    ----------
    coef_ : ndarray of shape (L·d,)
        The readout w; ``coef_.reshape(L, d)`` has one row per token.
    n_tokens_ : int
        The length L of the sequences.
    intercept_, classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> X, y = problem.sample(200, 20, random_state=0)
    >>> st.VectorizedClassifier().fit(X, y).coef_.shape
    (200,)
    """

    def _fit(self, data: Data, sign: Floats, weights: Floats) -> None:
        if not isinstance(data, MemoryData):
            raise ValueError(
                "VectorizedClassifier can predict but not fit a Dask array: pass X.compute() if it "
                "fits into memory; the other classifiers take it"
            )
        if data.n_tokens is None:
            raise ValueError(
                "VectorizedClassifier needs sequences of equal length, got different lengths; "
                "PooledClassifier and AttentionClassifier take any"
            )
        self.n_tokens_ = data.n_tokens
        super()._fit(data, sign, weights)

    def _features(self, data: Data) -> Floats:
        return data.per_sample(_all_tokens)

    def _decide(self, data: Data) -> Floats:
        if data.n_tokens != self.n_tokens_:
            raise ValueError(
                f"X must have sequences of {self.n_tokens_} tokens, as in fit, got "
                f"{'different lengths' if data.n_tokens is None else data.n_tokens}"
            )
        return data.per_sample(_vectorized_scores, self.coef_) + self.intercept_


def _all_tokens(sequences: Sequences) -> Array:
    return sequences.tokens.reshape(len(sequences), -1)


def _vectorized_scores(sequences: Sequences, readout: Floats) -> Array:
    return _all_tokens(sequences) @ readout
