"""Query and readout learned together, from a balanced two-step start.

In standard coordinates the readout is w = c·q + r: what the query looks for is also what the
readout counts, up to a correction r. The objective is

    Σ sᵢ ℓ(⟨w, Xᵢᵀ softmax(Xᵢq)⟩ + b; yᵢ) + (λ/2)(‖q‖² + ‖r‖²)

with c and b free: with separate penalties on q and w the signal's direction would have to be
learned, and paid for, twice. L-BFGS minimises it; each evaluation is one pass over the tokens.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sparsetoken.estimators.data import Data
from sparsetoken.estimators.passes import (
    attention_features,
    joint_gradient,
    pooled_features,
    query_gradient,
)
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.estimators.standardize import Standard
from sparsetoken.losses import Logistic

__all__ = ["Model", "fit_attention", "fit_pooled", "two_step_query"]

Floats = NDArray[np.float64]


class Model(NamedTuple):
    """A classifier in the coordinates of the data."""

    query: Floats
    coef: Floats
    intercept: float
    standard_query: Floats
    """The query in standard coordinates."""

    def decide(self, data: Data) -> Floats:
        """Return the score of each sequence."""
        return data.per_sample(attention_features, self.query) @ self.coef + self.intercept


def fit_pooled(data: Data, sign: Floats, share: Floats, reg: float, standard: Standard) -> Model:
    """Return the readout of the mean token: attention with query zero."""
    features = standard.from_data(data.per_sample(pooled_features) - standard.mean)
    coef, intercept = fit_readout(features, sign, reg, Logistic(), share)
    coef = standard.to_data(coef)
    zero = np.zeros_like(coef)
    return Model(zero, coef, intercept - float(coef @ standard.mean), zero)


def fit_attention(
    data: Data, sign: Floats, share: Floats, reg: float, standard: Standard, steps: int
) -> Model:
    """Return query and readout after at most ``steps`` steps of L-BFGS."""
    query = two_step_query(data, sign, share, standard)
    size = query.size

    def objective(point: Floats) -> tuple[float, Floats]:
        query, rest, (ratio, bias) = point[:size], point[size:-2], point[-2:]
        readout = standard.to_data(ratio * query + rest)
        found = data.total(
            joint_gradient,
            (sign, share),
            standard.to_data(query),
            readout,
            bias - float(readout @ standard.mean),
        )
        value, by_query, by_readout, by_bias = found
        by_query = standard.from_data(by_query)
        by_readout = standard.from_data(by_readout - by_bias * standard.mean)
        value += 0.5 * reg * float(query @ query + rest @ rest)
        gradient = [
            by_query + ratio * by_readout + reg * query,
            by_readout + reg * rest,
            [float(query @ by_readout), by_bias],
        ]
        return value, np.concatenate(gradient)

    start = np.concatenate([query, np.zeros(size), [1.0, 0.0]])
    point = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    query, (ratio, bias) = point[:size], point[-2:]
    coef = standard.to_data(ratio * query + point[size:-2])
    return Model(standard.to_data(query), coef, float(bias - coef @ standard.mean), query)


def two_step_query(data: Data, sign: Floats, share: Floats, standard: Standard) -> Floats:
    """Return the direction of the two-step query, of norm one in standard coordinates.

    With both classes given the same weight, and the second step taken at small learning rates,
    the mean slope is zero: by docs/theory, section 3, the query cannot then be anti-aligned.
    """
    balanced = np.where(sign > 0, share / share[sign > 0].sum(), share / share[sign < 0].sum())
    slope = -0.5 * sign * balanced
    pooled = data.per_sample(pooled_features) - standard.mean
    readout = -standard.from_data(slope @ pooled)
    (gradient,) = data.total(query_gradient, (slope,), standard.to_data(readout))
    query = -standard.from_data(gradient)
    norm = float(np.linalg.norm(query))
    return query / norm if norm > 0 else query
