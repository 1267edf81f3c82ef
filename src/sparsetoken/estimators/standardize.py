"""Common coordinates for the tokens: centered, scaled, and perhaps whitened.

A token x is seen as Mᵀz with z = (x − mean)·scale, feature by feature. No token is ever changed:
directions are carried to the tokens as they are, and sums over tokens back.
"""

from functools import cached_property

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import (
    largest_magnitudes,
    pooled_features,
    token_covariance,
    token_variances,
)

SQUARED_NORM = 10.0  # of a mean token in coordinates of shrinkage None
_LARGEST = 1e290  # sums of so many tokens still fit into floats
_SMALLEST = 1e-290
_ROUNDING = 1e-13  # a deviation smaller than this fraction of the magnitude is rounding


class Standard:
    """Coordinates of weighted tokens for each shrinkage of their correlations.

    Shrinkage 1 only scales each feature; below 1, the matrix is the inverse root of the correlation
    matrix drawn towards the identity. None scales all features alike, so that the tokens' mean
    squared norm is ten. A feature that never varies, judged by its own magnitude, gets scale zero.
    Squares are taken of features divided by their magnitudes, so that 1e200 does not matter.
    """

    def __init__(self, data: Data, weights: Floats) -> None:
        weights = weights * data.lengths
        self._data, self._weights = data, weights / weights.sum()
        self._token_weights = self._weights / np.sqrt(data.lengths)
        magnitude = data.per_sample(largest_magnitudes).max(axis=0)
        if magnitude.max() > _LARGEST:
            raise ValueError(
                f"X must not exceed {_LARGEST:g} in magnitude, got {magnitude.max():g} in feature "
                f"{int(magnitude.argmax())}; scale it down"
            )
        self._unit = 1.0 / np.where(magnitude > _SMALLEST, magnitude, np.inf)
        self.mean = self._weights @ data.per_sample(pooled_features).astype(np.float64)
        (variance,) = data.total(token_variances, (self._weights,), self.mean, self._unit)
        varies = variance > _ROUNDING**2
        self._deviation = np.where(varies, np.sqrt(variance) * magnitude, 0.0)
        to_one = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        self.scale = to_one * self._unit
        self._matrices: dict[float | None, Floats] = {1.0: np.ones(data.dim)}

    def matrix(self, shrinkage: float | None) -> Floats:
        """Return the matrix of a shrinkage, a vector for a diagonal."""
        if shrinkage not in self._matrices:
            if shrinkage is None:  # back to the features' relative sizes
                relative = self._deviation / max(self._deviation.max(), _SMALLEST)
                norm = max(float(np.linalg.norm(relative)), _SMALLEST)
                self._matrices[None] = np.sqrt(SQUARED_NORM) * relative / norm
            else:
                values, vectors = self._spectrum
                root = 1.0 / np.sqrt((1.0 - shrinkage) * np.maximum(values, 0.0) + shrinkage)
                self._matrices[shrinkage] = (vectors * root) @ vectors.T
        return self._matrices[shrinkage]

    @cached_property
    def noise_shrinkage(self) -> float:
        """What part of all squared correlations so many tokens of independent features show."""
        values, _ = self._spectrum
        dim = np.count_nonzero(self.scale)
        correlated = float(values @ values) - dim
        chance = dim * (dim - 1) * float(self._token_weights @ self._token_weights)
        return min(1.0, chance / correlated) if correlated > 0 else 1.0

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        (correlation,) = self._data.total(token_covariance, (self._weights,), self.mean, self.scale)
        values, vectors = np.linalg.eigh(correlation)
        return values, vectors

    def whitening(self, shrinkage: float | None) -> Floats:
        """Return what carries centered tokens to standard coordinates, a matrix or a scale."""
        return (self.matrix(shrinkage).T * self.scale).T

    def to_data(self, rows: Floats, shrinkage: float | None) -> tuple[Floats, Floats]:
        """Return directions and offsets of standard ones: ⟨x, direction⟩ + offset is ⟨Mᵀz, row⟩."""
        matrix = self.matrix(shrinkage)
        directions = (rows * matrix if matrix.ndim == 1 else rows @ matrix.T) * self.scale
        return directions, -(directions @ self.mean)

    def from_data(self, sums: Floats, totals: Floats, shrinkage: float | None) -> Floats:
        """Return Σ s·Mᵀz for each row of Σ s·x, given Σ s."""
        rows = (sums - totals[:, np.newaxis] * self.mean) * self.scale
        matrix = self.matrix(shrinkage)
        return rows * matrix if matrix.ndim == 1 else rows @ matrix

    def to_standard(self, directions: Floats, shrinkage: float | None) -> Floats:
        """Return the rows that :meth:`to_data` makes such directions of."""
        scale, matrix = self.scale, self.matrix(shrinkage)
        rows = np.divide(directions, scale, out=np.zeros_like(directions), where=scale > 0)
        if matrix.ndim == 1:
            return np.divide(rows, matrix, out=np.zeros_like(rows), where=matrix > 0)
        return np.asarray(np.linalg.solve(matrix, rows.T).T, dtype=np.float64)
