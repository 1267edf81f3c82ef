"""Classifiers with one linear readout: of the mean token, of all tokens, of what a query sees."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np

from sparsetoken._types import Array, Floats
from sparsetoken._validation import check_real
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.folds import generator, halves, reliability, tokens_far_out
from sparsetoken.estimators.head_objective import query_gradients
from sparsetoken.estimators.members import Member, TokenPart
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.estimators.stack import Stack
from sparsetoken.losses import Loss, get_loss
from sparsetoken.sequences.checks import warn_caller
from sparsetoken.sequences.data import Data, MemoryData, one_blas_thread
from sparsetoken.sequences.passes import attention_features, attention_weights, pooled_features
from sparsetoken.sequences.sequences import Sequences


@dataclass
class LinearHead(Member):
    """A head with a query and a readout, for two classes: ⟨coef, Xᵀ softmax(X query)⟩ + b."""

    query: Floats
    coef: Floats
    intercept: float
    name: str = "attention"

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, 1, 1) of sequences."""
        scores = data.per_sample(attention_features, self.query) @ self.coef + self.intercept
        return scores[:, np.newaxis, np.newaxis]

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return the softmax of the query, and each token's part of the readout."""
        attention = attention_weights(sequences, self.query)
        contributions = attention * ((sequences.tokens - center) @ self.coef)
        baseline = np.array([center @ self.coef + self.intercept])
        return TokenPart(attention[:, np.newaxis], contributions[:, np.newaxis], baseline)

    def summarize(self, token: Array) -> Any:
        """Return the log of the sum of e^score by the query, and the mean readout."""
        return token @ self.query, token @ self.coef

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the log of the sum, and the mean by its parts."""
        total = np.logaddexp(earlier[0], later[0])
        return total, sum(np.exp(log - total) * mean for log, mean in (earlier, later))

    def scores_of(self, summary: Any, n_tokens: int) -> Floats:
        """Return the score (1, 1) of the tokens of a summary."""
        return np.array([[summary[1] + self.intercept]])


class PositionHead(LinearHead):
    """A readout of all tokens in a row; it has no query."""

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, 1, 1) of sequences."""
        n_tokens = len(self.coef) // data.dim
        if data.n_tokens != n_tokens:
            raise ValueError(
                f"X must have sequences of {n_tokens} tokens, as in fit, got "
                f"{'different lengths' if data.n_tokens is None else data.n_tokens}"
            )
        scores = data.per_sample(_all_tokens, self.coef) + self.intercept
        return scores[:, np.newaxis, np.newaxis]

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return the size of each position's readout as attention, and what each token adds."""
        readouts = self.coef.reshape(-1, sequences.dim)
        sizes = np.linalg.norm(readouts, axis=1)
        weights = sizes / sizes.sum() if sizes.any() else np.full(len(sizes), 1.0 / len(sizes))
        tokens = (sequences.tokens - center).reshape(len(sequences), *readouts.shape)
        contributions = np.einsum("nld,ld->nl", tokens, readouts).reshape(-1, 1)
        baseline = np.array([float((readouts @ center).sum()) + self.intercept])
        return TokenPart(np.tile(weights, len(sequences))[:, np.newaxis], contributions, baseline)

    def summarize(self, token: Array) -> Any:
        """Refuse: a readout for each position needs all of them."""
        raise ValueError(
            "VectorizedClassifier needs whole sequences and has no stream; the others have"
        )


