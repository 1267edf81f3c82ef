"""What a trained readout does on fresh samples, from the law of their features: no test set."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._validation import check_count, check_random_state, check_real
from sparsetoken.law import FeatureLaw, Part, Readout
from sparsetoken.losses import Loss, get_loss
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling, get_pooling
from sparsetoken.problem import Problem, RandomState, check_directions
from sparsetoken.sampling.features import draw_token_sums, query_geometry

_BATCHES = 8


def sample_feature_law(
    problem: Problem,
    n_points: int,
    *,
    cosine: float | ArrayLike,
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
    cosine : float or sequence of float
        Cosine between query and signal, or one for each kind of signal.
    sharpness : float
        β‖q‖.
    pooling : str or Pooling, default="softmax"
        How scores become token weights.
    random_state : int, Generator or None, default=None
        Source of randomness.
    """
    n_points = -(-check_count("n_points", n_points) // _BATCHES) * _BATCHES
    cosines = [check_real("cosine", c, low=-1.0, high=1.0) for c in np.ravel(cosine).tolist()]
    if len(cosines) != problem.n_kinds:
        raise ValueError(f"cosine must be {problem.n_kinds}, one for each kind, got {cosine!r}")
    sharpness = check_real("sharpness", sharpness, low=0.0)
    pooling, rng = get_pooling(pooling), check_random_state(random_state)
    parts = []
    for kind, positive, label, probability in problem.groups:
        mask = np.full(n_points, positive)
        for direction, cosine in enumerate(cosines if positive else [0.0]):
            sums = draw_token_sums(kind, mask, cosine, sharpness, pooling, rng)
            along_query = kind.signal * cosine * sums.signal + sums.noise
            along_rest = kind.signal * math.sqrt(1.0 - cosine**2) * sums.signal
            chance = probability / (len(cosines) if positive else 1)
            triple = along_query, along_rest, sums.scale
            parts.append(Part(label, positive, chance, *triple, direction))
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
    query : array-like of shape (dim,)
        The frozen query.
    direction : array-like of shape (dim,) or (n_kinds, dim)
        The signal's unit vector, or those of its kinds.
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
    readout = np.asarray(readout, dtype=float)
    directions = check_directions(direction, len(np.atleast_2d(direction)), readout.size)
    unit, cosines, _ = query_geometry(query, directions, beta=1.0)
    along_query = float(readout @ unit)
    rest = readout - along_query * unit
    sines = np.sqrt(np.maximum(1.0 - cosines**2, 0.0))
    along_rest = np.where(sines > 1e-8, directions @ rest / np.maximum(sines, 1e-8), 0.0)
    points = law.points
    score = along_query * points.along_query + along_rest[law.direction] * points.along_rest
    points = points._replace(along_query=score, along_rest=np.zeros_like(score))
    coordinates = Readout(1.0, 0.0, bias, float(np.linalg.norm(rest)))
    return Performance(replace(law, points=points), coordinates, get_loss(loss))


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
    direction : array-like of shape (dim,) or (n_kinds, dim)
        The signal's unit vector, or those of its kinds.
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
    directions, parts = check_directions(direction, problem.n_kinds, readout.size), []
    for kind, positive, label, probability in problem.groups:
        mean = kind.signal * kind.sparsity * (directions @ readout) if positive else np.zeros(1)
        scale = np.full(mean.size, 1.0 / math.sqrt(kind.n_tokens))
        parts.append(Part(label, positive, probability, mean, np.zeros_like(mean), scale))
    coordinates = Readout(1.0, 0.0, bias, float(np.linalg.norm(readout)))
    return Performance(FeatureLaw.mixture(parts), coordinates, get_loss(loss))
