"""Linear classifiers of a whole sequence: of its mean token, or of all its tokens in a row."""

from typing import Any, ClassVar

import numpy as np

from sparsetoken._types import Array, Floats
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.members import LinearHead, TokenPart
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.estimators.stack import Stack, single
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.passes import pooled_features
from sparsetoken.sequences.sequences import Sequences


class _LinearClassifier(SequenceClassifier):
    """A readout of features; as a head it has no query."""

    def __init__(self, reg: float = 1e-2, loss: Any = "logistic") -> None:
        self.reg = reg
        self.loss = loss

    def _features(self, data: Data) -> Floats:
        raise NotImplementedError

    def _fit(self, data: Data, sign: Floats, weights: Floats) -> None:
        loss, reg = self._check_objective()
        features = self._features(data)
        self.coef_, self.intercept_ = fit_readout(features, sign, reg, loss, weights)


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
    members_ : dict
        The weight of each member of the score: one of weight one, "pooled" here.
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

    def as_stack(self) -> Stack:
        """Return the fitted classifier as a stack of one head: all tokens weigh the same."""
        head = MeanHead(np.zeros_like(self.coef_), self.coef_, self.intercept_)
        return single(head, self.n_features_in_)


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
    members_ : dict
        One member of weight one, "position".
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

    def as_stack(self) -> Stack:
        """Return the fitted classifier as a stack of one head: a readout for each position."""
        head = PositionHead(np.zeros_like(self.coef_), self.coef_, self.intercept_)
        return single(head, self.n_features_in_)


class MeanHead(LinearHead):
    """A readout of the mean token."""

    name: ClassVar[str] = "pooled"


class PositionHead(LinearHead):
    """A readout of all tokens in a row."""

    name: ClassVar[str] = "position"

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, 1, 1) of sequences."""
        n_tokens = len(self.coef) // data.dim
        if data.n_tokens != n_tokens:
            raise ValueError(
                f"X must have sequences of {n_tokens} tokens, as in fit, got "
                f"{'different lengths' if data.n_tokens is None else data.n_tokens}"
            )
        scores = data.per_sample(_vectorized_scores, self.coef) + self.intercept
        return scores[:, np.newaxis, np.newaxis]

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return the size of each position's readout as attention, and what each token adds."""
        readouts = self.coef.reshape(-1, sequences.dim)
        sizes = np.linalg.norm(readouts, axis=1)
        weights = sizes / sizes.sum() if sizes.any() else np.full(len(sizes), 1.0 / len(sizes))
        tokens = (sequences.tokens - center).reshape(len(sequences), *readouts.shape)
        contributions = np.einsum("nld,ld->nl", tokens, readouts).ravel()
        baseline = np.array([float((readouts @ center).sum()) + self.intercept])
        attention = np.tile(weights, len(sequences))
        return TokenPart(attention[:, np.newaxis], contributions[:, np.newaxis], baseline)

    def summarize(self, token: Array) -> Any:
        """Refuse: a readout for each position needs all of them."""
        raise ValueError(
            "VectorizedClassifier needs whole sequences and has no stream; the others have"
        )


def _all_tokens(sequences: Sequences) -> Array:
    return sequences.tokens.reshape(len(sequences), -1)


def _vectorized_scores(sequences: Sequences, readout: Floats) -> Array:
    return _all_tokens(sequences) @ readout
