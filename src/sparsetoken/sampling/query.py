"""Two gradient steps from zero, sampled in O(n + d) (docs/theory, sections 3 and 7)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sparsetoken._types import Floats
from sparsetoken._validation import LARGEST_RATE, check_flag, check_real
from sparsetoken.estimate import Record
from sparsetoken.losses import Loss, get_loss
from sparsetoken.problem import Problem, RandomState, prepare_sample


class LearnedQuery(Record):
    """What two gradient steps have learned, and the angle between it and the signal.

    Parameters
    ----------
    query, readout : ndarray of shape (dim,)
        The query q after the second step and the readout w after the first.
    bias : float
        The bias after the first step.
    directions : ndarray of shape (n_kinds, dim)
        The unit vectors of the kinds of signal; ``direction`` is their mean, of unit length.
    beta : float
        Inverse temperature of the attention.
    """

    columns = (
        *("cosine", "sharpness", "query_norm", "query_overlap", "readout_norm", "readout_overlap"),
        "bias",
    )

    query: Floats
    readout: Floats
    bias: float
    directions: Floats
    beta: float

    @property
    def direction(self) -> Floats:
        """The signal's unit vector ξ; of several kinds, that of their mean."""
        return np.asarray(self.directions.sum(axis=0) / math.sqrt(len(self.directions)))

    @property
    def query_norm(self) -> float:
        """Norm of the query, ‖q‖."""
        return float(np.linalg.norm(self.query))

    @property
    def query_overlap(self) -> float:
        """Overlap ⟨q, ξ⟩."""
        return float(self.query @ self.direction)

    @property
    def cosine(self) -> float:
        """Cosine between the query and the signal's direction; 0 for a zero query."""
        return self.query_overlap / (self.query_norm or 1.0)

    @property
    def sharpness(self) -> float:
        """Sharpness κ = β‖q‖ of the attention."""
        return self.beta * self.query_norm

    @property
    def readout_norm(self) -> float:
        """Norm of the readout after one step, ‖w₁‖."""
        return float(np.linalg.norm(self.readout))

    @property
    def readout_overlap(self) -> float:
        """Overlap ⟨w₁, ξ⟩."""
        return float(self.readout @ self.direction)

    def __repr__(self) -> str:
        return (
            f"LearnedQuery(cosine={self.cosine:.4f}, query_norm={self.query_norm:.4f}, "
            f"sharpness={self.sharpness:.4f}, dim={self.query.size})"
        )


def sample_query(
    problem: Problem,
    n_samples: int,
    dim: int,
    *,
    loss: str | Loss,
    beta: float = 1.0,
    lr_readout: float = 1.0,
    lr_bias: float = 1.0,
    lr_query: float = 20.0,
    center: bool = False,
    direction: ArrayLike | None = None,
    random_state: RandomState = None,
) -> LearnedQuery:
    """Draw the query that two gradient steps learn from fresh samples, without drawing the samples.

    The result has exactly the law that dense samples give at these sizes. All parameters start at
    zero; the first step on the mean loss moves readout and bias, the second moves the query.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model the samples come from.
    n_samples, dim : int
        Number of samples and features per token.
    loss : str or Loss
        The loss.
    beta : float, default=1.0
        Inverse temperature of the attention.
    lr_readout, lr_bias, lr_query : float
        Learning rates.
    center : bool, default=False
        Whether the second step subtracts the mean slope of the batch from each sample's.
    direction : array-like of shape (dim,) or (n_kinds, dim), optional
        The signal's unit vector, or those of its kinds; drawn unless given.
    random_state : int, Generator or None, default=None
        Source of randomness.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> st.sampling.sample_query(
    ...     problem, n_samples=2000, dim=1000, loss="logistic", random_state=0
    ... )
    LearnedQuery(cosine=0.9592, query_norm=1.5940, sharpness=1.5940, dim=1000)
    """
    rates = {"beta": beta, "lr_readout": lr_readout, "lr_bias": lr_bias, "lr_query": lr_query}
    for name, rate in rates.items():
        check_real(name, rate, low=0.0, high=LARGEST_RATE)
    loss = get_loss(loss)
    rng, directions = prepare_sample(problem, n_samples, dim, random_state, direction)
    samples = _Samples(problem, n_samples, directions, rng)
    residual = np.asarray(loss.derivative(np.zeros(n_samples), samples.sign))
    readout, pooled_score = _readout_step(samples, residual, lr_readout, rng)
    bias = -lr_bias * float(residual.mean())
    slope = np.asarray(loss.derivative(pooled_score + bias, samples.sign))
    if check_flag("center", center):
        slope = slope - slope.mean()
    query = _query_step(samples, slope / samples.length, readout, rng)
    query *= -lr_query * beta / n_samples
    return LearnedQuery(query, readout, bias, directions, beta)


