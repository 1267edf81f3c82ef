"""What two gradient steps teach the query (docs/theory, section 3)."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from sparsetoken._validation import check_real
from sparsetoken.losses import Loss, get_loss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.smoothing import envelope_moments

__all__ = ["Alignment", "alignment", "best_bias_rate"]


@dataclass(frozen=True)
class Alignment:
    """Limit of readout, bias and query after the two gradient steps.

    ``cosine`` is that between query and signal, ``sharpness`` is β‖q‖, ``query_overlap`` is ⟨q, ξ⟩,
    ``readout_overlap`` and ``readout_norm`` are those of the readout after the first step.
    ``misalignment`` is the constant C of ``abs(cosine)`` = 1 − C/alpha + o(1/alpha): how fast more
    data turn the query towards the signal (or away from it).
    """

    cosine: float
    sharpness: float
    query_norm: float
    query_overlap: float
    readout_norm: float
    readout_overlap: float
    bias: float
    misalignment: float

    @property
    def anti_aligned(self) -> bool:
        """Whether the query points away from the signal: it then attends to the other tokens."""
        return self.cosine < 0.0


def alignment(
    problem: SparseTokenProblem,
    *,
    alpha: float,
    loss: Any = "logistic",
    beta: float = 1.0,
    lr_readout: float = 1.0,
    lr_bias: float = 1.0,
    lr_query: float = 20.0,
) -> Alignment:
    """Return what two gradient steps on ``alpha`` samples per dimension teach the query.

    All parameters start at zero; the first step on the mean loss moves readout and bias, the second
    the query. The cosine does not depend on ``beta`` and ``lr_query``, which set the sharpness.

    Parameters
    ----------
    problem : SparseTokenProblem
        The model of the data.
    alpha : float
        Samples per dimension used for the two steps; ``math.inf`` for the population limit.
    loss : str or object, default="logistic"
        "logistic", "square", "hinge" or a loss object.
    beta : float, default=1.0
        Inverse temperature of the attention.
    lr_readout, lr_bias, lr_query : float
        Learning rates.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> a = st.theory.alignment(problem, alpha=2.0)
    >>> round(a.cosine, 4), round(a.query_norm, 4), a.anti_aligned
    (0.9476, 1.4007, False)

    Without a step on the bias, rare positives turn the query the wrong way:

    >>> rare = st.SparseTokenProblem(n_tokens=10, signal=5.0, positive_rate=0.2)
    >>> st.theory.alignment(rare, alpha=2.0, lr_readout=2.0, lr_bias=0.0).anti_aligned
    True
    >>> st.theory.alignment(rare, alpha=2.0, lr_readout=2.0, lr_bias=3.0).anti_aligned
    False
    """
    alpha = check_real("alpha", alpha, low=0.0, above=True, infinite=True)
    beta = check_real("beta", beta, low=0.0)
    rates = {"lr_readout": lr_readout, "lr_bias": lr_bias, "lr_query": lr_query}
    for name, rate in rates.items():
        check_real(name, rate, low=0.0)
    loss = get_loss(loss)
    steps = _two_steps(problem, loss, alpha, lr_readout, lr_bias)
    limit = _two_steps(problem, loss, math.inf, lr_readout, lr_bias)
    factor = lr_query * beta / problem.n_tokens
    query_norm = factor * math.sqrt(steps.query_squared)
    overlap = -factor * steps.query_overlap
    # 1 − γ² = (‖q‖² − ⟨q, ξ⟩²)/‖q‖², to first order in 1/α.
    signal_part = limit.query_overlap**2
    misalignment = 0.5 * limit.noise / signal_part if signal_part > 0 else math.inf
    return Alignment(
        cosine=min(max(overlap / query_norm, -1.0), 1.0) if query_norm > 0 else 0.0,
        sharpness=beta * query_norm,
        query_norm=query_norm,
        query_overlap=overlap,
        readout_norm=math.sqrt(steps.readout_squared),
        readout_overlap=steps.readout_overlap,
        bias=steps.bias,
        misalignment=misalignment,
    )


class _Steps(NamedTuple):
    """Both steps, the query without its factor −lr_query·β/L."""

    readout_overlap: float
    readout_squared: float
    bias: float
    query_overlap: float
    query_squared: float
    noise: float
    """α times the part of ‖q‖² orthogonal to the signal, to leading order in 1/α."""


def _two_steps(
    problem: SparseTokenProblem, loss: Loss, alpha: float, lr_readout: float, lr_bias: float
) -> _Steps:
    rate, n_tokens, signal = problem.positive_rate, problem.n_tokens, problem.signal
    rates = np.array([rate, 1.0 - rate])
    label = np.array([1.0, -1.0])
    slope = np.asarray(loss.derivative(np.zeros(2), label), dtype=float)  # ℓ′₊, ℓ′₋

    overlap = -lr_readout * rate * float(slope[0]) * signal * problem.sparsity
    readout_noise = lr_readout**2 * float(rates @ slope**2) / n_tokens
    readout_squared = overlap**2 + readout_noise / alpha
    bias = -lr_bias * float(rates @ slope)

    memory = -lr_readout * slope / (alpha * n_tokens)  # each sample's memory of itself
    mean = bias + memory + np.array([signal * problem.sparsity * overlap, 0.0])
    deviation = np.full(2, math.sqrt(readout_squared / n_tokens))
    h = envelope_moments(loss, label, mean, deviation, 1.0, 0.0)

    k = problem.n_signal * (1.0 - problem.sparsity)
    a = (n_tokens - 1) * float(rates @ h.h)
    b = rate * float(h.h[0]) * signal**2 * k * overlap
    energy = (n_tokens - 1) * readout_squared * float(rates @ h.hh)
    energy += rate * float(h.hh[0]) * signal**2 * overlap**2 * k
    along = a * overlap + b
    squared = a**2 * readout_squared + 2 * a * b * overlap + b**2 + energy / alpha
    return _Steps(overlap, readout_squared, bias, along, squared, a**2 * readout_noise + energy)


def best_bias_rate(
    problem: SparseTokenProblem,
    *,
    alpha: float,
    loss: Any = "logistic",
    lr_readout: float = 1.0,
    largest: float = 20.0,
) -> float:
    """Return the learning rate of the bias that aligns the query best with the signal.

    Parameters
    ----------
    problem : SparseTokenProblem
        The model of the data.
    alpha : float
        Samples per dimension used for the two steps.
    loss : str or object, default="logistic"
        The loss.
    lr_readout : float, default=1.0
        Learning rate of the readout.
    largest : float, default=20.0
        Upper end of the search.

    Examples
    --------
    >>> import sparsetoken as st
    >>> rare = st.SparseTokenProblem(n_tokens=10, signal=5.0, positive_rate=0.2)
    >>> rate = st.theory.best_bias_rate(rare, alpha=2.0)
    >>> round(st.theory.alignment(rare, alpha=2.0, lr_bias=rate).cosine, 2)
    0.85
    """
    largest = check_real("largest", largest, low=0.0, above=True)

    def loss_of_alignment(rate: float) -> float:
        learned = alignment(
            problem, alpha=alpha, loss=loss, lr_readout=lr_readout, lr_bias=float(rate)
        )
        return -learned.cosine

    grid = np.linspace(0.0, largest, 41)
    values = [loss_of_alignment(rate) for rate in grid]
    best = int(np.argmin(values))
    bracket = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 40)]))
    found = minimize_scalar(loss_of_alignment, bounds=bracket, method="bounded")
    return float(found.x) if found.fun < values[best] else float(grid[best])
