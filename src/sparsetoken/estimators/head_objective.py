"""The objectives Σ sᵢ ℓ(score; yᵢ) + (λ/2)‖w‖² of heads, and the passes that find their gradients.

L-BFGS minimizes those of all heads, folds and classes together: a step of all is one pass over the
tokens as they are, one product forward and one back. Products are in double precision, since fits
amplify rounding until the processor matters.
"""

from typing import Any, NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats, Indices
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.losses import Logistic
from sparsetoken.sequences.passes import pooled_features
from sparsetoken.sequences.sequences import Sequences


class HeadSpec(NamedTuple):
    """A way to fit a head."""

    temperature: float
    shrinkage: float | None
    reg: float
    n_signal: int = 1
    n_kinds: int = 1  # kinds of signal, a direction each


class HeadObjective:
    """Value and gradient of the objectives of heads: a task for each fit, spec and class.

    A point is w and b in a row. With ``pooled`` every sequence is its mean token.
    """

    def __init__(
        self, training: TrainingSamples, specs: list[HeadSpec], weights: Floats, pooled: bool
    ) -> None:
        self.training, self.pooled = training, pooled
        self.data = training.data.pooled() if pooled else training.data
        self.rows = (training.signs, weights)
        self.shape = (weights.shape[1], len(specs), training.signs.shape[1])
        self.weight_column, spec, self.label_column = (i.ravel() for i in np.indices(self.shape))
        self.regs = np.array([one.reg for one in specs])[spec]
        self.temperatures = np.array([one.temperature for one in specs])[spec]
        self.shrinkages = [specs[k].shrinkage for k in spec]

    def __call__(self, points: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return values and gradients of some tasks."""
        rows, regs, standard = points[:, :-1], self.regs[which], self.training.standard
        shrinkages = [self.shrinkages[k] for k in which]
        directions, offsets = standard.to_data(rows, shrinkages)
        columns = self.label_column[which], self.weight_column[which]
        heads = self.temperatures[which], points[:, -1] + offsets, *columns
        sums = self.data.total(evidence_gradients, self.rows, directions.T, heads)
        values, by_direction, by_bias = sums
        values = values + 0.5 * regs * (rows**2).sum(axis=1)
        gradients = standard.from_data(by_direction.T, by_bias, shrinkages)
        return values, np.column_stack([gradients + regs[:, np.newaxis] * rows, by_bias])

    def minimize(
        self, steps: int, tolerance: float, start: tuple[Floats, Floats] | None = None
    ) -> tuple[Floats, Floats]:
        """Return directions (F, K, C, d) and intercepts (F, K, C) for tokens as they are.

        The start is such a pair, by default zero if pooled, else two-step queries.
        """
        points, standard = np.zeros((len(self.regs), self.data.dim + 1)), self.training.standard
        if start is not None:
            directions = start[0].reshape(len(self.regs), -1)
            points[:, :-1] = standard.to_standard(directions, self.shrinkages)
            points[:, -1] = start[1].ravel() + directions @ standard.mean
        elif not self.pooled:
            queries, sign = self.two_step_queries()
            points[:, :-1] = queries * (sign * np.abs(self.temperatures))[:, np.newaxis]
        points = minimize_many(self, points, steps, tolerance)
        directions, offsets = standard.to_data(points[:, :-1], self.shrinkages)
        intercepts = points[:, -1] + offsets
        return directions.reshape(*self.shape, -1), intercepts.reshape(self.shape)

    def two_step_queries(self) -> tuple[Floats, Floats]:
        """Return two-step queries of norm one in standard coordinates, and the readout's sign.

        The slopes of the second step are centered: both classes have the same weight, counted in
        tokens less one. So neither the class prior nor different lengths of the classes can turn
        the query round (docs/theory, section 3), and long sequences do not drown it.
        """
        sign = self.rows[0][:, self.label_column]
        weight, standard = self.rows[1][:, self.weight_column], self.training.standard
        slopes = _balanced(sign, weight)
        sums = slopes.T @ self.data.per_sample(pooled_features)
        readout = standard.from_data(sums, slopes.sum(axis=0), self.shrinkages)
        directions, _ = standard.to_data(readout, self.shrinkages)
        slopes = -_balanced(sign, weight, 1.0 - 1.0 / self.data.lengths[:, np.newaxis])
        (gradient,) = self.data.total(query_gradients, (slopes,), directions.T)
        query = -standard.from_data(gradient.T, np.zeros(len(gradient.T)), self.shrinkages)
        norm = np.linalg.norm(query, axis=1, keepdims=True)
        query = np.divide(query, norm, out=np.zeros_like(query), where=norm > 0)
        return query, np.where((query * readout).sum(axis=1) >= 0, 1.0, -1.0)


def _balanced(sign: Floats, weight: Floats, spread: Floats | float = 1.0) -> Floats:
    """Return ±weight, scaled so that weight·spread of each class sums to one half."""
    positive, negative = (
        np.where(side, weight * spread, 0.0).sum(axis=0) for side in (sign > 0, sign < 0)
    )
    total = np.where(sign > 0, positive, negative)
    return 0.5 * sign * np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)


def query_gradients(sequences: Sequences, slopes: Floats, readouts: Floats) -> Floats:
    """Return Σᵢ (hᵢ/Lᵢ) XᵢᵀPXᵢw for each column: the loss's gradient in the query at q = 0.

    P removes the mean over the tokens of a sequence, and hᵢ is the slope (docs/theory, section 3).
    """
    tokens, lengths = sequences.tokens.astype(np.float64, copy=False), sequences.lengths
    scores = tokens @ readouts
    means = np.add.reduceat(scores, sequences.offsets[:-1]) / lengths[:, np.newaxis]
    weights = np.repeat(slopes / lengths[:, np.newaxis], lengths, axis=0)
    weights *= scores - np.repeat(means, lengths, axis=0)
    return tokens.T @ weights


def evidence_gradients(
    sequences: Sequences, signs: Floats, weights: Floats, directions: Floats, heads: Any
) -> tuple[Floats, Floats, Floats]:
    """Return Σᵢ sᵢ ℓ(a·log mean exp(Xᵢw/a) + b; yᵢ), and its gradients in w and b.

    ℓ is the logistic loss. Two matrix products serve all heads. These are, beside the directions,
    temperatures a and biases b, and each one's columns of the samples' signs and weights.
    """
    tokens = sequences.tokens.astype(np.float64, copy=False)
    attention = tokens @ (directions / heads[0])
    largest = _subtract_largest(attention, sequences.offsets)
    np.exp(attention, out=attention)
    values, by_bias = np.zeros((2, len(heads[1])))
    samples = sequences.offsets, signs, weights
    _evidence_backward(attention, largest, samples, heads, values, by_bias)
    return values, tokens.T @ attention, by_bias


@njit(nogil=True)
def _subtract_largest(scores, offsets):  # type: ignore[no-untyped-def]
    """Subtract from every column a sequence's largest score, and return these, (n, heads)."""
    largest = np.empty((offsets.size - 1, scores.shape[1]), scores.dtype)
    for i in range(offsets.size - 1):
        top = largest[i]
        top[:] = scores[offsets[i]]
        for t in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(top.size):
                top[k] = max(top[k], scores[t, k])
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(top.size):
                scores[t, k] -= top[k]
    return largest


_loss, _slope = Logistic.value, Logistic.derivative


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _evidence_backward(attention, largest, samples, heads, values, by_bias):  # type: ignore[no-untyped-def]
    """Turn e^(attention score − its largest) into the tokens' weights in the gradient."""
    (offsets, signs, weights), n_heads = samples, values.size
    temperatures, biases, label_column, weight_column = heads
    factor = np.empty(n_heads)
    for i in range(offsets.size - 1):
        length = offsets[i + 1] - offsets[i]
        factor[:] = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                factor[k] += attention[t, k]
        for k in range(n_heads):
            weight, total = weights[i, weight_column[k]], factor[k]
            factor[k] = 0.0
            if weight > 0.0:
                score = temperatures[k] * (largest[i, k] + np.log(total / length)) + biases[k]
                sign = signs[i, label_column[k]]
                values[k] += weight * _loss(score, sign)
                slope = weight * _slope(score, sign)
                by_bias[k] += slope
                factor[k] = slope / total
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(n_heads):
                attention[t, k] *= factor[k]