class _Samples:
    """What the steps need of each sample, and the directions of the kinds of signal."""

    def __init__(
        self, problem: Problem, n_samples: int, directions: Floats, rng: np.random.Generator
    ) -> None:
        drawn = problem.draw(n_samples, rng)
        self.length, self.n_signal, signal = (
            np.array([getattr(kind, name) for kind in problem.kinds], dtype=float)[drawn.kind]
            for name in ("n_tokens", "n_signal", "signal")
        )
        self.signal = np.where(drawn.positive, signal, 0.0)  # its strength
        self.sign = np.where(drawn.label == 1, 1.0, -1.0)  # as recorded
        self.directions, self.direction = directions, np.maximum(drawn.direction, 0)

    def along(self, vector: Floats) -> Floats:
        """Return the overlap of a vector with each sample's direction."""
        return (self.directions @ vector)[self.direction]

    def sum_directions(self, weights: Floats) -> Floats:
        """Add up the directions of the samples, weighted."""
        totals = np.bincount(self.direction, weights, minlength=len(self.directions))
        return np.asarray(totals @ self.directions)


def _readout_step(
    samples: _Samples, residual: Floats, lr_readout: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw w₁ and, given it, the scores ⟨w₁, X̄ᵢ⟩ of the samples it was learned from.

    The noise of the pooled tokens is z̄ᵢ = gᵢ/√Lᵢ with standard normal gᵢ. With aᵢ = ℓ′ᵢ/√Lᵢ, w₁
    needs only the sum S = Σ aᵢgᵢ; given S, the gᵢ are Gaussian with mean aᵢS/Σa² and with the
    covariance that removes the component along the vector of the aᵢ.
    """
    n_samples = residual.size
    mean = samples.signal * samples.n_signal / samples.length
    root = np.sqrt(samples.length)
    size = float(np.linalg.norm(residual / root))
    noise_sum = size * rng.standard_normal(samples.directions.shape[1])
    along = samples.sum_directions(residual * mean)
    readout = -lr_readout / n_samples * (along + noise_sum)

    unit = residual / root / size if size > 0 else np.zeros_like(residual)
    fresh = rng.standard_normal(n_samples)
    fresh -= unit * (unit @ fresh)
    memory = float(readout @ noise_sum) / size if size > 0 else 0.0
    score = (np.linalg.norm(readout) * fresh + memory * unit) / root
    return readout, score + mean * samples.along(readout)


def _query_step(
    samples: _Samples, slope: Floats, readout: Floats, rng: np.random.Generator
) -> Floats:
    """Draw Σᵢ hᵢ Xᵢᵀ P Xᵢ w₁ given w₁ and the hᵢ, where P removes the mean over the tokens.

    The centered tokens are independent of everything before this step. Along w₁ their noise is P g
    with g ~ N(0, I_L), of which only the component ν along P v (of squared length k) and the
    squared length of the rest matter, so no vector over the tokens is drawn.
    """
    norm = float(np.linalg.norm(readout))
    if norm == 0.0:
        return np.zeros_like(readout)
    k = samples.n_signal * (1.0 - samples.n_signal / samples.length)
    shift = samples.signal * samples.along(readout) * np.sqrt(k)
    # t = P X w₁: (shift + ‖w₁‖ν) along P v, ‖w₁‖·rest orthogonal to it; negatives have no shift.
    along = np.where(k > 0, rng.standard_normal(k.size), 0.0) if k.any() else np.zeros(k.size)
    degrees = samples.length - 1 - (k > 0)
    rest = 2.0 * rng.standard_gamma(degrees / 2)  # a χ² of `degrees`
    t_along = norm * along + shift
    noise_overlap = along * t_along + norm * rest  # g·t
    t_squared = t_along**2 + norm**2 * rest

    unit = readout / norm
    spread = rng.standard_normal(readout.size)
    spread -= unit * (unit @ spread)
    total = math.sqrt(float(slope**2 @ t_squared)) * spread
    total += float(slope @ noise_overlap) * unit
    pull = slope * samples.signal * np.sqrt(k) * t_along  # h θ v·t
    return total + samples.sum_directions(pull)
