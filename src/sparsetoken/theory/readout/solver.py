"""Finding the saddle point.

Three methods, from the quick to the patient:

* :func:`newton`: Newton's method on the stationarity conditions in x and log χ, from a good start;
* :func:`descend`: with χ, which maximizes, eliminated, the function of x is convex. Newton's method
  on it, damped as in Levenberg and Marquardt in the natural metric of the problem, the mean squared
  change of the scores, converges from any start, in about ten passes for smooth losses;
* :func:`continue_from_strong_ridge`: where interpolation makes the eliminated function stiff (a
  small ridge on separable data), the solution is followed from a ridge where it is easy, and from a
  smoothed loss where the loss has kinks.
"""

import math
from typing import NamedTuple

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.law import Readout
from sparsetoken.theory.readout.saddle import Derivatives, ReadoutObjective, evaluate

LARGEST = 1e100  # entry of a step: a method that asks for more has lost its way
_MOST_PASSES = 150
_SMOOTHINGS = (1.0, 0.1, 0.01, 1e-3, 1e-4)


class Saddle(NamedTuple):
    """A solution, one step behind the last pass on the way to it."""

    readout: Readout
    value: float
    done: Derivatives
    converged: bool


@np.errstate(all="ignore")  # overflow is allowed; a diverged method returns converged=False
def solve(
    objective: ReadoutObjective, start: Readout | None = None, tolerance: float = 1e-12
) -> Saddle:
    """Find the saddle point, with more patient methods where quicker ones fail."""
    if start is not None:
        if not math.isfinite(objective.alpha):
            start = start._replace(spread=0.0, log_chi=0.0)
        saddle = newton(objective, start, accuracy=max(1e-5, math.sqrt(0.1 * tolerance)))
        if saddle.converged:
            return saddle
    if objective.loss.smooth or objective.smoothing > 0.0:
        saddle = _minimize(objective, start, tolerance)
        if saddle.converged or fits_perfectly(objective, saddle.value):
            return saddle
    return continue_from_strong_ridge(objective)


def fits_perfectly(objective: ReadoutObjective, value: float) -> bool:
    """Whether the loss is zero to rounding with no ridge, so that the minimum is out of reach."""
    return objective.reg == 0.0 and value < 1e-12


def _minimize(objective: ReadoutObjective, start: Readout | None, tolerance: float) -> Saddle:
    """Descend, and let Newton's method finish what has not settled.

    The descent can stall close to the solution, where χ reaches its bound, or stop early where τ
    hardly matters for the value, as with a strong ridge.
    """
    saddle = descend(objective, start, tolerance)
    if saddle.converged or fits_perfectly(objective, saddle.value):
        return saddle
    finished = newton(objective, saddle.readout)
    return finished if finished.converged else saddle


def newton(
    objective: ReadoutObjective, start: Readout, most_passes: int = 12, accuracy: float = 1e-5
) -> Saddle:
    """Solve the stationarity conditions from a good start; gives up early from a bad one.

    It is done when a step changes the scores by less than ``accuracy``, relative to their size; the
    step is still taken, so the error is about its square.
    """
    readout, passes = start, 0
    while True:
        done = evaluate(objective, readout)
        passes += 1
        matrix, residual = done.system
        move, change = _bounded(done, -solve_scaled(matrix, residual))
        if math.isfinite(objective.alpha):
            change = max(change, abs(move[4]), abs(move[3]) / readout.spread)
        target = _stepped(readout, move, objective)
        settled = change < accuracy and _stationary(done)
        if settled or passes >= most_passes or not math.isfinite(change):
            value = done.value + 0.5 * float(residual @ move)
            return Saddle(target if settled else readout, value, done, settled)
        readout = target


def _bounded(done: Derivatives, move: Floats) -> tuple[Floats, float]:
    """Bound a step by what it does to the scores; also return that, relative to their size."""
    size = done.gradient.size
    scores = done.score_size(np.array(done.readout[:size]))
    change = done.score_size(move[:size])
    return move * min(1.0, 10.0 * (1.0 + scores) / (change + 1e-300)), change / (scores + 1e-300)


def _stationary(done: Derivatives) -> bool:
    """Whether the conditions hold relative to the size of their terms, at a sensible value."""
    at_rest = np.all(np.abs(done.gradient) <= 1e-3 * done.gradient_size)
    return bool(at_rest) and abs(done.excess) < 1e-3 and _sensible(done.objective, done.value)


