"""The statistical model: a weak signal in a few tokens of a long sequence."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken._validation import (
    check_count,
    check_float_type,
    check_random_state,
    check_real,
    shown,
)
from sparsetoken.vocabulary import PARAMETERS, group

RandomState = int | np.random.Generator | None

FIELDS = group("problem", "positions")
"""The names of a problem's numbers, in the order of the vocabulary."""
_LARGEST_SIGNAL = 1e9  # what squares and sums of it leave finite


class Truth(NamedTuple):
    """What a classifier is not told about the samples it gets."""

    directions: Floats
    """The unit vectors of the kinds of signal, orthogonal to each other: shape (n_kinds, dim)."""
    positions: Bools
    """Which tokens carry the signal, shape (n_samples, n_tokens); no token of a negative does."""
    positive: Bools
    """The true classes, shape (n_samples,): whether a sample carries the signal."""
    kind: Indices
    """Of which kind of a population each sample is, shape (n_samples,); 0 of a single problem."""
    kinds: Indices
    """Which of the directions the signal of each sample has, shape (n_samples,); −1 without one."""

    @property
    def direction(self) -> Floats:
        """The signal's unit vector ξ, shape (dim,), if there is one kind of signal."""
        if len(self.directions) > 1:
            raise AttributeError("there are several kinds of signal: ask for directions")
        return self.directions[0]


class DrawnSamples(NamedTuple):
    """What is drawn for each sample before its tokens."""

    kind: Indices
    positive: Bools  # the true class: whether it carries the signal
    label: Indices  # as recorded, 0 or 1
    direction: Indices  # of its signal; −1 of a sample without signal


class Group(NamedTuple):
    """The samples of one kind, true class and recorded label."""

    kind: "SparseTokenProblem"
    positive: bool  # the true class: whether the samples carry the signal
    label: float  # as recorded, ±1
    probability: float  # that a sample is in the group


class LengthGroup(NamedTuple):
    """The samples of one length, which can be seen; of which kind they are cannot."""

    kinds: tuple["SparseTokenProblem", ...]  # that differ in more than their positive rate
    positive: Floats  # probability of a sample that is of each kind and carries the signal
    negative: float  # probability of a sample of this length that does not carry it
    label_errors: tuple[float, float]

    @property
    def masses(self) -> Floats:
        """Probabilities of samples recorded as positive, recorded as negative, and of both."""
        missed, invented = self.label_errors
        carrying = float(self.positive.sum()) * np.array([1.0 - missed, missed, 1.0])
        return carrying + self.negative * np.array([invented, 1.0 - invented, 1.0])

    @property
    def priors(self) -> Floats:
        """Chances to be a positive of each kind, if recorded so or so, and if not recorded."""
        missed, _ = self.label_errors
        carrying = np.multiply.outer([1.0 - missed, missed, 1.0], self.positive)
        chances: Floats = carrying / np.maximum(self.masses, 1e-300)[:, np.newaxis]
        return chances


