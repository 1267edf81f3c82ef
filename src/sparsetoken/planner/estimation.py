"""The model's parameters from pilot data: signal strength, sparsity and positive rate."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, solve_triangular
from sklearn.covariance import ledoit_wolf

from sparsetoken._validation import check_count
from sparsetoken.planner.moments import ClassTokens, TokenMoments, jackknife_moments
from sparsetoken.population import AnyProblem, Population
from sparsetoken.problem import RandomState, SparseTokenProblem
from sparsetoken.sequences.sequences import Sequences, as_sequences

Array = NDArray[np.float64]

_GROUPS = 20
_FEWEST = 4  # samples of a class
_DETECTED = 2.0  # standard errors


class PilotWarning(UserWarning):
    """The pilot data cannot tell the signal from noise."""


@dataclass(frozen=True, repr=False)
class PilotEstimate:
    """What pilot data say about the problem; made by :func:`estimate_problem`."""

    problem: AnyProblem
    """The problem to plan with: ``n_signal`` rounded, and the signal given that number.

    Where the strengths vary, a population of kinds with their mean and variance.
    """
    signal: float
    """Strength θ, the moments taken at their word; the mean one where strengths vary."""
    n_signal: float
    """Number R of signal tokens, not rounded."""
    spread: float
    """Variance of the positive sequences' strengths over their squared mean, if not by chance."""
    positive_rate: float
    standard_errors: dict[str, float]
    """Of ``signal``, ``n_signal``, ``spread``, ``positive_rate`` and, as ``problem.signal``, of the
    (mean) strength in ``problem``."""
    evidence: float
    """Class difference of the mean tokens (squared norm) in standard errors."""
    n_samples: int
    n_tokens: int
    """Mean length of a sequence, rounded."""
    dim: int

    @property
    def reliable(self) -> bool:
        """Whether the pilot tells the signal from noise."""
        return self.evidence >= _DETECTED and self.signal > 0

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={getattr(self, name):.3g} ± {self.standard_errors[name]:.2g}"
            for name in ("signal", "n_signal", "positive_rate", *("spread",) * (self.spread > 0))
        )
        flag = "" if self.reliable else ", reliable=False"
        return f"PilotEstimate({parts}, n_tokens={self.n_tokens}{flag})"


def estimate_problem(X: Any, y: ArrayLike, *, random_state: RandomState = 0) -> PilotEstimate:
    """Estimate signal strength, sparsity and rate from labelled pilot sequences.

    The tokens are centred and whitened by the negatives' mean and covariance, the latter shrunk
    towards a multiple of the identity as Ledoit and Wolf do: fully so where the tokens are too few
    for their dimension. Then the class differences of first and second moments are compared, free
    of the bias of high dimension, with standard errors by a jackknife over groups of samples.

    Mean tokens that differ more between positive sequences than noise explains show strengths that
    vary. If they do by two standard errors, ``problem`` is a population of five kinds, for
    lognormal strengths of this mean and variance; otherwise all are taken as equal.

    Parameters
    ----------
    X : Sequences, array of shape (n, L, d), or list of (L_i, d) arrays
        The pilot sequences; of different lengths the mean one enters.
    y : array-like of shape (n,)
        Two labels; the second in sorted order is the positive one.
    random_state : int, Generator or None, default=0
        Decides the groups of the jackknife.

    Returns
    -------
    PilotEstimate
        With ``problem`` and ``standard_errors``; a :class:`PilotWarning` says when the pilot cannot
        tell the signal from noise.

    Examples
    --------
    >>> import sparsetoken as st
    >>> truth = st.SparseTokenProblem(n_tokens=10, n_signal=2, signal=4.0)
    >>> X, y = truth.sample(400, 30, random_state=0)
    >>> pilot = st.estimate_problem(X, y)
    >>> round(pilot.problem.signal), pilot.problem.n_signal
    (4, 2)
    """
    sequences, positive = _check(X, y)
    white = _whiten(sequences, positive)
    lengths = sequences.lengths
    n_tokens = float(lengths.mean())
    rng = np.random.default_rng(random_state)
    n_groups = min(_GROUPS, int(positive.sum()), int((~positive).sum()))
    classes = [_class_tokens(white, lengths, mask, n_groups, rng) for mask in (positive, ~positive)]
    del white
    moments, *left_out = jackknife_moments(*classes)
    rate = float(positive.mean())
    of_lengths = float(np.var(1.0 / lengths) / np.mean(1.0 / lengths) ** 2)
    errors = {
        "spread": _jackknife([m.spread(of_lengths) for m in left_out]),
        "positive_rate": math.sqrt(rate * (1 - rate) / positive.size),
    }
    varies = moments.spread(of_lengths) > max(_DETECTED * errors["spread"], 1e-6)

    def spread(m: TokenMoments) -> float:
        return max(m.spread(of_lengths), 0.0) if varies else 0.0

    # With strengths that vary, what a single one would be is E[θ²]/E[θ].
    signal, *signals = (m.signal() / (1.0 + spread(m)) for m in (moments, *left_out))
    n_signal, *counts = (m.n_signal(n_tokens) * (1.0 + spread(m)) for m in (moments, *left_out))
    whole = max(1, round(n_tokens))
    count = min(max(1, round(n_signal)), whole)
    planned, *others = (m.signal_given(count, n_tokens, spread(m)) for m in (moments, *left_out))
    for name, values in (("signal", signals), ("n_signal", counts), ("problem.signal", others)):
        errors[name] = _jackknife(values)
    problem = SparseTokenProblem(whole, count, planned, rate)
    bar = _jackknife([m.mean for m in left_out])
    estimate = PilotEstimate(
        _with_spread(problem, spread(moments)),
        signal,
        n_signal,
        spread(moments),
        rate,
        errors,
        moments.mean / bar if bar > 0 else math.inf,
        positive.size,
        whole,
        sequences.dim,
    )
    if not estimate.reliable:
        warnings.warn(
            f"the pilot of {positive.size} samples cannot tell the signal from noise: the class "
            f"difference is {estimate.evidence:.1f} standard errors; a larger pilot would help",
            PilotWarning,
            stacklevel=2,
        )
    return estimate