def _sensible(objective: ReadoutObjective, value: float) -> bool:
    """Whether a minimum is not above the value of an untrained classifier."""
    untrained = max(objective.loss.value(0.0, 1.0), objective.loss.value(0.0, -1.0))
    return 0.0 <= value <= 1.001 * float(untrained)


def descend(
    objective: ReadoutObjective, start: Readout | None = None, tolerance: float = 1e-12
) -> Saddle:
    """Minimize the convex function of x to a relative accuracy of its value.

    The solution has converged if τ and χ have settled as well.
    """
    readout = start or _default_start(objective)
    log_chi = min(readout.log_chi, objective.largest_log_chi)
    done, passes = _fit_chi(objective, readout._replace(log_chi=log_chi))
    current = eliminate(done, objective.largest_log_chi)
    damping = helped = 0.0
    while passes < _MOST_PASSES and damping < 1e12 and not fits_perfectly(objective, current.value):
        # The metric's part keeps the step along a flat direction finite.
        floor = (damping + 1e-14) * done.metric
        move, _ = _bounded(done, -solve_scaled(current.hessian + floor, current.gradient))
        gain = -float(current.gradient @ move + 0.5 * move @ current.hessian @ move)
        noise = tolerance * abs(current.value)
        reaction = current.step + float(current.reaction @ move)
        target = _stepped(done.readout, np.append(move, reaction), objective)
        if damping == 0.0 and 0.0 <= gain <= noise:
            value = current.value - gain
            settled = abs(reaction) < 0.03 and (
                move.size < 4 or abs(move[3]) < 0.03 * done.readout.spread
            )
            return Saddle(target, value, done, bool(settled) and _sensible(objective, value))
        trial, used = _fit_chi(objective, target)
        passes += used
        proposed = eliminate(trial, objective.largest_log_chi)
        drop = current.value - proposed.value
        if gain > 0.0 and drop >= 1e-3 * gain - noise:
            helped = damping or helped
            damping = 0.0 if drop > 0.25 * gain else damping
            done, current = trial, proposed
        else:  # from what shortens the step by a third, or from a tenth of what helped last
            bend = float(move @ current.hessian @ move)
            least = 0.5 * bend / (float(move @ done.metric @ move) + 1e-300)
            damping = max(10.0 * damping, min(max(least, 1e-12), 1e-3), 0.1 * helped)
    return Saddle(done.readout, current.value, done, False)


def continue_from_strong_ridge(objective: ReadoutObjective) -> Saddle:
    """Follow the solution from a smooth loss and a strong ridge to those asked for."""
    readout: Readout | None = None
    scale = objective.points.average(objective.points.scale**2)
    reg = max(objective.reg, scale / objective.alpha)
    smoothings = (0.0,) if objective.loss.smooth else _SMOOTHINGS
    for smoothing in smoothings:
        less = objective._replace(reg=reg, smoothing=smoothing)
        smoother = _minimize(less, readout, 1e-9)
        if readout is not None and not smoother.converged and smoothing < 0.01:
            break  # a readout near zero: what is left of the smoothing changes little
        smooth, saddle, readout = less, smoother, smoother.readout
    if reg > objective.reg:
        lowered = _lower_ridge(smooth, saddle.readout, objective.reg)
        if not lowered.converged:  # as when nothing can be learned and the readout is near zero
            target = smooth._replace(reg=objective.reg)
            lowered = _minimize(target, saddle.readout, 1e-9)
        saddle = lowered
    if smooth.smoothing > 0.0:  # it changes little, but none is better
        exact = newton(objective, saddle.readout)
        if exact.converged:
            return exact
    return saddle


def _lower_ridge(objective: ReadoutObjective, readout: Readout, target: float) -> Saddle:
    """Lower the ridge in steps that Newton's method can follow."""
    step, previous = math.log(4.0), None
    least = target or 1e-7 * objective.reg  # from there to no ridge at all in one step
    while True:
        reg = objective.reg * math.exp(-step)
        reg = target if reg <= least else reg
        guess = readout
        if previous is not None and reg > 0.0:  # extrapolate in log λ
            before, log_change = previous
            ratio = math.log(reg / objective.reg) / log_change
            guess = shifted(readout, ratio * np.subtract(readout, before))
        saddle = newton(objective._replace(reg=reg), guess, most_passes=8)
        if saddle.converged:
            if reg <= target:
                return saddle
            previous = readout, math.log(reg / objective.reg)
            readout, objective = saddle.readout, objective._replace(reg=reg)
            step = min(1.5 * step, math.log(1e3))
        else:
            step *= 0.4
            if step < 0.02:
                return saddle


