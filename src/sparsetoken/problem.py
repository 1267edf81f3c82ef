"""The statistical model: a weak signal in a few tokens of a long sequence."""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sparsetoken._validation import (
    check_count,
    check_float_type,
    check_real,
    check_unit_vector,
)

__all__ = ["Group", "SparseTokenProblem", "Truth", "random_direction"]

RandomState = int | np.random.Generator | None


class Truth(NamedTuple):
    """What a classifier is not told about the samples it gets."""

    direction: NDArray[np.float64]
    """The signal's unit vector ξ, shape (dim,)."""
    positions: NDArray[np.bool_]
    """Which tokens carry the signal, shape (n_samples, n_tokens); no token of a negative does."""


class Group(NamedTuple):
    """The samples of one kind, true class and recorded label."""

    kind: "SparseTokenProblem"
    positive: bool
    """The true class: whether the samples carry the signal."""
    label: float
    """The recorded label, ±1."""
    probability: float
    """Probability that a sample is in the group."""


@dataclass(frozen=True)
class SparseTokenProblem:
    """Sparse-token classification: find a signal present in a few tokens of the positive sequences.

    A sample is a sequence of ``n_tokens`` tokens with independent standard Gaussian entries. In a
    positive sample, ``n_signal`` tokens at random positions are shifted by ``signal`` along a
    direction that is the same for all samples and unknown to the classifier.

    Parameters
    ----------
    n_tokens : int
        Length L of a sequence.
    n_signal : int, default=1
        Number R of tokens that carry the signal in a positive sequence.
    signal : float, default=1.0
        Strength θ of the signal, in units of the noise's standard deviation.
    positive_rate : float, default=0.5
        Probability π that a sample is positive.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, n_signal=1, signal=5.0)
    >>> X, y = problem.sample(n_samples=200, dim=50, random_state=0)
    >>> X.shape, y.shape
    ((200, 10, 50), (200,))
    >>> X, y, truth = problem.sample(200, 50, random_state=0, return_truth=True)
    >>> bool((truth.positions.sum(axis=1) == y).all())
    True
    """

    n_tokens: int
    n_signal: int = 1
    signal: float = 1.0
    positive_rate: float = 0.5

    def __post_init__(self) -> None:
        n_tokens = check_count("n_tokens", self.n_tokens)
        clean = {
            "n_tokens": n_tokens,
            "n_signal": check_count("n_signal", self.n_signal, maximum=n_tokens),
            "signal": check_real("signal", self.signal, low=0.0),
            "positive_rate": check_real("positive_rate", self.positive_rate, low=0.0, high=1.0),
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    @property
    def sparsity(self) -> float:
        """Share R/L of the tokens of a positive sample that carry the signal."""
        return self.n_signal / self.n_tokens

    @property
    def snr(self) -> float:
        """Signal-to-noise ratio θR/√L of the averaged tokens: all that a linear rule can use."""
        return self.signal * self.n_signal / math.sqrt(self.n_tokens)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Positives and negatives, with their probabilities."""
        rate = self.positive_rate
        return Group(self, True, 1.0, rate), Group(self, False, -1.0, 1.0 - rate)

    @overload
    def sample(
        self,
        n_samples: int,
        dim: int,
        *,
        random_state: RandomState = None,
        direction: ArrayLike | None = None,
        dtype: DTypeLike = np.float64,
        return_truth: Literal[False] = False,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]: ...

    @overload
    def sample(
        self,
        n_samples: int,
        dim: int,
        *,
        random_state: RandomState = None,
        direction: ArrayLike | None = None,
        dtype: DTypeLike = np.float64,
        return_truth: Literal[True],
    ) -> tuple[NDArray[Any], NDArray[np.int64], Truth]: ...

    def sample(
        self,
        n_samples: int,
        dim: int,
        *,
        random_state: RandomState = None,
        direction: ArrayLike | None = None,
        dtype: DTypeLike = np.float64,
        return_truth: bool = False,
    ) -> Any:
        """Draw labelled sequences, tokens and all.

        Parameters
        ----------
        n_samples, dim : int
            Number of sequences, and of features per token.
        random_state : int, Generator or None, default=None
            Source of randomness; the same seed gives the same sample.
        direction : array-like of shape (dim,), optional
            The signal's unit vector; drawn uniformly unless given. Pass ``truth.direction`` to draw
            more samples of the same kind.
        dtype : {float64, float32}, default=float64
            Type of the tokens.
        return_truth : bool, default=False
            Whether to return the signal's direction and positions too.

        Returns
        -------
        X : ndarray of shape (n_samples, n_tokens, dim)
            The sequences.
        y : ndarray of shape (n_samples,)
            Labels, 0 or 1.
        truth : Truth
            Only with ``return_truth=True``.
        """
        n_samples = check_count("n_samples", n_samples)
        dim = check_count("dim", dim)
        rng = np.random.default_rng(random_state)
        if direction is None:
            direction = random_direction(dim, rng)
        direction = check_unit_vector("direction", direction, dim)
        y = self.sample_labels(n_samples, rng)
        marked = np.arange(self.n_tokens) < self.n_signal
        positions = rng.permuted(marked & (y[:, np.newaxis] == 1), axis=1)
        shape = (n_samples, self.n_tokens, dim)
        X = rng.standard_normal(shape, dtype=check_float_type("dtype", dtype))
        shift = (self.signal * direction).astype(X.dtype)
        np.add(X, shift, out=X, where=positions[:, :, np.newaxis])
        if return_truth:
            return X, y, Truth(direction, positions)
        return X, y

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw independent 0/1 labels with P(1) = ``positive_rate``."""
        return (rng.random(n_samples) < self.positive_rate).astype(np.int64)


def random_direction(dim: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a unit vector uniformly on the sphere of R^dim."""
    vector = rng.standard_normal(dim)
    return vector / np.linalg.norm(vector)
