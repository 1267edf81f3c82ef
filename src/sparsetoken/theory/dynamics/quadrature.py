"""Gaussian averages of a loss and its derivatives at a score, one per point."""

import math
from typing import NamedTuple

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken.losses import Loss, gaussian_rule
from sparsetoken.theory.smoothing import envelope_moments

_RESOLUTION = 12.0  # of the table for a loss without a kernel (smoothing.py)


class ScoreMoments(NamedTuple):
    """Averages over the score r = mean + deviation·G, with G ~ N(0, 1)."""

    value: Floats
    """E[ℓ]"""
    h: Floats
    """E[ℓ′]"""
    gh: Floats
    """E[Gℓ′]"""
    hh: Floats
    """E[ℓ′²]"""
    ghh: Floats
    """E[Gℓ′²]"""
    gghh: Floats
    """E[G²ℓ′²]"""
    k: Floats
    """E[ℓ″]"""
    gk: Floats
    """E[Gℓ″]"""
    ggk: Floats
    """E[G²ℓ″]"""


def score_moments(
    loss: Loss, label: float, mean: Floats, scale: Floats, norm: float, value: bool
) -> ScoreMoments:
    """Return the averages for scores of the given means and of deviation ``norm``·``scale``.

    Without ``value`` that of the loss itself may be left out, as zero.
    """
    if loss.logistic:  # compiled; any other by the general rule
        step = max(min(0.75, 1.1 / max(norm * float(scale.max()), 1e-300)), 0.01)
        sums = np.zeros((9, mean.size))
        _logistic(label * mean, norm * scale, *gaussian_rule(step), value, sums)
        sums[[1, 4, 7]] *= label  # from moments in the margin yr, where G stands for yG
        return ScoreMoments(*sums)
    resolution = _RESOLUTION if mean.size > 1 else math.inf
    labels = np.full(mean.size, label)
    m = envelope_moments(loss, labels, mean, scale, norm, 0.0, resolution=resolution)
    ghh, gghh = 2.0 * norm * scale * m.hk, m.hh + 2.0 * norm * scale * m.ghk  # Stein's identity
    return ScoreMoments(m.envelope, m.h, m.gh, m.hh, ghh, gghh, m.k, m.gk, m.ggk)


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz", "arcp"})
def _logistic(margin, deviation, nodes, weights, value, sums):  # type: ignore[no-untyped-def]
    """Fill ``sums`` by a trapezoid rule, points in blocks so that they stay in the cache.

    The nodes are evenly spaced, so that exp(−margin) is multiplied by one factor per node.
    """
    block = 256
    odds, ratio = np.empty(block), np.empty(block)
    total = np.zeros((9, block))
    step = nodes[1] - nodes[0]
    for start in range(0, margin.size, block):
        size = min(block, margin.size - start)
        total[:] = 0.0
        for i in range(size):
            sd = deviation[start + i]
            # Kept within floats from the first node to the last.
            first = min(max(-(margin[start + i] + sd * nodes[0]), -600.0), 600.0)
            odds[i] = math.exp(first)
            ratio[i] = math.exp(-min(sd * step, 1.2e3 / nodes.size))
        for j in range(nodes.size):
            g, w = nodes[j], weights[j]
            for i in range(size):
                p = odds[i] / (1.0 + odds[i])  # −ℓ′ in the margin
                wp, wk = w * p, w * p * (1.0 - p)
                wpp = wp * p
                total[1, i] -= wp
                total[2, i] -= g * wp
                total[3, i] += wpp
                total[4, i] += g * wpp
                total[5, i] += g * g * wpp
                total[6, i] += wk
                total[7, i] += g * wk
                total[8, i] += g * g * wk
            if value:
                for i in range(size):
                    total[0, i] += w * math.log(1.0 + odds[i])
            for i in range(size):
                odds[i] *= ratio[i]
        for m in range(9):
            for i in range(size):
                sums[m, start + i] = total[m, i]
