"""The model's parameters from pilot data: signal strength, sparsity and positive rate."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.covariance import ledoit_wolf

from sparsetoken._validation import check_count
from sparsetoken.estimators.conversion import as_sequences
from sparsetoken.estimators.sequences import Sequences
from sparsetoken.planner.moments import TokenSummary, estimate_moments, summarise
from sparsetoken.problem import RandomState, SparseTokenProblem

__all__ = ["PilotEstimate", "PilotWarning", "estimate_problem"]

Array = NDArray[np.float64]

_GROUPS = 20
_FEWEST = 4  # samples of a class
_DETECTED = 2.0  # standard errors


class PilotWarning(UserWarning):
    """The pilot data cannot tell the signal from noise."""


@dataclass(frozen=True, repr=False)
class PilotEstimate:
    """What pilot data say about the problem; made by :func:`estimate_problem`."""

    problem: SparseTokenProblem
    """The problem to plan with: ``n_signal`` rounded, and the signal given that number."""
    signal: float
    """Strength θ, both moments taken at their word."""
    n_signal: float
    """Number R of signal tokens, not rounded."""
    positive_rate: float
    standard_errors: dict[str, float]
    """Of ``signal``, ``n_signal``, ``positive_rate`` and, as ``problem.signal``, of that one."""
    evidence: float
    """Class difference of the mean tokens (squared norm) in standard errors."""
    n_samples: int
    dim: int

    @property
    def reliable(self) -> bool:
        """Whether the pilot tells the signal from noise."""
        return self.evidence >= _DETECTED and self.signal > 0

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={getattr(self, name):.3g} ± {self.standard_errors[name]:.2g}"
            for name in ("signal", "n_signal", "positive_rate")
        )
        flag = "" if self.reliable else ", reliable=False"
        return f"PilotEstimate({parts}, n_tokens={self.problem.n_tokens}{flag})"


def estimate_problem(X: Any, y: ArrayLike, *, random_state: RandomState = 0) -> PilotEstimate:
    """Estimate signal strength, sparsity and rate from labelled pilot sequences.

    The tokens are centred and whitened by the negatives' mean and covariance, the latter shrunk
    towards a multiple of the identity as Ledoit and Wolf do: fully so where the tokens are too few
    for their dimension. Then the class differences of first and second moments are compared, free
    of the bias of high dimension, with standard errors by a jackknife over groups of samples.

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
    n_groups = _GROUPS if sequences.dim <= 256 else _GROUPS // 2  # bounds the memory
    n_groups = min(n_groups, int(positive.sum()), int((~positive).sum()))
    classes = [_summarise(white, sequences, mask, n_groups, rng) for mask in (positive, ~positive)]
    moments = estimate_moments(*(part.without(None) for part in classes))
    left_out = [
        estimate_moments(*(part.without(group) for part in classes))
        for group in range(classes[0].size.size)
    ]
    whole = max(1, round(n_tokens))
    n_signal = min(max(1, round(moments.n_signal(n_tokens))), whole)
    signal = moments.signal_given(n_signal, n_tokens)
    rate = float(positive.mean())
    problem = SparseTokenProblem(whole, n_signal, signal, rate)
    errors = {
        "signal": _jackknife([m.signal() for m in left_out]),
        "n_signal": _jackknife([m.n_signal(n_tokens) for m in left_out]),
        "positive_rate": math.sqrt(rate * (1 - rate) / positive.size),
        "problem.signal": _jackknife([m.signal_given(n_signal, n_tokens) for m in left_out]),
    }
    spread = _jackknife([m.mean for m in left_out])
    estimate = PilotEstimate(
        problem,
        moments.signal(),
        moments.n_signal(n_tokens),
        rate,
        errors,
        moments.mean / spread if spread > 0 else math.inf,
        positive.size,
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
    """Return the tokens in units of the negatives' noise."""
    of_token = np.repeat(positive, sequences.lengths)
    tokens = sequences.tokens.astype(np.float64)
    tokens = tokens - tokens[~of_token].mean(axis=0)
    covariance = ledoit_wolf(tokens[~of_token], assume_centered=True)[0]
    values, vectors = np.linalg.eigh(covariance)
    floor = 1e-10 * float(values.max())
    if floor <= 0.0:
        raise ValueError("X must vary: the tokens of the negative samples are all the same")
    return tokens @ (vectors / np.sqrt(np.maximum(values, floor)))


def _summarise(
    white: Array,
    sequences: Sequences,
    mask: NDArray[np.bool_],
    n_groups: int,
    rng: np.random.Generator,
) -> TokenSummary:
    part = Sequences(white, sequences.offsets)[np.flatnonzero(mask)]
    return summarise(part.tokens, part.offsets, rng.permutation(len(part)) % n_groups)


def _jackknife(values: list[float]) -> float:
    """Return the standard error from the estimates with one group left out each."""
    size = len(values)
    return math.sqrt((size - 1) * float(np.var(values)))