class Problem:
    """What problems and populations have in common: kinds of samples, which can be drawn.

    Wherever a problem is asked for, either will do.
    """

    kinds: Any
    shares: tuple[float, ...] = (1.0,)
    label_errors: tuple[float, float] = (0.0, 0.0)

    @property
    def n_kinds(self) -> int:
        """Number of kinds of signal, each with a direction of its own."""
        n_kinds: int = self.kinds[0].n_kinds
        return n_kinds

    @property
    def positive_rate(self) -> float:
        """Probability that a sample is recorded as positive."""
        return math.fsum(group.probability for group in self.groups if group.label > 0)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The different numbers of tokens of the sequences, in order."""
        return tuple(sorted({kind.n_tokens for kind in self.kinds}))

    def only_length(self, who: str) -> int:
        """Return the number of tokens of all sequences; ValueError that ``who`` one, if several."""
        length, *others = self.lengths
        if others:
            listed = ", ".join(map(str, (length, *others)))
            raise ValueError(f"{who} sequences of one length, got lengths {listed}")
        return length

    def map(self, change: Callable[["SparseTokenProblem"], "SparseTokenProblem"]) -> "Problem":
        """Return the same with each kind changed."""
        raise NotImplementedError

    def with_rate(self, positive_rate: float) -> "Problem":
        """Return the same when another fraction of the samples is recorded as positive.

        Class-conditional samples stay the same; only the class frequencies change.
        """
        raise NotImplementedError

    def scaled(self, factor: float) -> "Problem":
        """Return the same with all signals multiplied by a factor."""
        return self.map(lambda kind: replace(kind, signal=factor * kind.signal))

    def seen_by_one_query(self) -> "Problem":
        """Return what a classifier with one direction sees of several kinds of signal.

        By symmetry it learns the mean of the directions. A signal token projects a fraction 1/√K of
        its strength on it; the rest lies where the classifier has no overlap (docs/theory, section
        19).
        """
        if self.n_kinds == 1:
            return self
        one = 1.0 / math.sqrt(self.n_kinds)
        return self.map(lambda kind: replace(kind, signal=one * kind.signal, n_kinds=1))

    def windows(self, n_windows: int) -> "Problem":
        """Return the problem of the window that holds the signal, of several equal ones."""
        if n_windows == 1:
            return self
        length = self.only_length("windows need")
        most = length // max(kind.n_signal for kind in self.kinds)
        if length % n_windows or n_windows > most:
            raise ValueError(
                f"n_windows must divide the number of tokens, {length}, and be at most {most} for "
                f"the signal to fit, got {n_windows}"
            )
        return self.map(lambda kind: replace(kind, n_tokens=length // n_windows))

    def plain(self) -> "Problem":
        """Return the problem that a population of one kind without label errors is."""
        single = len(self.kinds) == 1 and not any(self.label_errors)
        return self.kinds[0] if single else self

    def to_tables(self) -> list[dict[str, Any]]:
        """Return a table for each kind, as TOML and JSON have them: probability and numbers."""
        always = ("n_tokens", "n_signal", "signal", "positive_rate")
        return [
            {"probability": share}
            | {
                name: getattr(kind, name)
                for name in FIELDS
                if name in always or getattr(kind, name) != PARAMETERS[name].default
            }
            for kind, share in zip(self.kinds, self.shares, strict=True)
        ]

    @property
    def by_length(self) -> tuple[LengthGroup, ...]:
        """The samples by their length."""
        positive: dict[int, dict[SparseTokenProblem, float]] = {}
        negative: dict[int, float] = {}
        for kind, share in zip(self.kinds, self.shares, strict=True):
            length, rate = kind.n_tokens, kind.positive_rate
            alike = replace(kind, positive_rate=0.5)
            kinds = positive.setdefault(length, {})
            kinds[alike] = kinds.get(alike, 0.0) + share * rate
            negative[length] = negative.get(length, 0.0) + share * (1.0 - rate)
        return tuple(
            LengthGroup(
                tuple(kinds), np.array(list(kinds.values())), negative[length], self.label_errors
            )
            for length, kinds in positive.items()
        )

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
        """Draw kind, true class, recorded label and kind of signal of each sample."""
        kind = np.zeros(n_samples, dtype=int)
        if len(self.kinds) > 1:
            kind = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(n_samples), "right")
        rates = np.array([kind.positive_rate for kind in self.kinds])
        positive = label = rng.random(n_samples) < rates[kind]
        if any(self.label_errors):
            label = positive ^ (rng.random(n_samples) < np.where(positive, *self.label_errors))
        direction = np.zeros(n_samples, dtype=int)
        if self.n_kinds > 1:
            direction = rng.integers(self.n_kinds, size=n_samples)
        direction = np.where(positive, direction, -1)
        return DrawnSamples(kind, positive, label.astype(np.int64), direction)

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
        """Draw labelled sequences; every call draws a new signal direction unless one is given.

        A classifier trained on the sequences of one call is at chance on those of another. Draw
        training and test sequences of one direction by :meth:`sample_train_test`.

        Parameters
        ----------
        n_samples, dim : int
            Number of sequences, and of features per token.
        random_state : int, Generator or None, default=None
            Source of randomness; the same seed gives the same sample.
        direction : array-like of shape (dim,) or (n_kinds, dim), optional
            The signal's unit vector, or those of its kinds; drawn uniformly unless given. Pass
            ``truth.directions`` to draw more sequences later on.
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
        rng, directions = prepare_sample(self, n_samples, dim, random_state, direction)
        dtype = check_float_type("dtype", dtype)
        drawn = self.draw(n_samples, rng)
        rows = [np.flatnonzero(drawn.kind == index) for index in range(len(self.kinds))]
        by_kind = [
            kind.sample_tokens(drawn.direction[of_kind], directions, dtype, rng)
            for kind, of_kind in zip(self.kinds, rows, strict=True)
        ]
        positions, X = (_in_order(rows, arrays) for arrays in zip(*by_kind, strict=True))
        if not return_truth:
            return X, drawn.label
        told = positions, drawn.positive, drawn.kind, drawn.direction
        return X, drawn.label, Truth(directions, *told)

    def sample_train_test(
        self,
        n_train: int,
        n_test: int,
        dim: int,
        *,
        random_state: RandomState = None,
        **options: Any,
    ) -> Any:
        """Draw training and test sequences of one signal direction.

        Parameters
        ----------
        n_train, n_test, dim : int
            Number of sequences of each, and of features per token.
        random_state : int, Generator or None, default=None
            Source of randomness.
        **options : Any
            ``direction`` and ``dtype``, as in :meth:`sample`.

        Returns
        -------
        X_train, X_test, y_train, y_test : ndarray
            In the order of scikit-learn's ``train_test_split``.

        Examples
        --------
        >>> import sparsetoken as st
        >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
        >>> X, X_test, y, y_test = problem.sample_train_test(200, 500, dim=20, random_state=0)
        >>> st.PooledClassifier(reg=0.1).fit(X, y).score(X_test, y_test) > 0.7
        True
        """
        check_count("n_train", n_train)
        check_count("n_test", n_test)
        X, y = self.sample(n_train + n_test, dim, random_state=random_state, **options)
        return X[:n_train], X[n_train:], y[:n_train], y[n_train:]