class LinearClassifier(SequenceClassifier):
    """A classifier of two classes whose fit ends with a readout of features."""

    query_: Annotated[Any, "d"]
    coef_: Annotated[Any, "d"]
    intercept_: float

    def __init__(self, reg: float = 1e-2, loss: Any = "logistic") -> None:
        self.reg = reg
        self.loss = loss

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
        """
        with one_blas_thread():
            data, index, weights = self._check_fit(X, y, sample_weight)
            loss, reg = get_loss(self.loss), check_real("reg", self.reg, low=0.0, above=True)
            self._fit(data, np.where(index == 1, 1.0, -1.0), weights, loss, reg)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the two classes, in the order of ``classes_``.

        That of ``classes_[1]`` is 1/(1 + e^−score) with logistic loss, else (1 + score)/2 cut to
        [0, 1]: what the square loss estimates. For the hinge loss it only orders the samples.
        """
        positive = get_loss(self.loss).probability(self.decision_function(X))
        return np.stack([1.0 - positive, positive], axis=1)

    def as_stack(self) -> Stack:
        """Return the fitted classifier as a stack of one head."""
        one, limits = np.ones(1), np.array([[-np.inf], [np.inf]])
        return Stack([self._head()], one, one, np.zeros(1), limits, np.zeros(self.n_features_in_))

    def _fit(self, data: Data, sign: Floats, weights: Floats, loss: Loss, reg: float) -> None:
        raise NotImplementedError

    def _head(self) -> LinearHead:
        raise NotImplementedError


class PooledClassifier(LinearClassifier):
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
    coef_, intercept_ : ndarray of shape (d,), float
        The readout w and the bias b.
    members_ : dict
        The weight of each member of the score: one of weight one, "pooled" here.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn; a positive score means ``classes_[1]``.
    fingerprints_ : ndarray of int
        A number for each training sequence, by which predictions on it are told from others.

    Examples
    --------
    >>> import sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(700, 20, random_state=0)
    >>> st.PooledClassifier().fit(X[:200], y[:200]).score(X[200:], y[200:])
    0.8
    """

    def _fit(self, data: Data, sign: Floats, weights: Floats, loss: Loss, reg: float) -> None:
        features = data.per_sample(pooled_features)
        self.coef_, self.intercept_ = fit_readout(features, sign, reg, loss, weights)

    def _head(self) -> LinearHead:
        return LinearHead(np.zeros_like(self.coef_), self.coef_, self.intercept_, "pooled")


class VectorizedClassifier(LinearClassifier):
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
    intercept_, members_, classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`; the member is "position".

    Examples
    --------
    >>> import sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(200, 20, random_state=0)
    >>> st.VectorizedClassifier().fit(X, y).coef_.shape
    (200,)
    """

    coef_: Annotated[Any, "v"]

    def _fit(self, data: Data, sign: Floats, weights: Floats, loss: Loss, reg: float) -> None:
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
        features = data.per_sample(_all_tokens)
        self.coef_, self.intercept_ = fit_readout(features, sign, reg, loss, weights)

    def _head(self) -> LinearHead:
        return PositionHead(np.zeros_like(self.coef_), self.coef_, self.intercept_, "position")


