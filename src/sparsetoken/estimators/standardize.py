"""Common coordinates for the tokens: centred, scaled, and perhaps whitened.

A token x is seen as z = (x − mean)·scale, feature by feature; a query or readout in standard
coordinates is carried to those of z by a matrix, so that no token is ever multiplied by one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import (
    largest_magnitudes,
    pooled_features,
    token_covariance,
    token_variances,
)

__all__ = ["Standard", "standardize"]

Floats = NDArray[np.float64]


class Standard(NamedTuple):
    """The scaled tokens z = (x − mean)·scale, and coordinates Mᵀz for each shrinkage."""

    mean: Any
    scale: Any
    """Both None if the tokens are scaled already."""
    matrices: dict[float | None, Floats | None]
    """M of each shrinkage of the correlations, None for the identity."""

    def of_scaled(self) -> "Standard":
        """Return the same coordinates for tokens that are scaled already."""
        return self._replace(mean=None, scale=None)

    def centred(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return scaled rows, such as mean tokens, in their own type."""
        if self.scale is None:
            return rows
        rows = rows - self.mean.astype(rows.dtype)
        rows *= self.scale.astype(rows.dtype)
        return rows

    def to_scaled(self, vectors: Floats, shrinkage: float | None) -> Floats:
        """Return M of a vector, or of each row: its product with z is the vector's with Mᵀz."""
        matrix = self.matrices[shrinkage]
        if matrix is None:
            return vectors
        return vectors * matrix if matrix.ndim == 1 else vectors @ matrix.T

    def from_scaled(self, rows: Floats, shrinkage: float | None) -> Floats:
        """Return Mᵀ of a vector, or of each row."""
        matrix = self.matrices[shrinkage]
        if matrix is None:
            return rows
        return rows * matrix if matrix.ndim == 1 else rows @ matrix

    def to_standard(self, rows: Floats, shrinkage: float | None) -> Floats:
        """Return the inverse of :meth:`to_scaled` for each row."""
        matrix = self.matrices[shrinkage]
        if matrix is None:
            return rows
        if matrix.ndim == 1:
            return np.divide(rows, matrix, out=np.zeros_like(rows), where=matrix > 0)
        return np.asarray(np.linalg.solve(matrix, rows.T).T, dtype=np.float64)


def standardize(data: Data, share: Floats, shrinkages: tuple[float | None, ...]) -> Standard:
    """Return standard coordinates of the tokens for each shrinkage of their correlations.

    Shrinkage 1 only scales each feature; below 1, M is the inverse root of the correlation matrix
    drawn towards the identity. None scales all features alike, so that the tokens' mean squared
    norm is ten. A feature that never varies gets scale zero: it carries nothing. Whether it varies
    is judged by its own magnitude, and squares are taken of features divided by theirs, so that
    neither a large scale beside small ones nor 1e200 matters.
    ``share`` weighs the samples, and every token of a sequence has the sequence's weight.
    """
    share = share * data.lengths
    share = share / share.sum()
    magnitude = data.per_sample(largest_magnitudes).max(axis=0)
    if magnitude.max() > _LARGEST:
        raise ValueError(
            f"X must not exceed {_LARGEST:g} in magnitude, got {magnitude.max():g} in feature "
            f"{int(magnitude.argmax())}; scale it down"
        )
    unit = 1.0 / np.where(magnitude > _SMALLEST, magnitude, np.inf)
    mean = share @ data.per_sample(pooled_features)
    if set(shrinkages) <= {1.0, None}:
        (variance,) = data.total(token_variances, (share,), mean, unit)
    else:
        (covariance,) = data.total(token_covariance, (share,), mean, unit)
        variance = np.diag(covariance)
    varies = variance > _ROUNDING**2
    to_unit_variance = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
    matrices: dict[float | None, Floats | None] = {}
    for shrinkage in shrinkages:
        if shrinkage == 1.0:
            matrices[shrinkage] = None
        elif shrinkage is None:  # back to the features' own relative sizes
            deviation = np.where(varies, np.sqrt(variance) * magnitude, 0.0)
            norm = float(np.linalg.norm(deviation / max(deviation.max(), _SMALLEST)))
            relative = deviation / max(deviation.max(), _SMALLEST)
            matrices[shrinkage] = np.sqrt(_SQUARED_NORM) * relative / max(norm, _SMALLEST)
    correlated = [s for s in shrinkages if s is not None and s < 1.0]
    if correlated:
        correlation = to_unit_variance[:, np.newaxis] * covariance * to_unit_variance
        values, vectors = np.linalg.eigh(correlation)
        for s in correlated:
            root = 1.0 / np.sqrt((1.0 - s) * np.maximum(values, 0.0) + s)
            matrices[s] = (vectors * root) @ vectors.T
    return Standard(mean, to_unit_variance * unit, matrices)


_SQUARED_NORM = 10.0
_LARGEST = 1e290  # sums of so many tokens still fit into floats
_SMALLEST = 1e-290
_ROUNDING = 1e-13  # a deviation smaller than this part of the magnitude is rounding
