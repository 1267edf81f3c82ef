"""The model's parameters from pilot data: signal strength, sparsity and positive rate.

With unit noise, the class difference of the mean tokens is (R/L)E[θ]ξ, that of the second moments
of tokens (R/L)E[θ²]ξξᵀ, and that of the second moments of mean tokens (R/L)²E[θ²]ξξᵀ, where θ may
vary between the positive samples. Writing a_i = ±1/n± for the samples' weights and x̄_i for their
mean tokens, the products

    U = Σ_{i≠j} a_i a_j ⟨x̄_i, x̄_j⟩  →  (R/L)²E[θ]²
    T = Σ_{i≠j≠k} a_i a_j a_k x̄_iᵀ S_k x̄_j  →  U times the second moment along ξ

over distinct samples are free of the bias that noise in high dimension puts into squares of the
same means: they average over all ways of splitting the samples. S_k is the second moment of a
sample's tokens, or x̄_k x̄_kᵀ. All terms are sums over samples, so that the jackknife leaves out a
group by giving its samples no weight. Second moments enter only through quadratic forms xᵀSx of
mean tokens and class differences, so that one matrix of d by d numbers is held at a time.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from sklearn.covariance import ledoit_wolf

from sparsetoken._types import Array, Bools, Floats, Indices
from sparsetoken._validation import check_count
from sparsetoken.population import Population
from sparsetoken.problem import Problem, RandomState, SparseTokenProblem
from sparsetoken.sequences.sequences import Sequences, as_sequences

_GROUPS = 20
_FEWEST = 4  # samples of a class
_DETECTED = 2.0  # standard errors


class PilotWarning(UserWarning):
    """The pilot data cannot tell the signal from noise."""


@dataclass(frozen=True, repr=False)
class PilotEstimate:
    """What pilot data say about the problem; made by :func:`estimate_problem`."""

    problem: Problem
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

    The tokens are centered and whitened by the negatives' mean and covariance, the latter shrunk
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
    positive, lengths = labels == max(counts), sequences.lengths
    rng = np.random.default_rng(random_state)
    n_groups, groups = min(_GROUPS, *counts.values()), np.empty(labels.size, dtype=int)
    for mask in (positive, ~positive):
        groups[mask] = rng.permutation(int(mask.sum())) % n_groups
    moments = jackknife_moments(_whiten(sequences, positive), lengths, positive, groups)
    # Without a signal the strength is zero, and no ratio of moments is used.
    has_signal = np.minimum(moments.mean, moments.second) > 0
    mean, second = (np.where(has_signal, moment, 1.0) for moment in moments[:2])
    rate, n_tokens = float(positive.mean()), float(lengths.mean())
    of_lengths = float(np.var(1.0 / lengths) / np.mean(1.0 / lengths) ** 2)
    spread = has_signal * (moments.between / mean / (1.0 + of_lengths) - 1.0)
    varies = spread[0] > max(_DETECTED * _jackknife(spread), 1e-6)
    variance = np.maximum(spread, 0.0) if varies else np.zeros(spread.size)
    # With strengths that vary, what a single one would be is E[θ²]/E[θ].
    signal = has_signal * second / np.sqrt(mean) / (1.0 + variance)
    n_signal = has_signal * n_tokens * mean / second * (1.0 + variance)
    whole = max(1, round(n_tokens))
    count = min(max(1, round(n_signal[0])), whole)
    # Given that number, the strength is the geometric mean of what the moments say.
    by_mean = np.sqrt(mean) * n_tokens / count
    by_second = np.sqrt(second * n_tokens / count / (1.0 + variance))
    planned = np.where(has_signal, np.sqrt(by_mean * by_second), 0.0)
    problem: Problem = SparseTokenProblem(whole, count, float(planned[0]), rate)
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
    return solve_triangular(factor, tokens.T, lower=True, overwrite_b=True).T


def _jackknife(values: Floats) -> float:
    """Return the standard error of the first value from the others, each without a group."""
    return math.sqrt((values.size - 2) * float(np.var(values[1:])))


class TokenMoments(NamedTuple):
    """Estimates from all samples, then with each jackknife group left out; zero without signal."""

    mean: Floats
    """((R/L)E[θ])², which chance can make negative."""
    second: Floats
    """(R/L)E[θ²]."""
    between: Floats
    """(R/L)²E[θ²]."""


def jackknife_moments(
    tokens: Floats, lengths: Indices, positive: Bools, groups: Indices
) -> TokenMoments:
    """Return the unbiased moments of whitened tokens, with the jackknife group of each sample."""
    n_groups = int(groups.max()) + 1
    kept = np.vstack([np.ones(n_groups), 1.0 - np.eye(n_groups)])
    cells = np.where(positive, groups, n_groups + groups)  # the groups of either class
    sizes = np.bincount(cells, minlength=2 * n_groups)
    of_positives = np.arange(2 * n_groups) < n_groups
    counts = np.stack([kept @ sizes[mask] for mask in (of_positives, ~of_positives)])
    # The weight of a sample of each cell, for each set of groups that is kept.
    weights = np.hstack([kept / counts[0][:, np.newaxis], -kept / counts[1][:, np.newaxis]])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    means = np.add.reduceat(tokens, starts) / lengths[:, np.newaxis]
    difference = weights @ [means[cells == cell].sum(axis=0) for cell in range(2 * n_groups)]
    squares = weights**2 @ np.bincount(cells, np.sum(means**2, axis=1), 2 * n_groups)
    # Only pairs of positives have a mean, and a fraction 1/n₊ of all pairs are not pairs.
    distinct = 1.0 - 1.0 / counts[0]
    mean = (np.sum(difference**2, axis=1) - squares) / distinct
    scale = np.where(mean > 0, distinct * mean, math.inf)
    # Beside a pair of positives, two fewer are left.
    third = weights * np.where(of_positives, (counts[0] / (counts[0] - 2.0))[:, np.newaxis], 1.0)

    def along_signal(rows: Floats, row_lengths: Indices) -> Floats:
        """Return the class difference of second moments along the signal, beyond the mean one.

        That is the same in all directions: noise that differs between the classes, or the
        imperfect whitening of the tokens.
        """
        dim, triple, level = tokens.shape[1], 0.0, 0.0
        of_row = np.repeat(np.arange(len(means)), row_lengths)
        for cell in range(2 * n_groups):
            inside = cells[of_row] == cell
            sample = of_row[inside]
            # Their products add up to the second moments S of the cell's samples.
            scaled = rows[inside] / np.sqrt(row_lengths[sample, np.newaxis])
            forms = _quadratic_forms(scaled, np.vstack([means, difference]))
            of_means = np.bincount(cells, forms[: len(means)], 2 * n_groups)
            projected = np.einsum("ij,ij->i", scaled, means[sample])
            weight = weights[:, cell]
            triple += third[:, cell] * (
                forms[len(means) :]
                - weights**2 @ of_means
                - 2.0 * weight * (difference @ (projected @ scaled))
                + 2.0 * weight**2 * (projected @ projected)
            )
            level += weight * np.sum(scaled**2) / dim
        return (triple / scale - level) / (1.0 - 1.0 / dim)

    between = along_signal(means, np.ones(len(means), dtype=int))
    return TokenMoments(mean, along_signal(tokens, lengths), between)


def _quadratic_forms(scaled: Floats, rows: Floats) -> Floats:
    """Return xᵀSx of each row x, where S is the sum of the products of the scaled tokens."""
    if len(scaled) < rows.shape[1]:
        return np.sum((scaled @ rows.T) ** 2, axis=0)
    return np.sum((rows @ (scaled.T @ scaled)) * rows, axis=1)
