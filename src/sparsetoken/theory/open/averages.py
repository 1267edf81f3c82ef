"""Averages over samples that drive the training (docs/theory, section 13).

A sample shows the parameters its projections h = X[q, w], one row per token. With
s = softmax(βh_q), φ = s·h_w, δ = h_w − φ and ℓ′ at φ + b, its influence on the gradient is

    A = [a^q, a^w],   a^q = βℓ′ s∘δ,   a^w = ℓ′ s.

What the training needs of it is quadratic in h_w once h_q is given. So where h is Gaussian, h_w is
integrated out: its component along s by one-dimensional quadrature, the rest in closed form. Only
h_q needs points.
"""

import math
from typing import NamedTuple

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.losses import Loss
from sparsetoken.performance import error_rate
from sparsetoken.pooling import Softmax
from sparsetoken.problem import Group
from sparsetoken.theory.envelope_averages import envelope_moments

_RESOLUTION = 12.0  # of the table of averages for a loss without a kernel (envelope_averages.py)


class Averages(NamedTuple):
    """Averages over all samples; vectors and matrices are in the order (query, readout)."""

    pull: Floats  # θE[v·A]: how the gradient pulls along the signal
    response: Floats  # E Σ ∂A/∂h: how it responds to the parameters themselves
    energy: Floats  # E[AᵀA]: the size of its noise
    slope: float  # E[ℓ′]
    loss: float  # E[ℓ]
    error: float  # probability of a wrong sign

    @classmethod
    def from_sums(cls, sums: Floats) -> "Averages":
        """Make them from numbers in the order of :func:`influence_sums`, then loss and error."""
        response = np.array([[sums[2], sums[3]], [sums[3], sums[4]]])
        energy = np.array([[sums[5], sums[6]], [sums[6], sums[7]]])
        return cls(sums[:2], response, energy, float(sums[8]), float(sums[9]), float(sums[10]))


def signal_tokens(group: Group) -> int:
    """Return how many tokens of the group's samples carry the signal."""
    return group.kind.n_signal if group.positive else 0


def gaussian_averages(
    group: Group,
    shift: Floats,
    covariance: Floats,
    offset: float,
    noise: Floats,
    beta: float,
    loss: Loss,
) -> Floats:
    """Return the averages of a group whose h is Gaussian, as :meth:`Averages.from_sums` takes them.

    The tokens are independent, of one ``covariance``; ``shift`` is the mean of a signal token's h
    less that of another, ``offset`` the bias plus the mean of h_w over the others. ``noise`` has
    the standard normals of h_q, one row per point.
    """
    n_signal = signal_tokens(group)
    q_norm = math.sqrt(max(covariance[0, 0], 0.0))
    if q_norm == 0.0:
        noise = np.zeros((1, group.kind.n_tokens))  # all weights are even: one point is exact
    along = covariance[0, 1] / q_norm if q_norm > 0.0 else 0.0
    sd = math.sqrt(max(covariance[1, 1] - along**2, 0.0))
    x = noise * (beta * q_norm)
    x[:, :n_signal] += beta * shift[0]
    x = Softmax().weights(x)
    u = along * noise  # the mean of δ given h_q
    u[:, :n_signal] += shift[1]
    mean = np.einsum("nl,nl->n", x, u)
    u -= mean[:, np.newaxis]
    x2, xu = x * x, x * u
    s2, s3, s4, t1, t2, t3 = (
        np.einsum("nl,nl->n", first, second)
        for first, second in ((x, x), (x2, x), (x2, x2), (x, xu), (xu, xu), (x2, xu))
    )
    v0, v1, v2 = (each[:, :n_signal].sum(axis=1) for each in (x, xu, x2))
    c = np.sqrt(s2)

    labels = np.full(c.size, group.label)
    resolution = math.inf if loss.logistic or c.size == 1 else _RESOLUTION
    m = envelope_moments(loss, labels, mean + offset, c, sd, 0.0, resolution=resolution)
    ghh, gghh = 2.0 * sd * c * m.hk, m.hh + 2.0 * sd * c * m.ghk  # Stein's identity
    # δ = (its mean given h_q) + sd·G(s/c − c) + noise orthogonal to s; G is that along s.
    c2 = c**2
    lean, mixed, spread = s3 / c - c * c2, t3 / c - c * t1, s4 / c2 - 2.0 * s3 + c2**2
    rest = t2 + sd**2 * (c2 - s4 / c2)
    each = np.stack(
        [
            beta * (m.h * v1 + sd * m.gh * (v2 / c - c * v0)),
            m.h * v0,
            beta**2 * (m.k * rest + 2.0 * sd * m.gk * mixed + sd**2 * m.ggk * spread)
            - 2.0 * beta**2 * (m.h * t1 + sd * m.gh * lean),
            beta * (m.k * t1 + sd * m.gk * lean + m.h * (1.0 - c2)),
            m.k * c2,
            beta**2 * (m.hh * rest + 2.0 * sd * ghh * mixed + sd**2 * gghh * spread),
            beta * (m.hh * t1 + sd * ghh * lean),
            m.hh * c2,
            m.h,
            m.envelope,
            error_rate(group.label * (mean + offset), sd * c),
        ]
    )
    each[:2] *= group.kind.signal
    return each.mean(axis=1)


def influence_sums(
    weights: Floats, delta: Floats, slopes: tuple[Floats, Floats], beta: float, group: Group
) -> Floats:
    """Return what each sample adds to the averages but for loss and error, shape (9, samples).

    The order is pull (2), response (qq, qw, ww), energy (qq, qw, ww), slope. ``slopes`` are ℓ′ and
    ℓ″; the tokens with the signal come first.
    """
    leaning, n_signal = weights * delta, signal_tokens(group)
    s2, t1, t2 = (
        np.einsum("nl,nl->n", x, y)
        for x, y in ((weights, weights), (weights, leaning), (leaning, leaning))
    )
    v0, v1 = (x[:, :n_signal].sum(axis=1) for x in (weights, leaning))
    a, k = slopes
    return np.stack(
        [
            group.kind.signal * beta * a * v1,
            group.kind.signal * a * v0,
            beta**2 * (k * t2 - 2.0 * a * t1),
            beta * (k * t1 + a * (1.0 - s2)),
            k * s2,
            beta**2 * a**2 * t2,
            beta * a**2 * t1,
            a**2 * s2,
            a,
        ]
    )
