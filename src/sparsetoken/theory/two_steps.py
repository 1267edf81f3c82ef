"""What two gradient steps teach the query (docs/theory, section 3)."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from sparsetoken._types import Floats
from sparsetoken._validation import LARGEST_RATE, check_flag, check_real
from sparsetoken.estimate import Record
from sparsetoken.losses import Loss, get_loss
from sparsetoken.problem import Problem, check_problem
from sparsetoken.theory.envelope_averages import envelope_moments


@dataclass(frozen=True)
class Alignment(Record):
    """Limit of readout, bias and query after the two gradient steps.

    ``cosine`` is the cosine between query and signal, ``sharpness`` is β‖q‖, ``query_overlap`` is
    ⟨q, ξ⟩; ``readout_overlap`` and ``readout_norm`` belong to the readout after the first step.
    ``misalignment`` is the constant C of ``abs(cosine)`` = 1 − C/alpha + o(1/alpha): how fast more
    data turn the query towards the signal (or away from it).
    """

    columns = (
        *("cosine", "sharpness", "query_norm", "query_overlap", "readout_norm", "readout_overlap"),
        *("bias", "misalignment"),
    )

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
    problem: Problem,
    *,
    alpha: float,
    loss: Any = "logistic",
    beta: float = 1.0,
    lr_readout: float = 1.0,
    lr_bias: float = 1.0,
    lr_query: float = 20.0,
    center: bool = False,
) -> Alignment:
    """Return what two gradient steps on ``alpha`` samples per dimension teach the query.

    All parameters start at zero; the first step on the mean loss moves readout and bias, the second
    the query. The cosine does not depend on ``beta`` and ``lr_query``, which set the sharpness.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    alpha : float
        Samples per dimension used for the two steps; ``math.inf`` for the population limit.
    loss : str or object, default="logistic"
        "logistic", "square", "hinge" or a loss object.
    beta : float, default=1.0
        Inverse temperature of the attention.
    lr_readout, lr_bias, lr_query : float
        Learning rates.
    center : bool, default=False
        Whether the second step subtracts the mean slope of the batch from each sample's, which
        long sequences need (docs/theory, section 15); the published step does not.

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
    beta = check_real("beta", beta, low=0.0, high=LARGEST_RATE)
    rates = {"lr_readout": lr_readout, "lr_bias": lr_bias, "lr_query": lr_query}
    for name, rate in rates.items():
        check_real(name, rate, low=0.0, high=LARGEST_RATE)
    center, loss = check_flag("center", center), get_loss(loss)
    check_problem(problem)
    steps = _two_steps(problem, loss, alpha, lr_readout, lr_bias, center)
    limit = _two_steps(problem, loss, math.inf, lr_readout, lr_bias, center)
    factor = lr_query * beta / steps.longest
    query_norm = factor * math.sqrt(steps.query_squared)
    overlap = -factor * float(steps.query_overlap)
    # 1 − γ² = (‖q‖² − ⟨q, ξ⟩²)/‖q‖², to first order in 1/α.
    signal_part = float(limit.query_overlap) ** 2
    misalignment = 0.5 * float(limit.noise) / signal_part if signal_part > 0 else math.inf
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
    """Both steps, the query without its factor −lr_query·β/(longest length).

    What depends on the bias has an entry for each of its learning rates.
    """

    readout_overlap: float
    readout_squared: float
    bias: Any
    query_overlap: Any
    query_squared: Any
    noise: Any  # α times the part of ‖q‖² orthogonal to the signal, to leading order in 1/α
    longest: float


def _two_steps(
    problem: Problem,
    loss: Loss,
    alpha: float,
    lr_readout: float,
    lr_bias: float | Floats,
    center: bool,
) -> _Steps:
    """Average over kinds, true classes and recorded labels (docs/theory, section 11)."""
    groups = problem.seen_by_one_query().groups
    kinds, positive, label, weight = (np.array(x) for x in zip(*groups, strict=True))
    length, n_signal, signal = (
        np.array([getattr(kind, name) for kind in kinds], dtype=float)
        for name in ("n_tokens", "n_signal", "signal")
    )
    signal = np.where(positive, signal, 0.0)
    sparsity = n_signal / length
    slope = np.asarray(loss.derivative(np.zeros(label.size), label), dtype=float)

    longest = float(length.max())  # the unit of length: ratios are exactly one for one length
    relative = longest / length
    overlap = float(np.sum(-lr_readout * weight * slope * signal * sparsity))
    readout_noise = lr_readout**2 * float(weight @ (slope**2 * relative)) / longest
    readout_squared = overlap**2 + readout_noise / alpha
    bias = -lr_bias * float(weight @ slope)

    memory = -lr_readout * slope / (alpha * length)  # each sample's memory of itself
    mean = np.add.outer(bias, memory + signal * sparsity * overlap)
    points = np.broadcast_arrays(label, mean, np.sqrt(readout_squared / length))
    labels, means, scales = (column.ravel() for column in points)
    moments = envelope_moments(loss, labels, means, scales, 1.0, 0.0)
    h, hh = moments.h.reshape(mean.shape), moments.hh.reshape(mean.shape)
    if center:
        level = np.expand_dims(h @ weight, -1)
        h, hh = h - level, hh - 2.0 * level * h + level**2

    k = n_signal * (1.0 - sparsity)
    others = (length - 1.0) * longest / (max(longest - 1.0, 1.0) * length)  # (L − 1)/L
    a = (longest - 1.0) * (h * others) @ weight
    b = (h * signal**2 * k * relative) @ weight * overlap
    energy = (longest - 1.0) * readout_squared * (hh * others * relative) @ weight
    energy += (hh * signal**2 * overlap**2 * k * relative**2) @ weight
    along = a * overlap + b
    squared = a**2 * readout_squared + 2 * a * b * overlap + b**2 + energy / alpha
    return _Steps(
        overlap, readout_squared, bias, along, squared, a**2 * readout_noise + energy, longest
    )