@dataclass(eq=False, repr=False)
class TwoStepAttentionClassifier(LinearClassifier):
    """Attention whose query is learned by two gradient steps, exactly as in the theory.

    From zero, on the fraction ``split`` of the samples: one step on readout and bias, one on the
    query. Then the query is frozen, and readout and bias are optimized fully on the other samples.
    For real data use :class:`AttentionClassifier`.

    Parameters
    ----------
    split : float, default=0.5
        Fraction of the samples for the two steps; which ones is drawn with ``random_state``.
    beta : float, default=1.0
        Inverse temperature: the token weights are softmax(βXq).
    lr_readout, lr_bias, lr_query : float, default=1.0, 1.0, 20.0
        Learning rates of the steps on the mean loss.
    reg, loss
        Ridge of the readout, and loss of all steps, as in :class:`PooledClassifier`.
    random_state : int, Generator, RandomState or None, default=None
        Decides the split.
    center : bool, default=False
        Whether the second step subtracts the mean slope of the samples, which the published one
        does not: for sequences about as long as the root of the number of samples, or longer.

    Attributes
    ----------
    query_ : ndarray of shape (d,)
        The query q after the second step.
    query_reliability_ : float
        Estimated cosine between the query and the one that unlimited data would give.
    query_samples_ : ndarray of int
        The samples of the two steps, in increasing order; the readout saw the others.
    train_loss_ : float
        Mean loss of the readout over its own samples, without the ridge.
    coef_, intercept_, members_, classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(700, 20, random_state=0)
    >>> clf = st.TwoStepAttentionClassifier(random_state=0).fit(X[:200], y[:200])
    >>> clf.score(X[200:], y[200:])
    0.958
    """

    split: float = 0.5
    beta: float = 1.0
    _: KW_ONLY
    lr_readout: float = 1.0
    lr_bias: float = 1.0
    lr_query: float = 20.0
    reg: float = 1e-2
    loss: Any = "logistic"
    random_state: Any = None
    center: bool = False

    def _fit(self, data: Data, sign: Floats, weights: Floats, loss: Loss, reg: float) -> None:
        split = check_real("split", self.split, low=0.0, high=1.0, above=True)
        names = "beta", "lr_readout", "lr_bias", "lr_query"
        rates = {name: check_real(name, getattr(self, name), low=0.0) for name in names}
        far, words = tokens_far_out(data, getattr(self, "feature_names_in_", None))
        if far.any():
            warn_caller(f"{words}: it may decide the fit; mend or clip its values", UserWarning)
        rng = generator(self.random_state)
        order = rng.permutation(len(data))
        first = np.zeros(len(data), dtype=bool)
        first[order[: round(split * len(data))]] = True
        self.query_samples_ = np.flatnonzero(first)
        leaves = f"split={split:g} of {len(data)} samples leaves"
        for name, rows in (("the two steps", first), ("the readout", ~first)):
            if not weights[rows].sum() > 0:
                raise ValueError(f"{leaves} none for {name}")
        if np.unique(sign[~first & (weights > 0)]).size < 2:
            raise ValueError(f"{leaves} the readout only one class")
        pooled, in_steps = data.per_sample(pooled_features), np.where(first, weights, 0.0)

        def learn(weights: Floats) -> Floats:
            return two_gradient_steps(
                data, pooled, sign, weights, loss, **rates, center=self.center
            )

        self.query_, self.query_reliability_ = learn(in_steps), 0.0
        columns = halves((sign > 0).astype(int), in_steps, np.arange(len(data)), rng)
        if columns is not None:
            queries = np.stack([learn(half) for half in columns.T])
            self.query_reliability_ = reliability(queries[:, np.newaxis], 0.5)
        features = data.per_sample(attention_features, self.beta * self.query_)[~first]
        sign, weights = sign[~first], weights[~first] / weights[~first].sum()
        self.coef_, self.intercept_ = fit_readout(features, sign, reg, loss, weights)
        score = features @ self.coef_ + self.intercept_
        self.train_loss_ = float(weights @ loss.value(score, sign))

    def _head(self) -> LinearHead:
        return LinearHead(self.beta * self.query_, self.coef_, self.intercept_)

    def leading_query(self) -> Floats:
        """Return what tokens are scored by, (1, d): the query times beta."""
        return self.beta * self.query_[np.newaxis]


def two_gradient_steps(
    data: Data,
    pooled: Floats,
    sign: Floats,
    weights: Floats,
    loss: Loss,
    beta: float,
    lr_readout: float,
    lr_bias: float,
    lr_query: float,
    center: bool = False,
) -> Floats:
    """Return the query after one step on (w, b) and one on q, from zero (docs/theory, section 3).

    ``pooled`` holds the mean tokens. With ``center`` the slopes of the second step have mean zero.
    """
    weights = weights / weights.sum()
    residual = weights * loss.derivative(np.zeros(len(sign)), sign)
    readout = -lr_readout * (residual @ pooled)
    bias = -lr_bias * float(residual.sum())
    slope = loss.derivative(pooled @ readout + bias, sign)
    slope = weights * (slope - (weights @ slope if center else 0.0))
    slopes, readouts = slope[:, np.newaxis], readout[:, np.newaxis]
    (gradient,) = data.total(query_gradients, (slopes,), readouts)
    return -lr_query * beta * gradient[:, 0]


def _all_tokens(sequences: Sequences, readout: Floats | None = None) -> Array:
    rows = sequences.tokens.reshape(len(sequences), -1)
    return rows if readout is None else rows @ readout
