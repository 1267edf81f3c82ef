"""Attention after self-attention layers that look along the given query.

They are simulated on dense tokens, with their matrices: nothing is reduced to a pooling.
"""

from typing import Any

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.attention import AttentionModel, make_query
from sparsetoken.experiments.models.base import Rng, count_samples, measured
from sparsetoken.experiments.models.readout import TRAINED
from sparsetoken.losses import get_loss
from sparsetoken.pooling import Pooling, Softmax, Stacked

_BLOCK = 1 << 22  # numbers of tokens in flight at once
_COUNTED = 4_000  # fresh samples on which errors are counted


class LayeredModel(AttentionModel):
    """Attention with a given query after ``depth`` self-attention layers."""

    predicted = TRAINED | measured("capacity")
    simulated = frozenset({"test_error", "test_loss", "train_error", "train_loss"})
    query_parameters = AttentionModel.query_parameters | {"depth"}

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = Stacked(depth)

    @property
    def architecture(self) -> str | Pooling:
        """What the theory calls it: layers along one query act as a pooling."""
        return self.layers

    def trial(self, cell: Cell, rng: Rng) -> dict[str, float]:
        """Train a readout of the layers, and count its errors."""
        values, loss, dim = cell.values, get_loss(cell.values["loss"]), cell.values["dim"]
        n_samples = count_samples(cell.alpha1, dim)
        X, y, truth = cell.problem.sample(n_samples, dim, random_state=rng, return_truth=True)
        query = make_query(cell, truth.direction, rng).query
        features, sign = layered_features(X, query, self.layers), np.asarray(2.0 * y - 1.0)
        readout = fit_readout(features, sign, values["reg"], loss)
        X, y = cell.test_problem.sample(_COUNTED, dim, random_state=rng, direction=truth.direction)
        fresh = layered_features(X, query, self.layers)
        result = {}
        for half, rows, signs in (("train", features, sign), ("test", fresh, 2.0 * y - 1.0)):
            margins = signs * (rows @ readout.coef + readout.intercept)
            result[f"{half}_loss"] = float(np.mean(loss.value(margins, 1.0)))
            result[f"{half}_error"] = float(np.mean(margins < 0.0))
        return result


def layered_features(X: Any, query: Floats, layers: Stacked) -> Floats:
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


def _attend(X: Any, matrix: Any, query: Any, layers: Stacked) -> Floats:
    for _ in range(layers.depth):
        attention = Softmax().weights(X @ matrix @ X.transpose(0, 2, 1))
        X = (X + layers.residual * (attention @ X)) / (1.0 + layers.residual)
    pooled: Floats = np.einsum("nl,nld->nd", Softmax().weights(X @ query), X)
    return pooled