def shifted(readout: Readout, by: Floats) -> Readout:
    """Return a start near a solution; half of its spread stays at least."""
    moved = readout.moved(by)
    return moved._replace(spread=max(moved.spread, 0.5 * readout.spread))


def solve_scaled(matrix: Floats, vector: Floats) -> Floats:
    """Solve a symmetric system whose unknowns differ widely in scale, even if it is singular.

    A system that is not finite has no solution: NaN, which no method takes for convergence.
    """
    entries = np.abs(matrix)
    size = np.maximum(entries.diagonal(), 1e-12 * entries.max(axis=0)) + 1e-300
    scale = 1.0 / np.sqrt(size)
    scaled = scale[:, np.newaxis] * matrix * scale
    try:
        solution = np.linalg.solve(scaled, scale * vector)
        if np.abs(solution).max() < 1e8:
            return scale * solution
    except np.linalg.LinAlgError:
        pass
    if not np.isfinite(scaled).all() or not np.isfinite(vector).all():
        return np.full(vector.size, math.nan)
    return scale * np.linalg.lstsq(scaled, scale * vector, rcond=1e-14)[0]


class _Reduced(NamedTuple):
    """The convex function of x alone, to second order, with χ's reaction."""

    value: float
    gradient: Floats
    hessian: Floats
    step: float
    reaction: Floats


def eliminate(done: Derivatives, bound: float) -> _Reduced:
    """Maximize over log χ to second order, unless it sits at its bound."""
    at_bound = done.readout.log_chi >= bound and done.chi_gradient >= 0
    if at_bound or done.chi_hessian >= 0:
        zero = np.zeros_like(done.gradient)
        return _Reduced(done.value, done.gradient, done.hessian, 0.0, zero)
    move = -done.chi_gradient / done.chi_hessian
    reaction = -done.cross / done.chi_hessian
    return _Reduced(
        done.value + 0.5 * move * done.chi_gradient,
        done.gradient + done.cross * move,
        done.hessian + done.cross[:, np.newaxis] * reaction,
        move,
        reaction,
    )


def _default_start(objective: ReadoutObjective) -> Readout:
    """Scores of moderate size, or what a strong ridge leaves of them: τ = |ℓ′|c/(√α·λ)."""
    points = objective.points
    scale, slopes = points.average(points.scale), objective.loss.derivative(0.0, points.label)
    slope = max(math.sqrt(points.average(slopes**2)), 1e-3)
    most = slope * scale / max(objective.reg, 1e-300)
    along = min(0.1, most)
    query = along if points.along_query.any() else 0.0  # w₁ means nothing without a query
    if not math.isfinite(objective.alpha):
        return Readout(query, along, 0.0, 0.0, 0.0)
    root = math.sqrt(objective.alpha)
    spread = min(0.3 / scale, most / root)
    log_chi = math.log(spread / (slope * root * scale))
    return Readout(query, along, 0.0, spread, log_chi)


def _fit_chi(objective: ReadoutObjective, readout: Readout) -> tuple[Derivatives, int]:
    """Bring χ close enough to its maximizer for a second-order correction to do the rest.

    Returns the last pass, and how many there were.
    """
    bound = objective.largest_log_chi
    low, high = -math.inf, bound
    passes = 0
    while True:
        done = evaluate(objective, readout)
        passes += 1
        step = readout.log_chi
        close = abs(done.excess) < 0.3 * done.excess_slope
        if close or (step >= bound and done.excess < 0) or passes >= 60:
            return done, passes
        if done.excess < 0:
            low = step
        else:
            high = step
        new = step - min(max(done.excess / done.excess_slope, -4.0), 4.0)
        if not low < new < high:
            new = high if math.isinf(low) or high == bound else 0.5 * (low + high)
        readout = readout._replace(log_chi=new)


def _stepped(readout: Readout, move: Floats, objective: ReadoutObjective) -> Readout:
    """Take a step; τ stays positive, log χ below its bound, and squares within floats."""
    move = np.clip(move, -LARGEST, LARGEST)
    moved = readout._replace(
        along_query=readout.along_query + float(move[0]),
        along_rest=readout.along_rest + float(move[1]),
        bias=readout.bias + float(move[2]),
    )
    if not math.isfinite(objective.alpha):
        return moved
    spread = max(readout.spread + float(move[3]), 0.1 * readout.spread)
    log_chi = readout.log_chi + min(max(float(move[4]), -3.0), 3.0)
    return moved._replace(spread=spread, log_chi=min(log_chi, objective.largest_log_chi))
