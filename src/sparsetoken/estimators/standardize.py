"""Common coordinates for the tokens: centred, scaled, and perhaps whitened.

Tokens are never transformed. A query or readout in the standard coordinates x̃ = Mᵀ(x − m) is
carried to the coordinates of the data instead, at the cost of one product with M.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken.estimators.data import Data
from sparsetoken.estimators.passes import pooled_features, token_covariance, token_variances

__all__ = ["Standard", "standardize"]

Floats = NDArray[np.float64]


class Standard(NamedTuple):
    """The map x̃ = Mᵀ(x − m); a one-dimensional ``matrix`` is the diagonal of M."""

    mean: Floats
    matrix: Floats

    def to_data(self, vector: Floats) -> Floats:
        """Return the vector v of the data's coordinates with ⟨v, x⟩ = ⟨vector, x̃⟩ + constant."""
        return self.matrix * vector if self.matrix.ndim == 1 else self.matrix @ vector

    def from_data(self, rows: Floats) -> Floats:
        """Return Mᵀ of a vector, or of each row of an array."""
        return rows * self.matrix if self.matrix.ndim == 1 else rows @ self.matrix


def standardize(
    data: Data, share: Floats, shrinkages: tuple[float | None, ...]
) -> dict[float | None, Standard]:
    """Return standard coordinates of the tokens for each shrinkage of their correlations.

    Shrinkage 1 only scales each feature; below 1, M is the inverse root of the correlation matrix
    drawn towards the identity. A feature that never varies gets scale zero: it carries nothing.
    None scales all features alike, so that the tokens' mean squared norm is ten.
    ``share`` weighs the samples, and every token of a sequence has the sequence's weight.
    """
    share = share * data.lengths
    share = share / share.sum()
    mean = share @ data.per_sample(pooled_features)
    if set(shrinkages) <= {1.0, None}:
        (variance,) = data.total(token_variances, (share,), mean)
        total = float(variance.sum())
        common = np.full(data.dim, np.sqrt(_SQUARED_NORM / total) if total > 0 else 0.0)
        scales = {1.0: _inverse_root(variance), None: common}
        return {shrinkage: Standard(mean, scales[shrinkage]) for shrinkage in shrinkages}
    (covariance,) = data.total(token_covariance, (share,), mean)
    scale = _inverse_root(np.diag(covariance))
    values, vectors = np.linalg.eigh(scale[:, np.newaxis] * covariance * scale)
    found: dict[float | None, Standard] = {}
    for shrinkage in shrinkages:
        matrix = scale
        if shrinkage is not None and shrinkage < 1.0:
            root = 1.0 / np.sqrt((1.0 - shrinkage) * np.maximum(values, 0.0) + shrinkage)
            matrix = scale[:, np.newaxis] * ((vectors * root) @ vectors.T)
        found[shrinkage] = Standard(mean, matrix)
    return found


_SQUARED_NORM = 10.0


def _inverse_root(variance: Floats) -> Floats:
    varies = variance > 1e-12 * variance.max()
    return np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