def _with_spread(problem: SparseTokenProblem, spread: float) -> AnyProblem:
    """Return kinds for lognormal strengths of the problem's mean and this relative variance."""
    if spread == 0.0:
        return problem
    median = problem.signal / math.sqrt(1.0 + spread)
    return Population.spread(problem, signal=("lognormal", median, math.sqrt(math.log1p(spread))))


def _check(X: Any, y: ArrayLike) -> tuple[Sequences, NDArray[np.bool_]]:
    sequences = as_sequences(X)
    labels = np.asarray(y)
    if labels.shape != (len(sequences),):
        raise ValueError(f"y must have shape ({len(sequences)},), got {labels.shape}")
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"y must have two labels, got {classes.size}")
    positive = labels == classes[1]
    check_count("the dimension of the tokens of X", sequences.dim, minimum=2)
    for name, count in (("positive", positive.sum()), ("negative", (~positive).sum())):
        if count < _FEWEST:
            raise ValueError(f"y must have at least {_FEWEST} {name} samples, got {count}")
    return sequences, positive


def _whiten(sequences: Sequences, positive: NDArray[np.bool_]) -> Array:
    """Return the tokens in units of the negatives' noise, up to a rotation."""
    of_token = np.repeat(positive, sequences.lengths)
    tokens = sequences.tokens.astype(np.float64)
    tokens -= tokens[~of_token].mean(axis=0)
    covariance = ledoit_wolf(tokens[~of_token], assume_centered=True)[0]
    largest = float(covariance.diagonal().max())
    if largest <= 0.0:
        raise ValueError("X must vary: the tokens of the negative samples are all the same")
    covariance.flat[:: sequences.dim + 1] += 1e-10 * largest
    factor = cholesky(covariance, lower=True, overwrite_a=True)
    white: Array = solve_triangular(factor, tokens.T, lower=True, overwrite_b=True).T
    return white


def _class_tokens(
    white: Array,
    lengths: NDArray[np.int64],
    mask: NDArray[np.bool_],
    n_groups: int,
    rng: np.random.Generator,
) -> ClassTokens:
    offsets = np.concatenate([[0], np.cumsum(lengths[mask])])
    groups = rng.permutation(int(mask.sum())) % n_groups
    return ClassTokens(white[np.repeat(mask, lengths)], offsets, groups)


def _jackknife(values: list[float]) -> float:
    """Return the standard error from the estimates with one group left out each."""
    size = len(values)
    return math.sqrt((size - 1) * float(np.var(values)))
