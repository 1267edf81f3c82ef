"""The model's parameters from pilot data: signal strength, sparsity and positive rate."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from sklearn.covariance import ledoit_wolf

from sparsetoken._types import Array, Bools, Floats
from sparsetoken._validation import check_count
from sparsetoken.planner.moments import ClassTokens, jackknife_moments
from sparsetoken.population import AnyProblem, Population
from sparsetoken.problem import RandomState, SparseTokenProblem
from sparsetoken.sequences.sequences import Sequences, as_sequences

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
    sequences, labels, counts = check_pilot(X, y)
    if len(counts) != 2:
        raise ValueError(f"y must have two labels, got {len(counts)}")
    check_count("the dimension of the tokens of X", sequences.dim, minimum=2)
    positive = labels == max(counts)
    white = _whiten(sequences, positive)
    lengths = sequences.lengths
    n_tokens = float(lengths.mean())
    rng = np.random.default_rng(random_state)
    n_groups = min(_GROUPS, *counts.values())
    classes = [
        ClassTokens(
            white[np.repeat(mask, lengths)],
            np.concatenate([[0], np.cumsum(lengths[mask])]),
            rng.permutation(int(mask.sum())) % n_groups,
        )
        for mask in (positive, ~positive)
    ]
    del white
    moments = jackknife_moments(*classes)
    rate = float(positive.mean())
    spread = moments.spread(float(np.var(1.0 / lengths) / np.mean(1.0 / lengths) ** 2))
    varies = spread[0] > max(_DETECTED * _jackknife(spread), 1e-6)
    variance = np.maximum(spread, 0.0) if varies else np.zeros(spread.size)
    # With strengths that vary, what a single one would be is E[θ²]/E[θ].
    signal = moments.signal() / (1.0 + variance)
    n_signal = moments.n_signal(n_tokens) * (1.0 + variance)
    whole = max(1, round(n_tokens))
    count = min(max(1, round(n_signal[0])), whole)
    planned = moments.signal_given(count, n_tokens, variance)
    problem: AnyProblem = SparseTokenProblem(whole, count, float(planned[0]), rate)
    if varies:
        median, deviation = planned[0] / np.sqrt(1.0 + spread[0]), np.sqrt(np.log1p(spread[0]))
        law = ("lognormal", float(median), float(deviation))
        problem = Population.spread(SparseTokenProblem(whole, count, 0.0, rate), signal=law)
    errors = {
        "spread": _jackknife(spread),
        "positive_rate": math.sqrt(rate * (1 - rate) / positive.size),
        "signal": _jackknife(signal),
        "n_signal": _jackknife(n_signal),
        "problem.signal": _jackknife(planned),
    }
    bar = _jackknife(moments.mean)
    estimate = PilotEstimate(
        problem,
        float(signal[0]),
        float(n_signal[0]),
        float(variance[0]),
        rate,
        errors,
        float(moments.mean[0]) / bar if bar > 0 else math.inf,
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


def check_pilot(X: Any, y: ArrayLike) -> tuple[Sequences, Array, dict[Any, int]]:
    """Return sequences, labels and the number of samples of each label, enough of each."""
    sequences, labels = as_sequences(X), np.asarray(y)
    if labels.shape != (len(sequences),):
        raise ValueError(f"y must have shape ({len(sequences)},), got {labels.shape}")
    classes, counts = np.unique(labels, return_counts=True)
    if classes.size < 2:
        raise ValueError(f"y must have at least two labels, got {classes.size}")
    for label, count in zip(classes.tolist(), counts, strict=True):
        if count < _FEWEST:
            raise ValueError(f"y must have at least {_FEWEST} samples of {label!r}, got {count}")
    return sequences, labels, dict(zip(classes.tolist(), counts.tolist(), strict=True))


def _whiten(sequences: Sequences, positive: Bools) -> Floats:
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
    white: Floats = solve_triangular(factor, tokens.T, lower=True, overwrite_b=True).T
    return white


def _jackknife(values: Floats) -> float:
    """Return the standard error of the first value from the others, each without a group."""
    return math.sqrt((values.size - 2) * float(np.var(values[1:])))
