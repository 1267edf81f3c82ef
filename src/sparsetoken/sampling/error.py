"""Test error of a trained readout given the law of the features: no test set, no noise."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from sparsetoken._validation import check_count, check_real, check_unit_vector
from sparsetoken.pooling import Pooling, get_pooling
from sparsetoken.problem import RandomState, SparseTokenProblem
from sparsetoken.sampling.features import draw_token_sums, query_geometry

__all__ = ["FeatureLaw", "Triples", "exact_test_error", "sample_feature_law"]


class Triples(NamedTuple):
    """Weighted points of the law of a class's features (docs/theory, section 2)."""

    along_query: NDArray[np.float64]
    """a₁: the feature along the query's direction û."""
    along_rest: NDArray[np.float64]
    """μ₂: its mean along e₂, the part of the signal's direction orthogonal to û."""
    scale: NDArray[np.float64]
    """c: its standard deviation along every direction orthogonal to û."""
    weight: NDArray[np.float64]
    """Probability of each point."""


class FeatureLaw(NamedTuple):
    """Law of the features of a positive and of a negative sample."""

    positive: Triples
    negative: Triples


def sample_feature_law(
    problem: SparseTokenProblem,
    n_points: int,
    *,
    cosine: float,
    sharpness: float,
    pooling: str | Pooling = "softmax",
    random_state: RandomState = None,
) -> FeatureLaw:
    """Draw the law of the features by Monte Carlo, ``n_points`` per class.

    Parameters
    ----------
    problem : SparseTokenProblem
        The model.
    n_points : int
        Number of points per class.
    cosine, sharpness : float
        How the query lies to the signal, and β‖q‖.
    pooling : str or Pooling, default="softmax"
        How scores become token weights.
    random_state : int, Generator or None, default=None
        Source of randomness.
    """
    n_points = check_count("n_points", n_points)
    cosine = check_real("cosine", cosine, low=-1.0, high=1.0)
    sharpness = check_real("sharpness", sharpness, low=0.0)
    pooling, rng = get_pooling(pooling), np.random.default_rng(random_state)
    weight = np.full(n_points, 1.0 / n_points)
    laws = []
    for positive in (True, False):
        mask = np.full(n_points, positive)
        sums = draw_token_sums(problem, mask, cosine, sharpness, pooling, rng)
        along_query = problem.signal * cosine * sums.signal + sums.noise
        along_rest = problem.signal * math.sqrt(1.0 - cosine**2) * sums.signal
        laws.append(Triples(along_query, along_rest, sums.scale, weight))
    return FeatureLaw(*laws)


def exact_test_error(
    law: FeatureLaw,
    positive_rate: float,
    readout: ArrayLike,
    bias: float,
    query: ArrayLike,
    direction: ArrayLike,
) -> float:
    """Return P(sign(⟨w, f⟩ + b) ≠ y) of a readout on fresh samples.

    Parameters
    ----------
    law : FeatureLaw
        Law of the features for the given query, from :func:`sample_feature_law` or from the theory:
        anything with ``positive`` and ``negative`` and the fields of :class:`Triples` in each.
    positive_rate : float
        Probability of a positive sample.
    readout, bias : array-like of shape (dim,), float
        The trained (w, b).
    query, direction : array-like of shape (dim,)
        The frozen query and the signal's unit vector.

    Examples
    --------
    >>> import numpy as np, sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> xi = np.eye(50)[0]
    >>> law = st.sampling.sample_feature_law(
    ...     problem, 100_000, cosine=1.0, sharpness=1.5, random_state=0
    ... )
    >>> round(st.sampling.exact_test_error(law, 0.5, xi, bias=-3.0, query=xi, direction=xi), 3)
    0.025
    """
    positive_rate = check_real("positive_rate", positive_rate, low=0.0, high=1.0)
    bias = check_real("bias", bias)
    readout = np.asarray(readout, dtype=float)
    direction = check_unit_vector("direction", direction, readout.size)
    unit, cosine, _ = query_geometry(query, direction, beta=1.0)
    w_query = float(readout @ unit)
    rest = readout - w_query * unit
    rest_norm = float(np.linalg.norm(rest))
    sine = math.sqrt(max(0.0, 1.0 - cosine**2))
    w_rest = float(rest @ direction) / sine if sine > 1e-8 else 0.0

    error = 0.0
    for triples, sign, rate in (
        (law.positive, 1.0, positive_rate),
        (law.negative, -1.0, 1.0 - positive_rate),
    ):
        mean = triples.along_query * w_query + triples.along_rest * w_rest + bias
        deviation = triples.scale * rest_norm
        # Without noise the outcome is certain, and a coin's toss on the boundary itself.
        with np.errstate(divide="ignore", invalid="ignore"):
            standardised = np.where(mean == 0.0, 0.0, mean / deviation)
        error += rate * float(triples.weight @ ndtr(-sign * standardised))
    return error
