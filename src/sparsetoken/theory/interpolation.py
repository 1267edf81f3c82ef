"""Averages over G of very many points, from those on a grid.

Given the readout, the averages of a point depend on two numbers only, its mean score and its scale,
and smoothly so. They are computed on a grid, evenly spaced in the mean and at Chebyshev points in
the logarithm of the scale, and interpolated: by cubic Hermite polynomials in the mean, whose
derivatives are averages themselves (∂E[M] = E[h], ∂E[h] = E[k], ...), and by Lagrange polynomials
in the scale.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["interpolate"]

Array = NDArray[np.float64]

_MOST_MEANS = 1000  # grid points; a wider range is averaged point by point
_SMALL = 0.03  # scales below this share of the largest are averaged point by point too


def interpolate(
    average: Callable[[Array, Array, Array], Any],
    label: Array,
    mean: Array,
    scale: Array,
    width: float,
    resolution: float,
) -> Array:
    """Return the ten averages of each point, shape (10, n_points).

    ``resolution`` is the number of grid points per unit of the mean, or per ``width`` of the
    Gaussian if that is wider; the number of scales grows with it.
    """
    small = scale < _SMALL * scale.max()
    if not small.any() and np.all(label == label[0]):
        return _from_grid(average, label[0], mean, scale, width, resolution)
    result = np.empty((10, mean.size))
    for y in (-1.0, 1.0):
        chosen = (label == y) & ~small
        if chosen.any():
            part = _from_grid(average, y, mean[chosen], scale[chosen], width, resolution)
            result[:, chosen] = part
    if small.any():
        result[:, small] = average(label[small], mean[small], scale[small])
    return result


def _from_grid(
    average: Callable[[Array, Array, Array], Any],
    label: float,
    mean: Array,
    scale: Array,
    width: float,
    resolution: float,
) -> Array:
    """Return the averages of points of one label and similar scales."""
    logs = np.log(scale)
    spread = np.ptp(logs)
    n_means = 2 + math.ceil(np.ptp(mean) * resolution / math.hypot(1.0, width))
    n_scales = 1 if spread == 0 else min(10, 3 + round(2 * resolution))
    if n_means > _MOST_MEANS or n_means * n_scales >= mean.size:
        return np.stack(average(np.full(mean.size, label), mean, scale))
    means = np.linspace(mean.min(), mean.max(), n_means)
    chebyshev = np.cos(np.pi * (np.arange(n_scales) + 0.5) / n_scales)
    scales = logs.min() + 0.5 * spread * (1.0 + chebyshev)
    grid_mean, grid_scale = (a.ravel() for a in np.meshgrid(means, np.exp(scales), indexing="ij"))
    table = np.stack(average(np.full(grid_mean.size, label), grid_mean, grid_scale), axis=1)
    table = table.reshape(n_means, n_scales, 10)
    result = np.empty((10, mean.size))
    step = max(means[1] - means[0], 1e-300)
    _interpolate(mean, logs, means[0], step, scales, _lagrange(scales), table, result)
    return result


def _lagrange(nodes: Array) -> Array:
    """Denominators of the Lagrange polynomials."""
    gaps = nodes[:, np.newaxis] - nodes
    np.fill_diagonal(gaps, 1.0)
    return 1.0 / gaps.prod(axis=1)


@njit(cache=True, error_model="numpy")
def _interpolate(mean, scale, start, step, scales, lagrange, table, result):  # type: ignore[no-untyped-def]
    n_means, n_scales, n_columns = table.shape
    basis = np.empty(n_scales)
    left, right = np.empty(n_columns), np.empty(n_columns)
    for i in range(mean.size):
        product = 1.0
        for q in range(n_scales):  # products of the gaps before q, then of those after it
            basis[q] = lagrange[q] * product
            product *= scale[i] - scales[q]
        product = 1.0
        for q in range(n_scales - 1, -1, -1):
            basis[q] *= product
            product *= scale[i] - scales[q]
        place = (mean[i] - start) / step
        cell = min(max(int(place), 0), n_means - 2)
        t = place - cell
        for m in range(n_columns):
            left[m] = 0.0
            right[m] = 0.0
        for q in range(n_scales):
            for m in range(n_columns):
                left[m] += basis[q] * table[cell, q, m]
                right[m] += basis[q] * table[cell + 1, q, m]
        # Hermite's cubics: (envelope, h), (h, k), (gh, gk), (hh, 2hk); the rest linearly.
        h00, h01 = (1 + 2 * t) * (1 - t) ** 2, t * t * (3 - 2 * t)
        h10, h11 = step * t * (1 - t) ** 2, step * t * t * (t - 1)
        result[0, i] = h00 * left[0] + h01 * right[0] + h10 * left[1] + h11 * right[1]
        result[1, i] = h00 * left[1] + h01 * right[1] + h10 * left[4] + h11 * right[4]
        result[2, i] = h00 * left[2] + h01 * right[2] + h10 * left[5] + h11 * right[5]
        result[3, i] = h00 * left[3] + h01 * right[3] + 2 * (h10 * left[7] + h11 * right[7])
        for m in range(4, n_columns):
            result[m, i] = (1 - t) * left[m] + t * right[m]
