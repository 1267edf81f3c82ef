"""The statistical model: a weak signal in a few tokens of a long sequence."""

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken._validation import (
    check_count,
    check_float_type,
    check_random_state,
    check_unit_vector,
)
from sparsetoken.vocabulary import PARAMETERS

RandomState = int | np.random.Generator | None


class Truth(NamedTuple):
    """What a classifier is not told about the samples it gets."""

    direction: Floats
    """The signal's unit vector ξ, shape (dim,)."""
    positions: Bools
    """Which tokens carry the signal, shape (n_samples, n_tokens); no token of a negative does."""
    positive: Bools
    """The true classes, shape (n_samples,): whether a sample carries the signal."""
    kind: Indices
    """Of which kind of a population each sample is, shape (n_samples,); 0 of a single problem."""


class DrawnSamples(NamedTuple):
    """What is drawn for each sample before its tokens."""

    kind: Indices
    """Index of its kind."""
    positive: Bools
    """Its true class: whether it carries the signal."""
    label: Indices
    """Its recorded label, 0 or 1."""


class SampleSetting(NamedTuple):
    """The checked arguments of a sample."""

    dim: int
    rng: np.random.Generator
    direction: Floats
    dtype: Any


class Group(NamedTuple):
    """The samples of one kind, true class and recorded label."""

    kind: "SparseTokenProblem"
    positive: bool
    """The true class: whether the samples carry the signal."""
    label: float
    """The recorded label, ±1."""
    probability: float
    """Probability that a sample is in the group."""


class Sampled:
    """What problems and populations have in common: kinds of samples, which can be drawn."""

    kinds: Any
    shares: tuple[float, ...] = (1.0,)
    label_errors: tuple[float, float] = (0.0, 0.0)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The samples by kind, true class and recorded label, with their probabilities."""
        missed, invented = self.label_errors
        groups = []
        for kind, weight in zip(self.kinds, self.shares, strict=True):
            positive, negative = weight * kind.positive_rate, weight * (1.0 - kind.positive_rate)
            groups += [
                Group(kind, True, 1.0, positive * (1.0 - missed)),
                Group(kind, True, -1.0, positive * missed),
                Group(kind, False, -1.0, negative * (1.0 - invented)),
                Group(kind, False, 1.0, negative * invented),
            ]
        return tuple(group for group in groups if group.probability > 0.0)

    def draw(self, n_samples: int, rng: np.random.Generator) -> DrawnSamples:
        """Draw kind, true class and recorded label of each sample."""
        kind = np.zeros(n_samples, dtype=int)
        if len(self.kinds) > 1:
            kind = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(n_samples), "right")
        rates = np.array([kind.positive_rate for kind in self.kinds])
        positive = label = rng.random(n_samples) < rates[kind]
        if any(self.label_errors):
            label = positive ^ (rng.random(n_samples) < np.where(positive, *self.label_errors))
        return DrawnSamples(kind, positive, label.astype(np.int64))

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
            The sequences; of a population where lengths differ, a list of arrays (L_i, dim).
        y : ndarray of shape (n_samples,)
            Recorded labels, 0 or 1.
        truth : Truth
            Only with ``return_truth=True``; ``positions`` is a list where lengths differ.
        """
        setting = prepare_sample(n_samples, dim, random_state, direction, dtype)
        drawn = self.draw(n_samples, setting.rng)
        if len(self.kinds) == 1:
            positions, X = self.kinds[0].sample_tokens(drawn.positive, setting)
        else:
            positions, X = [None] * n_samples, [None] * n_samples
            for index, kind in enumerate(self.kinds):
                rows = np.flatnonzero(drawn.kind == index)
                marks, tokens = kind.sample_tokens(drawn.positive[rows], setting)
                for row, mark, sequence in zip(rows, marks, tokens, strict=True):
                    positions[row], X[row] = mark, sequence
            if len({kind.n_tokens for kind in self.kinds}) == 1:
                positions, X = np.stack(positions), np.stack(X)
        if return_truth:
            return X, drawn.label, Truth(setting.direction, positions, drawn.positive, drawn.kind)
        return X, drawn.label


@dataclass(frozen=True, repr=False)
class SparseTokenProblem(Sampled):
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
    contiguous : bool, default=False
        Whether the signal tokens are neighbors, a run that starts anywhere. Attention and mean
        pooling do not see positions; the best classifier gains by it.

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
    >>> runs = st.SparseTokenProblem(n_tokens=8, n_signal=3, positive_rate=1.0, contiguous=True)
    >>> runs.sample(2, 50, random_state=0, return_truth=True)[2].positions.astype(int)
    array([[0, 0, 0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1, 1, 1]])
    """

    n_tokens: int
    n_signal: int = 1
    signal: float = 1.0
    positive_rate: float = 0.5
    contiguous: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = PARAMETERS[field.name].check(getattr(self, field.name))
            object.__setattr__(self, field.name, value)
        check_count("n_signal", self.n_signal, maximum=self.n_tokens)

    def __repr__(self) -> str:
        shown = [field for field in fields(self) if field.name != "contiguous" or self.contiguous]
        listed = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in shown)
        return f"SparseTokenProblem({listed})"

    @property
    def in_runs(self) -> bool:
        """Whether it matters that the signal tokens are neighbors: there are several, not all."""
        return self.contiguous and 1 < self.n_signal < self.n_tokens

    @property
    def sparsity(self) -> float:
        """Fraction R/L of the tokens of a positive sample that carry the signal."""
        return self.n_signal / self.n_tokens

    @property
    def snr(self) -> float:
        """Signal-to-noise ratio θR/√L of the averaged tokens: all that a linear rule can use."""
        return self.signal * self.n_signal / math.sqrt(self.n_tokens)

    @property
    def kinds(self) -> tuple["SparseTokenProblem", ...]:
        """The problem itself: a population of one kind."""
        return (self,)

    def sample_tokens(self, positive: Bools, setting: SampleSetting) -> tuple[Bools, Array]:
        """Draw the positions of the signal and the tokens of samples of the given classes."""
        positions = self.draw_positions(positive.size, setting.rng) & positive[:, np.newaxis]
        shape = (positive.size, self.n_tokens, setting.dim)
        X = setting.rng.standard_normal(shape, dtype=setting.dtype)
        shift = (self.signal * setting.direction).astype(X.dtype)
        np.add(X, shift, out=X, where=positions[:, :, np.newaxis])
        return positions, X

    def draw_positions(self, n_samples: int, rng: np.random.Generator) -> Bools:
        """Draw which tokens carry the signal, for samples that do."""
        tokens = np.arange(self.n_tokens)
        if self.contiguous:
            last = self.n_tokens - self.n_signal
            after = tokens - rng.integers(last, endpoint=True, size=(n_samples, 1))
            return (after >= 0) & (after < self.n_signal)
        return rng.permuted(np.tile(tokens < self.n_signal, (n_samples, 1)), axis=1)


def prepare_sample(
    n_samples: Any, dim: Any, random_state: Any, direction: Any, dtype: Any
) -> SampleSetting:
    """Check the arguments of a sample, and draw the direction unless it is given."""
    check_count("n_samples", n_samples)
    dim = check_count("dim", dim)
    rng = check_random_state(random_state)
    if direction is None:
        direction = random_direction(dim, rng)
    direction = check_unit_vector("direction", direction, dim)
    return SampleSetting(dim, rng, direction, check_float_type("dtype", dtype))


def random_direction(dim: int, rng: np.random.Generator) -> Floats:
    """Draw a unit vector uniformly on the sphere of R^dim."""
    vector = rng.standard_normal(dim)
    return vector / np.linalg.norm(vector)
