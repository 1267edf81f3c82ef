"""What each architecture can reach at all if it knows the signal (docs/theory, section 6)."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr, ndtr
from scipy.stats import hypergeom

from sparsetoken._types import Floats
from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.estimate import Estimate
from sparsetoken.law import linear_law
from sparsetoken.performance import LEAST_UNCERTAINTY
from sparsetoken.pooling import Elementwise, Pooling, Softmax
from sparsetoken.problem import Problem, SparseTokenProblem, check_problem
from sparsetoken.theory.bayes import bayes_rule
from sparsetoken.theory.features import BATCHES, DEFAULT_POINTS
from sparsetoken.theory.token_scores import WeightedSamples

_LARGEST_SIGNAL = 1e6


def oracle_error(problem: Problem, model: str, *, n_points: int = DEFAULT_POINTS) -> Estimate:
    """Return the least error of an architecture whose weights are chosen with the signal known.

    No amount of data brings a trained classifier below it. The readout is along the signal, the
    threshold is the best one, and so are the sharpness of attention and the number of tokens over
    which a vectorized rule spreads.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data. A population has one threshold for all its kinds, except that "bayes"
        sees the length.
    model : {"pooled", "vectorized", "attention", "hardmax", "elementwise", "bayes"}
        The architecture; "bayes" is the floor for any classifier. Pooled, vectorized and hardmax
        are exact at any length.
    n_points : int, default=16384
        Points per class for the others.

    Returns
    -------
    Estimate
        A float with ``uncertainty``; for attention and elementwise also the best ``sharpness``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=100, signal=4.0)
    >>> st.theory.oracle_error(problem, "pooled")
    Estimate(0.42074 ± 0)
    >>> st.theory.oracle_error(problem, "hardmax")
    Estimate(0.129754 ± 0)
    """
    check_choice("model", model, _ORACLES)
    n_points = check_count("n_points", n_points, minimum=256)
    check_problem(problem)
    if min(problem.positive_rate, 1.0 - problem.positive_rate) == 0.0:
        return Estimate(0.0)
    if model != "bayes":
        problem = problem.seen_by_one_query()
    if model not in _SEE_POSITIONS:
        problem = problem.map(lambda kind: replace(kind, contiguous=False))
    return _ORACLES[model](problem, n_points)


def required_signal(
    problem: Problem, model: str, *, error: float, n_points: int = DEFAULT_POINTS
) -> Estimate:
    """Return the signal at which an architecture can reach a given error.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        Length, sparsity and rate; the signal of a problem is ignored. Of a population the strengths
        are multiplied by a common factor, which is returned.
    model : {"pooled", "vectorized", "attention", "hardmax", "elementwise", "bayes"}
        The architecture.
    error : float
        The error to reach, above 0. At or above min(rate, 1 − rate) no signal is needed.
    n_points : int, default=16384
        Points per class where there is no closed form.

    Returns
    -------
    Estimate
        A float with ``uncertainty``.

    Examples
    --------
    Linear rules need a signal of order √L, attention one of order √(2 log L):

    >>> import sparsetoken as st
    >>> for n_tokens in (100, 10_000, 1_000_000):
    ...     problem = st.SparseTokenProblem(n_tokens)
    ...     pooled = st.theory.required_signal(problem, "pooled", error=0.05)
    ...     hardmax = st.theory.required_signal(problem, "hardmax", error=0.05)
    ...     print(f"{pooled:.1f} {hardmax:.1f}")
    32.9 4.9
    329.0 6.0
    3289.7 6.9
    """
    check_choice("model", model, _ORACLES)
    error = check_real("error", error, low=0.0, high=1.0, above=True)
    check_problem(problem)
    if error >= min(problem.positive_rate, 1.0 - problem.positive_rate):
        return Estimate(0.0)

    base = replace(problem, signal=1.0) if isinstance(problem, SparseTokenProblem) else problem

    def reached(factor: float) -> Estimate:
        strong = base.scaled(factor)
        return oracle_error(strong, model, n_points=n_points)

    high = 1.0
    while reached(high) > error:
        high *= 2.0
        if high > _LARGEST_SIGNAL:
            raise ValueError(
                f"error must be reachable: {model} stays above {error:g} up to signal {high / 2:g}"
            )
    low = 0.5 * high if high > 1.0 else 0.0
    signal = brentq(lambda x: float(reached(x)) - error, low, high, xtol=1e-6 * high, rtol=1e-6)
    slope = (float(reached(1.01 * signal)) - float(reached(0.99 * signal))) / (0.02 * signal)
    bar = max(reached(signal).uncertainty, 1e-6 * error)  # the root is not better than that
    return Estimate(signal, bar / max(abs(slope), 1e-300))


def _best_threshold(
    problem: Problem, error: Callable[[Floats], Floats], low: float, high: float
) -> float:
    """Return the least error of a threshold between ``low`` and ``high``."""
    grid = np.linspace(low, high, min(20_000, max(200, int(20 * (high - low)))))
    values = error(grid)
    best = int(np.argmin(values))
    bracket = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    least = minimize_scalar(
        lambda t: float(error(np.array([t]))[0]), bounds=bracket, method="bounded"
    )
    rate = problem.positive_rate  # of the trivial rules one errs this often, one the other times
    return min(float(least.fun), float(values[best]), rate, 1.0 - rate)


def _of_gaussians(
    problem: Problem, weight: Floats, label: Floats, mean: Floats, scale: Floats
) -> float:
    """Return the least error of a threshold on a score that is Gaussian in parts of the samples."""

    def error(threshold: Floats) -> Floats:
        return np.asarray(ndtr(label * np.subtract.outer(threshold, mean) / scale) @ weight)

    return _best_threshold(problem, error, (mean - 9 * scale).min(), (mean + 9 * scale).max())


def _pooled(problem: Problem, n_points: int) -> Estimate:
    points = linear_law(problem, problem.lengths[-1]).points
    parts = points.weight, points.label, points.along_rest, points.scale
    return Estimate(_of_gaussians(problem, *parts))


def _vectorized(problem: Problem, n_points: int) -> Estimate:
    """Best even spread over some number of tokens: a mixture, by how many of them carry signal."""
    n_tokens = problem.only_length("model 'vectorized' needs")
    best = math.inf
    for count in np.unique(np.geomspace(1, n_tokens, 60).round().astype(int)).tolist():
        parts = []
        for kind, positive, label, probability in problem.groups:
            mean, chance = np.zeros(1), np.ones(1)
            if positive:
                n_signal, chance = _signal_among(count, n_tokens, kind.n_signal, kind.in_runs)
                mean = kind.signal * n_signal / math.sqrt(count)
            parts.append(np.broadcast_arrays(probability * chance, label, mean, 1.0))
        best = min(best, _of_gaussians(problem, *np.concatenate(parts, axis=1)))
    return Estimate(best)


@lru_cache(maxsize=256)
def _signal_among(count: int, n_tokens: int, n_signal: int, in_runs: bool) -> tuple[Floats, Floats]:
    """Return how many of ``count`` tokens may carry the signal, and with what probabilities.

    Of runs, those in the middle of the sequence are chosen.
    """
    if in_runs:
        first = (n_tokens - count) // 2
        start = np.arange(n_tokens - n_signal + 1)
        among = np.minimum(start + n_signal, first + count) - np.maximum(start, first)
        counts, times = np.unique(np.maximum(among, 0), return_counts=True)
        return counts, times / start.size
    low, high = hypergeom.interval(1 - 1e-12, n_tokens, n_signal, count)
    counts = np.arange(max(low - 1, 0), min(high + 1, n_signal, count) + 1)
    chance = hypergeom.pmf(counts, n_tokens, n_signal, count)
    return counts, chance / chance.sum()


def _hardmax(problem: Problem, n_points: int) -> Estimate:
    """All the weight on the largest token: the law of a maximum, in closed form."""

    def error(threshold: Floats) -> Floats:
        total = np.zeros_like(threshold)
        for kind, positive, label, probability in problem.groups:
            marked = kind.n_signal if positive else 0
            log_below = marked * log_ndtr(threshold - kind.signal)
            log_below += (kind.n_tokens - marked) * log_ndtr(threshold)
            total += probability * (np.exp(log_below) if label > 0 else -np.expm1(log_below))
        return total

    top = max(kind.signal + math.sqrt(2 * math.log(kind.n_tokens + 1)) for kind in problem.kinds)
    return Estimate(_best_threshold(problem, error, -9.0, top + 9.0))


def _sharpened(problem: Problem, n_points: int, pooling: Pooling) -> Estimate:
    """Search the sharpness on a quarter of the points, which hardly moves it; then use all."""
    quarter, every = (WeightedSamples(problem, n) for n in (max(256, n_points // 4), n_points))

    def at(log_sharpness: float) -> float:
        return _least_error(quarter, pooling, math.exp(log_sharpness))

    grid = np.linspace(math.log(0.1), math.log(30.0), 13)
    values = np.array([at(point) for point in grid])
    lower = np.diff(values) < 0
    candidates = []
    for index in 1 + np.flatnonzero(lower[:-1] & ~lower[1:]):
        bracket = float(grid[index - 1]), float(grid[index + 1])
        least = minimize_scalar(at, bounds=bracket, method="bounded", options={"xatol": 0.05})
        candidates.append(float(least.x))
    mean_to_max = isinstance(pooling, Softmax)  # as it gets sharper
    candidates += [grid[values.argmin()]] if mean_to_max else grid[[0, -1]].tolist()
    reached = [_least_error(every, pooling, math.exp(point)) for point in candidates]
    if mean_to_max:  # both limits are known exactly
        for limit, sharpness in ((_pooled, 0.0), (_hardmax, math.inf)):
            reached.append(Estimate(limit(problem, 0), LEAST_UNCERTAINTY, sharpness=sharpness))
    best = min(reached)
    # Those that may be the best too are as uncertain as it is to be the least.
    rivals = [other for other in reached if other - 3.0 * other.uncertainty <= best]
    bar = max(other.uncertainty for other in rivals)
    return Estimate(best, bar, sharpness=vars(best)["sharpness"])


def _least_error(samples: WeightedSamples, pooling: Pooling, sharpness: float) -> Estimate:
    """Return the least error of a threshold on the pooled feature along the signal.

    The step at the threshold is smoothed by a kernel of fourth order, 2Φ(·/h) − Φ(·/√2h): steps at
    the points would favor the threshold that suits the sample, and spoil the Sobol points. No rule
    is better on the points than that of the likelihood ratio.
    """
    problem, missed, alarm = samples.problem, samples.missed, samples.alarm
    features = [
        [np.einsum("nl,nl->n", pooling.weights(sharpness * x), x) for x in samples.tokens(batch)]
        for batch in range(BATCHES)
    ]
    scores = np.stack([np.concatenate(lengths) for lengths in features])
    # The last points are negatives of one kind.
    n_noise = features[0][-1].size // (2 * len(problem.by_length[-1].kinds))
    width = 0.1 * float(scores[:, -n_noise:].std()) + 1e-12

    def each(threshold: float) -> Floats:
        z = (threshold - scores) / width
        below = 2.0 * ndtr(z) - ndtr(z / math.sqrt(2.0))
        return alarm + (missed - alarm) * below

    # Start from the best threshold of the points themselves.
    order = np.argsort(scores, axis=None)
    best = int(np.argmin(np.cumsum((missed - alarm).ravel()[order])))
    start = float(scores.ravel()[order[best]])
    minimum = minimize_scalar(
        lambda t: float(each(t).mean()),
        bounds=(start - 5 * width, start + 5 * width),
        method="bounded",
        options={"xatol": 0.02 * width},
    )
    rate = problem.positive_rate
    least = float(np.minimum(missed, alarm).mean())
    value = min(max(float(minimum.fun), least), rate, 1.0 - rate)
    return samples.estimate(value, lambda: each(float(minimum.x)).mean(axis=1), sharpness=sharpness)


def _bayes(problem: Problem, n_points: int) -> Estimate:
    """Take the likelihood ratio's error; rules whose error is known exactly bound it from above."""
    bounds = [rule(problem.seen_by_one_query(), 0) for rule in (_pooled, _hardmax)]
    estimate = bayes_rule(problem, n_points).error
    return Estimate(min(estimate, *bounds), estimate.uncertainty)


_ORACLES: dict[str, Callable[[Problem, int], Any]] = {
    "pooled": _pooled,
    "vectorized": _vectorized,
    "attention": partial(_sharpened, pooling=Softmax()),
    "hardmax": _hardmax,
    "elementwise": partial(_sharpened, pooling=Elementwise()),
    "bayes": _bayes,
}
_SEE_POSITIONS = ("vectorized", "bayes")