def _in_order(rows: list[Indices], arrays: tuple[Array, ...]) -> Any:
    """Return the samples of all kinds in the order drawn: an array, or a list if lengths differ."""
    if len(arrays) == 1:
        return arrays[0]
    samples = [sample for array in arrays for sample in array]
    ordered = [samples[index] for index in np.argsort(np.concatenate(rows))]
    return np.stack(ordered) if len({array.shape[1:] for array in arrays}) == 1 else ordered


@dataclass(frozen=True, repr=False)
class SparseTokenProblem(Problem):
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
    n_kinds : int, default=1
        Number K of kinds of signal. Each positive sample is of one, drawn with equal chances and
        not recorded; the kinds have orthogonal directions.

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
    n_kinds: int = 1

    def __post_init__(self) -> None:
        for name in FIELDS:
            object.__setattr__(self, name, PARAMETERS[name].check(getattr(self, name)))
        check_count("n_signal", self.n_signal, maximum=self.n_tokens)

    def __repr__(self) -> str:
        (table,) = self.to_tables()
        listed = ", ".join(f"{name}={value!r}" for name, value in list(table.items())[1:])
        return f"SparseTokenProblem({listed})"

    @property
    def in_runs(self) -> bool:
        """Whether it matters that the signal tokens are neighbors: there are several, not all."""
        return self.contiguous and 1 < self.n_signal < self.n_tokens

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a token and a kind of signal: where one signal token may be."""
        return self.n_tokens * self.n_kinds

    @property
    def grouped(self) -> bool:
        """Whether it matters which tokens carry the signal together: in runs, or of one kind."""
        return self.in_runs or (self.n_kinds > 1 and self.n_signal > 1)

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

    def map(self, change: Callable[["SparseTokenProblem"], "SparseTokenProblem"]) -> Problem:
        """Return the changed problem."""
        return change(self)

    def with_rate(self, positive_rate: float) -> Problem:
        """Return the problem with another positive rate."""
        return replace(self, positive_rate=positive_rate)

    def sample_tokens(
        self, direction: Indices, directions: Floats, dtype: Any, rng: np.random.Generator
    ) -> tuple[Bools, Array]:
        """Draw the positions of the signal and the tokens of samples with these directions."""
        positions = self.draw_positions(direction.size, rng) & (direction >= 0)[:, np.newaxis]
        X = rng.standard_normal((*positions.shape, directions.shape[1]), dtype=dtype)
        rows, tokens = np.nonzero(positions)
        X[rows, tokens] += (self.signal * directions).astype(dtype)[direction[rows]]
        return positions, X

    def draw_positions(self, n_samples: int, rng: np.random.Generator) -> Bools:
        """Draw which tokens carry the signal, for samples that do."""
        tokens = np.arange(self.n_tokens)
        if self.contiguous:
            last = self.n_tokens - self.n_signal
            after = tokens - rng.integers(last, endpoint=True, size=(n_samples, 1))
            return (after >= 0) & (after < self.n_signal)
        return rng.permuted(np.tile(tokens < self.n_signal, (n_samples, 1)), axis=1)


def check_problem(problem: Any) -> Problem:
    """Return a problem or population whose numbers can be computed, or raise ValueError."""
    if not isinstance(problem, Problem):
        raise ValueError(
            f"problem must be a SparseTokenProblem or a Population, got {shown(problem)}"
        )
    for kind in problem.kinds:
        check_real("signal", kind.signal, low=0.0, high=_LARGEST_SIGNAL)
    return problem


def prepare_sample(
    problem: Problem, n_samples: Any, dim: Any, random_state: Any, direction: Any
) -> tuple[np.random.Generator, Floats]:
    """Check the arguments of a sample; return its generator and the directions, given or drawn."""
    check_count("n_samples", n_samples)
    dim = check_count("dim", dim, minimum=problem.n_kinds)
    rng = check_random_state(random_state)
    if direction is None:
        return rng, random_directions(problem.n_kinds, dim, rng)
    return rng, check_directions(direction, problem.n_kinds, dim)


def check_directions(direction: Any, n_kinds: int, dim: int) -> Floats:
    """Return the directions of the kinds of signal, (n_kinds, dim), or raise ValueError."""
    what = f"a unit vector of shape ({dim},)"
    if n_kinds > 1:
        what = f"orthogonal unit vectors of shape ({n_kinds}, {dim})"
    try:
        directions = np.asarray(direction, dtype=float)
        directions = directions[np.newaxis] if n_kinds == directions.ndim == 1 else directions
    except (TypeError, ValueError):
        directions = np.empty(0)
    orthogonal = directions.shape == (n_kinds, dim) and directions @ directions.T
    if not np.allclose(orthogonal, np.eye(n_kinds)):
        raise ValueError(f"direction must be {what}, got {shown(direction)}")
    return directions


def random_directions(n_kinds: int, dim: int, rng: np.random.Generator) -> Floats:
    """Draw orthogonal unit vectors, (n_kinds, dim), uniformly."""
    vectors = rng.standard_normal((n_kinds, dim))
    if n_kinds == 1:
        return vectors / np.linalg.norm(vectors)
    orthogonal, upper = np.linalg.qr(vectors.T)
    return np.asarray((orthogonal * np.sign(np.diag(upper))).T)
