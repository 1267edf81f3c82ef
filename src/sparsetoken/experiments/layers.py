"""Self-attention layers on dense tokens, with their matrices: nothing is reduced to a pooling."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken.pooling import Softmax, Stacked

__all__ = ["layered_features"]

_BLOCK = 1 << 22  # numbers of tokens in flight at once


def layered_features(X: Any, query: NDArray[np.float64], layers: Stacked) -> NDArray[np.float64]:
    """Return what attention by ``query`` makes of the tokens after the layers.

    Each layer has one matrix M = inner·q qᵀ for keys and queries, d by d. It replaces the tokens X
    of a sequence by (X + residual·softmax(X M Xᵀ) X)/(1 + residual).
    """
    matrix = layers.inner * np.outer(query, query)
    rows = max(1, _BLOCK // (X.shape[1] * X.shape[2]))
    return np.concatenate(
        [
            _attend(X[start : start + rows], matrix, query, layers)
            for start in range(0, len(X), rows)
        ]
    )


def _attend(X: Any, matrix: Any, query: Any, layers: Stacked) -> NDArray[np.float64]:
    for _ in range(layers.depth):
        attention = Softmax().weights(X @ matrix @ X.transpose(0, 2, 1))
        X = (X + layers.residual * (attention @ X)) / (1.0 + layers.residual)
    found: NDArray[np.float64] = np.einsum("nl,nld->nd", Softmax().weights(X @ query), X)
    return found
