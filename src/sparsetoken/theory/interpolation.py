"""Averages over G of very many points, from those on grids.

Given the readout, the averages of a point depend on two numbers only, its mean score and its scale
c, and smoothly so. They are computed on a grid, evenly spaced in the mean and at Chebyshev points
in log c, and interpolated: by cubic Hermite polynomials in the mean, whose derivatives are averages
themselves (∂E[M] = E[h], ∂E[h] = E[k], ...), and by Lagrange polynomials in log c.

Where the envelope is wide (χc² ≫ 1, as for data that can be fitted perfectly) h falls like 1/c² and
E[h²k] like 1/c⁶, which no polynomial of low degree follows. So what is interpolated is (1 + χc²)h
and the like, which hardly change there; and scales that differ by more than a factor of three have
grids of their own.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken._njit import njit
from sparsetoken._types import Floats

_MOST_MEANS = 1000  # grid points; a wider range is averaged point by point
_WIDEST = 1.2  # range of log c on one grid
_MOST_GRIDS = 5  # per label; smaller scales are averaged point by point too
_POWERS = (1, 1, 1, 2, 1, 1, 1, 2, 2, 3)  # of 1 + χc², for the ten averages


def interpolate(
    average: Callable[[Floats, Floats, Floats], Any],
    label: Floats,
    mean: Floats,
    scale: Floats,
    chi: float,
    norm: float,
    resolution: float,
) -> Floats:
    """Return the ten averages of each point, shape (10, n_points).

    ``resolution`` is the number of grid points per unit of the mean, or per deviation ``norm``·c of
    the Gaussian if that is wider; the number of scales grows with it.
    """

    def from_grid(y: float, mean: Floats, scale: Floats, logs: Floats) -> Floats:
        """Return the averages of points of one label and similar scales."""
        spread = float(np.ptp(logs))
        width = math.hypot(1.0, norm * float(scale.min()))
        n_means = 2 + math.ceil(np.ptp(mean) * resolution / width)
        n_scales = 1 if spread < 1e-7 else min(10, 3 + round(2 * resolution))
        if n_means > _MOST_MEANS or n_means * n_scales >= mean.size:
            return np.stack(average(np.full(mean.size, y), mean, scale))
        means = np.linspace(mean.min(), mean.max(), n_means)
        middle, half = logs.min() + 0.5 * spread, max(0.5 * spread, 1e-7)
        chebyshev = np.cos(np.pi * (np.arange(n_scales) + 0.5) / n_scales)
        scales = np.exp(middle + half * chebyshev)
        grid_mean, grid_scale = (a.ravel() for a in np.meshgrid(means, scales, indexing="ij"))
        table = np.stack(average(np.full(grid_mean.size, y), grid_mean, grid_scale), axis=1)
        table *= (1.0 + chi * grid_scale**2)[:, np.newaxis] ** _POWERS
        table = table.reshape(n_means, n_scales, 10)
        result = np.empty((10, mean.size))
        step = max(means[1] - means[0], 1e-300)
        shrink = 1.0 / (1.0 + chi * scale**2)
        places = (mean - means[0]) / step, (logs - middle) / half
        _interpolate(*places, shrink, step, chebyshev, _lagrange(chebyshev), table, result)
        return result

    logs = np.log(np.maximum(scale, 1e-300))
    if np.ptp(logs) <= _WIDEST and np.ptp(label) == 0.0:
        return from_grid(label[0], mean, scale, logs)
    result = np.empty((10, mean.size))
    grid = np.minimum((logs.max() - logs) / _WIDEST, _MOST_GRIDS).astype(int)
    for y, index in itertools.product((-1.0, 1.0), range(_MOST_GRIDS + 1)):
        rows = np.flatnonzero((grid == index) & (label == y))
        if rows.size and index < _MOST_GRIDS:
            result[:, rows] = from_grid(y, mean[rows], scale[rows], logs[rows])
        elif rows.size:
            result[:, rows] = average(label[rows], mean[rows], scale[rows])
    return result


def _lagrange(nodes: Floats) -> Floats:
    """Denominators of the Lagrange polynomials."""
    gaps = nodes[:, np.newaxis] - nodes
    np.fill_diagonal(gaps, 1.0)
    return 1.0 / gaps.prod(axis=1)


@njit(error_model="numpy", fastmath={"contract"})
def _interpolate(mean, scale, shrink, step, scales, lagrange, table, result):  # type: ignore[no-untyped-def]
    """Fill ``result``; ``mean`` is in steps of the grid, ``scale`` in [−1, 1] like ``scales``."""
    n_means, n_scales = table.shape[:2]
    basis = np.empty(n_scales)
    left, right = np.empty(10), np.empty(10)
    for i in range(mean.size):
        product = 1.0
        for q in range(n_scales):  # products of the gaps before q, then of those after it
            basis[q] = lagrange[q] * product
            product *= scale[i] - scales[q]
        product = 1.0
        for q in range(n_scales - 1, -1, -1):
            basis[q] *= product
            product *= scale[i] - scales[q]
        cell = min(max(int(mean[i]), 0), n_means - 2)
        t = mean[i] - cell
        for m in range(10):
            left[m] = basis[0] * table[cell, 0, m]
            right[m] = basis[0] * table[cell + 1, 0, m]
        for q in range(1, n_scales):
            for m in range(10):
                left[m] += basis[q] * table[cell, q, m]
                right[m] += basis[q] * table[cell + 1, q, m]
        # Hermite's cubics: (envelope, h), (h, k), (gh, gk), (hh, 2hk); the rest linearly.
        h00, h01 = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
        h10, h11 = step * t * (1 - t) ** 2, step * t * t * (t - 1)
        one = shrink[i]
        two = one * one
        result[0, i] = one * (h00 * left[0] + h01 * right[0] + h10 * left[1] + h11 * right[1])
        result[1, i] = one * (h00 * left[1] + h01 * right[1] + h10 * left[4] + h11 * right[4])
        result[2, i] = one * (h00 * left[2] + h01 * right[2] + h10 * left[5] + h11 * right[5])
        slope = 2 * (h10 * left[7] + h11 * right[7])
        result[3, i] = two * (h00 * left[3] + h01 * right[3] + slope)
        for m in range(4, 7):
            result[m, i] = one * ((1 - t) * left[m] + t * right[m])
        for m in range(7, 9):
            result[m, i] = two * ((1 - t) * left[m] + t * right[m])
        result[9, i] = one * two * ((1 - t) * left[9] + t * right[9])
