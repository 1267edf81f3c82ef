"""The published protocol: two gradient steps for the query, then a full readout."""

from typing import Any

import numpy as np

from sparsetoken._types import Floats
from sparsetoken._validation import check_real
from sparsetoken.estimators.base import SequenceClassifier
from sparsetoken.estimators.folds import generator, halves, reliability, tokens_far_out
from sparsetoken.estimators.head_passes import query_gradients
from sparsetoken.estimators.members import LinearHead
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.estimators.stack import Stack, single
from sparsetoken.losses import Loss
from sparsetoken.sequences.checks import warn_caller
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import attention_features, pooled_features


class TwoStepAttentionClassifier(SequenceClassifier):
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
    reg : float, default=1e-2
        Ridge λ of the readout; the bias is not penalized.
    loss : {"logistic", "square", "hinge"} or Loss, default="logistic"
        The loss of all steps.
    random_state : int, Generator, RandomState or None, default=None
        Decides the split.
    center : bool, default=False
        Whether the second step subtracts the mean slope of the samples from each one's: for
        sequences about as long as the square root of the number of samples, or longer. The
        published step does not.

    Attributes
    ----------
    query_ : ndarray of shape (d,)
        The query q after the second step.
    coef_, intercept_ : ndarray of shape (d,), float
        The readout (w, b).
    query_reliability_ : float
        Estimated size of the cosine between the query and the one that unlimited data would give,
        from the agreement of queries learned on two halves of the samples.
    query_samples_ : ndarray of int
        The samples of the two steps, in increasing order; the readout saw the others.
    train_loss_ : float
        Mean loss of the readout over its own samples, without the ridge.
    members_, classes_, n_features_in_, feature_names_in_, fingerprints_
        As in :class:`PooledClassifier`.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> X, y, truth = problem.sample(200, 20, random_state=0, return_truth=True)
    >>> X_new, y_new = problem.sample(500, 20, random_state=1, direction=truth.direction)
    >>> clf = st.TwoStepAttentionClassifier(random_state=0).fit(X, y)
    >>> clf.score(X_new, y_new)
    0.984
    """

    def __init__(
        self,
        split: float = 0.5,
        beta: float = 1.0,
        *,
        lr_readout: float = 1.0,
        lr_bias: float = 1.0,
        lr_query: float = 20.0,
        reg: float = 1e-2,
        loss: Any = "logistic",
        random_state: Any = None,
        center: bool = False,
    ) -> None:
        self.split = split
        self.beta = beta
        self.lr_readout = lr_readout
        self.lr_bias = lr_bias
        self.lr_query = lr_query
        self.reg = reg
        self.loss = loss
        self.random_state = random_state
        self.center = center

    def _fit(self, data: Data, sign: Floats, weights: Floats) -> None:
        loss, reg = self._check_objective()
        split = check_real("split", self.split, low=0.0, high=1.0, above=True)
        rates = {
            name: check_real(name, getattr(self, name), low=0.0)
            for name in ("beta", "lr_readout", "lr_bias", "lr_query")
        }
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
        pooled = data.per_sample(pooled_features)

        def learn(weights: Floats) -> Floats:
            return two_gradient_steps(
                data, pooled, sign, weights, loss, **rates, center=self.center
            )

        in_steps = np.where(first, weights, 0.0)
        self.query_ = learn(in_steps)
        columns = halves((sign > 0).astype(int), in_steps, np.arange(len(data)), rng)
        self.query_reliability_ = 0.0
        if columns is not None:
            queries = np.stack([learn(half) for half in columns.T])
            self.query_reliability_ = reliability(queries[:, np.newaxis], 0.5)
        features = data.per_sample(attention_features, self.beta * self.query_)[~first]
        sign, weights = sign[~first], weights[~first] / weights[~first].sum()
        self.coef_, self.intercept_ = fit_readout(features, sign, reg, loss, weights)
        score = features @ self.coef_ + self.intercept_
        self.train_loss_ = float(weights @ loss.value(score, sign))

    def as_stack(self) -> Stack:
        """Return the fitted classifier as a stack of one head."""
        head = LinearHead(self.beta * self.query_, self.coef_, self.intercept_)
        return single(head, self.n_features_in_)

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

    ``pooled`` holds the mean tokens. Samples without weight are left out. With ``center`` the
    slopes of the second step have mean zero.
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
