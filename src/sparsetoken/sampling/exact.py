"""What a trained readout does on fresh samples, from the law of their features: no test set."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Floats
from sparsetoken._validation import check_count, check_random_state, check_real, check_unit_vector
from sparsetoken.law import FeatureLaw, Part, Readout, linear_law
from sparsetoken.losses import Loss, get_loss
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling, get_pooling
from sparsetoken.problem import Problem, RandomState
from sparsetoken.sampling.features import draw_token_sums, query_geometry

_BATCHES = 8


def sample_feature_law(
    problem: Problem,
    n_points: int,
    *,
    cosine: float,
    sharpness: float,
    pooling: str | Pooling = "softmax",
    random_state: RandomState = None,
) -> FeatureLaw:
    """Draw the law of the features by Monte Carlo: random points, not those of the theory.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model.
    n_points : int
        Number of points per class of each kind, rounded up to a multiple of eight.
    cosine, sharpness : float
        Cosine between query and signal, and β‖q‖.
    pooling : str or Pooling, default="softmax"
        How scores become token weights.
    random_state : int, Generator or None, default=None
        Source of randomness.
    """
    n_points = -(-check_count("n_points", n_points) // _BATCHES) * _BATCHES
    cosine = check_real("cosine", cosine, low=-1.0, high=1.0)
    sharpness = check_real("sharpness", sharpness, low=0.0)
    pooling, rng = get_pooling(pooling), check_random_state(random_state)
    sine = math.sqrt(1.0 - cosine**2)
    parts = []
    for kind, positive, label, probability in problem.groups:
        mask = np.full(n_points, positive)
        sums = draw_token_sums(kind, mask, cosine, sharpness, pooling, rng)
        along_query = kind.signal * cosine * sums.signal + sums.noise
        along_rest = kind.signal * sine * sums.signal
        parts.append(Part(label, positive, probability, along_query, along_rest, sums.scale))
    return FeatureLaw.mixture(parts, _BATCHES)


def exact_performance(
    law: FeatureLaw,
    readout: ArrayLike,
    bias: float,
    query: ArrayLike,
    direction: ArrayLike,
    *,
    loss: str | Loss = "logistic",
) -> Performance:
    """Return what the readout sign(⟨w, f⟩ + b) achieves on fresh samples.

    It is exact but for the finite number of points of the law; the error bars allow for that.

    Parameters
    ----------
    law : FeatureLaw
        Law of the features for the given query, from :func:`sample_feature_law`.
    readout, bias : array-like of shape (dim,), float
        The trained (w, b).
    query, direction : array-like of shape (dim,)
        The frozen query and the signal's unit vector.
    loss : str or Loss, default="logistic"
        The loss that ``test_loss`` averages.

    Returns
    -------
    Performance
        With ``test_error``, ``auc``, ``test_loss``, ``recall(fpr)`` and so on.

    Examples
    --------
    >>> import numpy as np, sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> xi = np.eye(50)[0]
    >>> law = st.sampling.sample_feature_law(
    ...     problem, 100_000, cosine=1.0, sharpness=1.5, random_state=0
    ... )
    >>> st.sampling.exact_performance(law, xi, bias=-3.0, query=xi, direction=xi)
    Performance(test_error=0.024565 ± 0.0003)
    """
    bias = check_real("bias", bias)
    direction = check_unit_vector("direction", direction, np.size(readout))
    return Performance(law, readout_coordinates(readout, bias, query, direction), get_loss(loss))


def pooled_performance(
    problem: Problem,
    readout: ArrayLike,
    bias: float,
    direction: ArrayLike,
    *,
    loss: str | Loss = "logistic",
) -> Performance:
    """Return what a readout of the mean token achieves on fresh samples, exactly.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model.
    readout, bias : array-like of shape (dim,), float
        The trained (w, b).
    direction : array-like of shape (dim,)
        The signal's unit vector.
    loss : str or Loss, default="logistic"
        The loss that ``test_loss`` averages.

    Examples
    --------
    >>> import numpy as np, sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> xi = np.eye(50)[0]
    >>> st.sampling.pooled_performance(problem, xi, bias=-0.25, direction=xi)
    Performance(test_error=0.214598 ± 1e-08)
    """
    bias = check_real("bias", bias)
    readout = np.asarray(readout, dtype=float)
    direction = check_unit_vector("direction", direction, readout.size)
    along = float(readout @ direction)
    spread = float(np.linalg.norm(readout - along * direction))
    return Performance(linear_law(problem, 1), Readout(0.0, along, bias, spread), get_loss(loss))


def readout_coordinates(
    readout: ArrayLike, bias: float, query: ArrayLike, direction: Floats
) -> Readout:
    """Split a readout into its parts along query and signal, and the norm of the rest."""
    readout = np.asarray(readout, dtype=float)
    unit, cosine, _ = query_geometry(query, direction, beta=1.0)
    along_query = float(readout @ unit)
    rest = readout - along_query * unit
    sine = math.sqrt(max(0.0, 1.0 - cosine**2))
    along_rest = float(rest @ direction) / sine if sine > 1e-8 else 0.0
    spread = math.sqrt(max(float(rest @ rest) - along_rest**2, 0.0))
    return Readout(along_query, along_rest, bias, spread)
