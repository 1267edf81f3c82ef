"""What one training sample makes of its projections when query and readout fit it.

Without the sample, the parameters show it h° (one row per token, one column for query and readout).
With it they show the minimizer of

    ½ tr[(H − h°) V⁻¹ (H − h°)ᵀ] + ℓ(φ(H) + b; y),     φ = softmax(βH_q)·H_w.

Newton's method with a Levenberg shift, all samples at once. Arrays are (samples, 2, tokens).
"""

from typing import NamedTuple

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.losses import Loss
from sparsetoken.pooling import Softmax

_MOST_ROUNDS = 60


class Objective(NamedTuple):
    """The minimized function of each sample: what it needs besides H."""

    prior: Floats  # h°
    precision: Floats  # V⁻¹, shape (2, 2)
    label: float
    bias: float
    beta: float
    loss: Loss


class Place(NamedTuple):
    """The function at H: its value and derivatives, and what they are made of."""

    value: Floats
    gradient: Floats  # shape (samples, 2, tokens)
    hessian: Floats  # shape (samples, 2·tokens, 2·tokens)
    influence: Floats  # A = ∂ℓ/∂H
    loss: Floats
    slope: Floats


def evaluate(objective: Objective, h: Floats) -> Place:
    """Evaluate the function at H."""
    samples, _, n_tokens = h.shape
    beta, loss = objective.beta, objective.loss
    weights = Softmax().weights(beta * h[:, 0])
    score = np.einsum("nl,nl->n", weights, h[:, 1])
    label = np.full(samples, objective.label)
    slope, curvature = (
        np.broadcast_to(f(score + objective.bias, label), (samples,))
        for f in (loss.derivative, loss.second_derivative)
    )
    value = loss.value(score + objective.bias, label)
    lean = beta * weights * (h[:, 1] - score[:, np.newaxis])
    by_h = np.stack([lean, weights], axis=1)  # ∂φ/∂H
    influence = slope[:, np.newaxis, np.newaxis] * by_h
    gap = h - objective.prior
    pull = np.einsum("nkl,kj->njl", gap, objective.precision)

    flat = by_h.reshape(samples, -1)
    hessian = curvature[:, np.newaxis, np.newaxis] * flat[:, :, np.newaxis] * flat[:, np.newaxis]
    a, s = slope[:, np.newaxis] * lean, slope[:, np.newaxis] * weights
    q, w, tokens = slice(n_tokens), slice(n_tokens, None), np.arange(n_tokens)
    outer = beta * a[:, :, np.newaxis] * weights[:, np.newaxis]
    hessian[:, q, q] -= outer + outer.transpose(0, 2, 1)
    mixed = beta * s[:, :, np.newaxis] * weights[:, np.newaxis]
    hessian[:, q, w] -= mixed
    hessian[:, w, q] -= mixed
    hessian[:, tokens, tokens] += beta * a
    for i, j in ((0, 1), (1, 0)):
        hessian[:, i * n_tokens + tokens, j * n_tokens + tokens] += beta * s
    hessian += np.kron(objective.precision, np.eye(n_tokens))
    total = value + 0.5 * np.einsum("nkl,nkl->n", pull, gap)
    return Place(total, pull + influence, hessian, influence, value, slope)


def minimize(objective: Objective, start: Floats) -> Floats:
    """Return the minimizer of each sample nearest to its start."""
    h = start.copy()
    samples = np.arange(len(h))
    shift = np.zeros(len(h))
    # Of query and readout each: one may be held much more stiffly than the other.
    scale = np.repeat(np.diag(objective.precision), h.shape[2])
    place = evaluate(objective, h)
    for _ in range(_MOST_ROUNDS):
        moving = np.any(np.abs(place.gradient.reshape(len(samples), -1)) > 1e-9 * scale, axis=1)
        if not moving.any():
            break
        samples, shift = samples[moving], shift[moving]
        place = Place(*(values[moving] for values in place))
        at = h[samples]
        matrix = place.hessian + shift[:, np.newaxis, np.newaxis] * np.diag(scale)
        flat = place.gradient.reshape(len(samples), -1, 1)
        move = -np.linalg.solve(matrix, flat)[:, :, 0]
        downhill = np.einsum("ni,ni->n", move, flat[:, :, 0]) < 0.0
        trial = at + move.reshape(at.shape)
        tried = evaluate(objective._replace(prior=objective.prior[samples]), trial)
        better = downhill & (tried.value <= place.value + 1e-14 * np.abs(place.value))
        h[samples[better]] = trial[better]
        shift = np.where(better, 0.1 * shift, np.maximum(4.0 * shift, 0.2))
        shift[better & (shift < 2e-3)] = 0.0
        place = Place(
            *(
                np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)
                for new, old in zip(tried, place, strict=True)
            )
        )
    return h


def responses(objective: Objective, h: Floats) -> tuple[Place, Floats]:
    """Return the function at the minimizers and ∂A/∂h°, shape (samples, 2, tokens, 2, tokens)."""
    place = evaluate(objective, h)
    n_tokens = h.shape[2]
    precision = np.kron(objective.precision, np.eye(n_tokens))
    inverse = np.linalg.solve(place.hessian, np.broadcast_to(precision, place.hessian.shape))
    response = np.asarray(precision - precision @ inverse, dtype=float)
    return place, response.reshape(len(h), 2, n_tokens, 2, n_tokens)