def best_bias_rate(
    problem: Problem,
    *,
    alpha: float,
    loss: Any = "logistic",
    lr_readout: float = 1.0,
    n_samples: float = math.inf,
) -> float:
    """Return the learning rate of the bias that aligns the query best with the signal.

    It is near the one at which the bias predicts the positive rate, so that the mean slope of the
    loss vanishes. For balanced classes every rate is as good in the limit; the one returned cancels
    the imbalance that chance brings.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    alpha : float
        Samples per dimension used for the two steps.
    loss : str or object, default="logistic"
        The loss.
    lr_readout : float, default=1.0
        Learning rate of the readout.
    n_samples : float, default=inf
        Number of samples used for the two steps: the rate is the best on average over the fractions
        of positives that so many may have.

    Examples
    --------
    >>> import sparsetoken as st
    >>> rare = st.SparseTokenProblem(n_tokens=10, signal=5.0, positive_rate=0.2)
    >>> rate = st.theory.best_bias_rate(rare, alpha=2.0)
    >>> round(st.theory.alignment(rare, alpha=2.0, lr_bias=rate).cosine, 2)
    0.85
    """
    alpha = check_real("alpha", alpha, low=0.0, above=True, infinite=True)
    lr_readout = check_real("lr_readout", lr_readout, low=0.0, high=LARGEST_RATE)
    n_samples = check_real("n_samples", n_samples, low=0.0, above=True, infinite=True)
    check_real("positive_rate", check_problem(problem).positive_rate, low=1e-6, high=1.0 - 1e-6)
    calibrated = _calibrated_rate(get_loss(loss), problem.positive_rate)
    any_rate = math.isinf(alpha) or (len(problem.groups) == 2 and problem.positive_rate == 0.5)
    if calibrated is not None and any_rate:
        return calibrated
    rates = possible_rates(problem.positive_rate, n_samples)
    problems = [problem] if math.isinf(n_samples) else [problem.with_rate(r) for r in rates]

    def cosine(rates: Floats) -> Floats:
        total = np.zeros(rates.size)
        for each in problems:
            steps = _two_steps(each, get_loss(loss), alpha, lr_readout, rates, False)
            norm = np.sqrt(steps.query_squared)
            total -= steps.query_overlap / np.where(norm > 0.0, norm, 1.0)
        return total

    grid = np.linspace(0.0, 3.0 * (calibrated or 7.0), 41)
    for _ in range(2):
        best = int(np.argmax(cosine(grid)))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)], 11)
    return float(grid[np.argmax(cosine(grid))])


def _calibrated_rate(loss: Loss, positive_rate: float) -> float | None:
    """Return the rate at which the bias predicts the positive rate; None if no bias does."""

    def slope(bias: float) -> float:
        by_label = loss.derivative(np.full(2, bias), np.array([1.0, -1.0]))
        return float(positive_rate * by_label[0] + (1.0 - positive_rate) * by_label[1])

    first = slope(0.0)
    if abs(positive_rate - 0.5) < 1e-6:  # the ratio of two small numbers
        bend = float(loss.second_derivative(np.zeros(1), np.ones(1))[0])
        return 1.0 / bend if bend > 0.0 else None
    far = -math.copysign(40.0, first)
    if not loss.smooth or slope(far) * first >= 0.0:
        return None
    return float(brentq(slope, 0.0, far, xtol=1e-14)) / -first


def possible_rates(positive_rate: float, n_samples: float) -> tuple[float, float]:
    """Return the positive rate of a sample, a standard deviation below and above the true one."""
    deviation = math.sqrt(positive_rate * (1.0 - positive_rate) / n_samples)
    low = max(positive_rate - deviation, 0.1 * positive_rate)
    high = min(positive_rate + deviation, 1.0 - 0.1 * (1.0 - positive_rate))
    return low, high
