"""Training on the same samples at every step: each remembers its own influence.

The gradient of step s is random along the directions that a sample sees, with covariance
C(s, s′)/α, where C = E[AˢᵀA^s′]. A sample sees it as

    U_s = (θv + g)·pull_s + e_s + A^s/α,      e ~ N(0, C/α),   g ~ N(0, 1),

the signal, the other samples' noise and its own influence. Its projections at step t are

    h^t = −Σ_{s<t} U_s G(t, s),     G(t+1, s) = G(t, s) − X(t, s)·H_t,     G(t+1, t) = H_t

with the rates H and the response X(t, s) of A^t to a kick in U_s, averaged over the samples
(docs/theory, section 13). So samples are simulated as particles with 2LT normals each. Three
things keep the averages accurate: Sobol points; the same average over the Gaussian that fits the
particles best, known from one-dimensional quadrature, as control variate (exact for the first two
steps); and the response from derivatives, not from correlations with the noise.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.losses import Loss
from sparsetoken.problem import Group, SparseTokenProblem
from sparsetoken.theory.features import sobol_normals
from sparsetoken.theory.open.averages import (
    SUMS,
    Averages,
    Projections,
    gaussian_averages,
    influence_sums,
    signal_tokens,
)
from sparsetoken.theory.open.fresh import NewSamples, Parameters, observe, row_of
from sparsetoken.theory.open.kernels import (
    attend,
    cross_energies,
    project,
    project_step,
    propagate_derivatives,
    store_influence,
)
from sparsetoken.theory.open.schedule import Schedule, too_large

MOST_STEPS = 50
_MOST_NUMBERS = 8_000_000  # per array of a group
_MOST_TANGENTS = 64_000_000  # of all groups: the response is the noisiest of the averages
_DEPENDENT = 1e-13  # fraction of a variance below which it is rounding
_SEED = 13


def run_reused(points: NewSamples, schedule: Schedule, batch: int) -> list[Floats]:
    """Return the rows of :func:`row_of` after each step, up to the first that is too large."""
    particles = _draw(points, schedule.steps, batch)
    history = _History(schedule)
    bias, rows = 0.0, []
    for t in range(schedule.steps + 1):
        at = Parameters(*history.parameters(t), bias)
        if too_large(at.gram, at.bias, schedule.beta):
            break
        last = t == schedule.steps
        each = [one_group.observe(history, at, t, last) for one_group in particles]
        seen = _average(each, points.groups)
        if t > 0:
            rows.append(row_of(at, seen.averages.loss, observe(points, at).error))
        if not last:
            history.add(t, seen)
            bias -= schedule.lr_bias[t] * seen.averages.slope
            for one_group in particles:
                one_group.remember(history, t)
    return rows


class _Seen(NamedTuple):
    """Averages at one step: as for new samples, and those with earlier steps."""

    averages: Averages
    """Without the error, which new samples tell."""
    cross: Floats
    """C(s, t) for s < t, shape (2t, 2)."""
    memory_response: Floats
    """The part of X(t, s) that comes by memory, shape (2t, 2)."""


def _average(each: list[_Seen], groups: tuple[Group, ...]) -> _Seen:
    """Average over the groups by their probabilities."""

    def total(terms: Iterable[Any]) -> Any:
        return sum(group.probability * term for group, term in zip(groups, terms, strict=True))

    averages = (total(column) for column in zip(*(seen.averages for seen in each), strict=True))
    return _Seen(
        Averages(*averages),
        total(seen.cross for seen in each),
        total(seen.memory_response for seen in each),
    )


@dataclass
class _History:
    """What the steps so far have done to the parameters; step s has rows 2s and 2s + 1."""

    schedule: Schedule
    pull: Floats = field(init=False)
    covariance: Floats = field(init=False)
    """C/α"""
    root: Floats = field(init=False)
    """Its Cholesky factor."""
    propagator: Floats = field(init=False)
    """G(t, s) of the step at hand, shape (2·steps, 2)."""

    def __post_init__(self) -> None:
        size = 2 * self.schedule.steps
        self.pull, self.propagator = np.zeros(size), np.zeros((size, 2))
        self.covariance, self.root = np.zeros((size, size)), np.zeros((size, size))

    def parameters(self, t: int) -> tuple[Floats, Floats]:
        """Return overlaps and inner products after t steps."""
        propagator, covariance = self.propagator[: 2 * t], self.covariance[: 2 * t, : 2 * t]
        overlap = -self.pull[: 2 * t] @ propagator
        return overlap, np.outer(overlap, overlap) + propagator.T @ covariance @ propagator

    def add(self, t: int, seen: _Seen) -> None:
        """Take step t."""
        now, end = slice(2 * t, 2 * t + 2), 2 * t + 2
        rates = self.schedule.rates[t]
        a = seen.averages
        self.pull[now] = a.pull
        self.covariance[: 2 * t, now] = seen.cross / self.schedule.alpha
        self.covariance[now, : 2 * t] = self.covariance[: 2 * t, now].T
        self.covariance[now, now] = a.energy / self.schedule.alpha
        _extend_root(self.covariance, self.root, 2 * t, end)
        direct = self.propagator[: 2 * t] @ (a.response + self.schedule.reg * np.eye(2))
        self.propagator[: 2 * t] -= (direct + seen.memory_response) * rates
        self.propagator[now] = np.diag(rates)


def _extend_root(matrix: Floats, root: Floats, start: int, end: int) -> None:
    """Add rows to a Cholesky factor; a row that depends on those before it gets no new noise.

    The matrix is an estimate, so a row may ask for more than its own variance: it gets no more.
    """
    for i in range(start, end):
        left = max(float(matrix[i, i]), 0.0)
        for j in range(i):
            if root[j, j] > 0.0:
                entry = (matrix[i, j] - root[i, :j] @ root[j, :j]) / root[j, j]
                root[i, j] = math.copysign(min(abs(entry), math.sqrt(left)), entry)
                left = max(left - root[i, j] ** 2, 0.0)
        root[i, i] = math.sqrt(left) if left > _DEPENDENT * matrix[i, i] else 0.0


@dataclass
class _Particles:
    """The particles of one group. Arrays are (particles, steps, 2, tokens)."""

    group: Group
    beta: float
    loss: Loss
    noise: Floats
    """Normals used for the Gaussian averages."""
    signal: Floats
    """θv + g, shape (particles, tokens)."""
    normals: Floats
    """The normals behind e."""
    signs: Floats
    """Random signs of the tokens of those particles whose derivatives are followed."""
    seen: Floats = field(init=False)
    """U_s"""
    influence: Floats = field(init=False)
    """A^s"""
    tangents: Floats = field(init=False)
    """Derivatives of A^s by each kick, shape (followed, 2·steps, steps, 2, tokens)."""

    def __post_init__(self) -> None:
        particles, steps, _, n_tokens = self.normals.shape
        self.seen, self.influence = np.zeros((2, particles, steps, 2, n_tokens))
        self.tangents = np.zeros((len(self.signs), 2 * steps, steps, 2, n_tokens))

    def observe(self, history: _History, at: Parameters, t: int, last: bool) -> _Seen:
        """Average over the particles at step t, and keep their influence."""
        propagator, alpha = history.propagator, history.schedule.alpha
        h = np.zeros((2, *self.signal.shape))
        memory = np.zeros_like(h)
        project(self.seen, propagator, t, h)
        project(self.influence, propagator / alpha, t, memory)
        values, weights, delta, slopes = self._sums(h, at.bias)
        controls, exact = self._controls(h, memory, at)
        cross = np.zeros((0 if last else 4 * t, len(h[0])))
        memory_response = np.zeros((2 * t, 2))
        if not last:
            store_influence(weights, delta, slopes[0], self.beta, self.influence[:, t])
            cross_energies(self.influence, t, cross)
            moving = np.repeat(np.any(history.schedule.rates[:t] > 0.0, axis=1), 2)
            propagate_derivatives(
                weights, delta, *slopes, self.beta, t, propagator, 1.0 / alpha, moving, self.signs,
                self.tangents, memory_response,
            )  # fmt: skip
            memory_response /= len(self.signs)
        means = _adjusted(np.concatenate([values, cross]), controls, exact)
        averages = Averages.from_sums(np.append(means[:SUMS], 0.0))
        return _Seen(averages, means[SUMS:].reshape(-1, 2), memory_response)

    def remember(self, history: _History, t: int) -> None:
        """Store what each particle saw of step t."""
        now, end = slice(2 * t, 2 * t + 2), 2 * t + 2
        project_step(
            self.normals, history.root[now, :end], history.pull[now], self.signal, self.influence,
            1.0 / history.schedule.alpha, t, self.seen,
        )  # fmt: skip

    def _sums(self, h: Floats, bias: float) -> tuple[Floats, Floats, Floats, tuple[Floats, Floats]]:
        weights, delta, score = np.empty_like(h[0]), np.empty_like(h[0]), np.empty(len(h[0]))
        attend(h, self.beta, weights, delta, score)
        label = np.full(len(score), self.group.label)
        slopes = tuple(
            np.asarray(f(score + bias, label), dtype=float) + np.zeros(len(score))
            for f in (self.loss.derivative, self.loss.second_derivative)
        )
        sums = np.empty((SUMS, len(score)))
        signal = self.group.kind.signal
        influence_sums(weights, delta, *slopes, self.beta, signal_tokens(self.group), signal, sums)
        sums[9] = self.loss.value(score + bias, label)
        return sums, weights, delta, (slopes[0], slopes[1])

    def _controls(self, h: Floats, memory: Floats, at: Parameters) -> tuple[Floats, Floats]:
        """Return the sums of a Gaussian near each particle's h, and their exact averages.

        Memory is replaced by its mean, over tokens with signal and over the others, and by its
        regression on the Gaussian part of h.
        """
        n_signal, strength = signal_tokens(self.group), self.group.kind.signal
        gaussian = h - memory
        gaussian[:, :, :n_signal] -= strength * at.overlap[:, np.newaxis, np.newaxis]
        means = np.zeros((2, 2))
        for row, tokens in enumerate((slice(n_signal), slice(n_signal, None))):
            if memory[:, :, tokens].size:
                means[row] = memory[:, :, tokens].mean(axis=(1, 2))
                memory[:, :, tokens] -= means[row][:, np.newaxis, np.newaxis]
        x = gaussian.reshape(2, -1)
        mixing = np.linalg.pinv(x @ x.T, rcond=1e-10, hermitian=True) @ (
            x @ memory.reshape(2, -1).T
        )
        mixing += np.eye(2)
        close = (mixing.T @ x).reshape(h.shape)
        shift = strength * at.overlap + means[0] - means[1] if n_signal else np.zeros(2)
        close[:, :, :n_signal] += shift[:, np.newaxis, np.newaxis]
        offset = at.bias + float(means[1, 1])
        law = Projections(shift, mixing.T @ at.gram @ mixing, offset)
        exact = gaussian_averages(self.group, law, self.noise, self.beta, self.loss)
        return self._sums(close, offset)[0], exact[:SUMS]


def _draw(points: NewSamples, steps: int, batch: int) -> list[_Particles]:
    """Draw the particles of each group; classes of one kind share their normals."""
    drawn: dict[SparseTokenProblem, tuple[Floats, Floats, Floats]] = {}
    particles = []
    for group, noise in zip(points.groups, points.noise, strict=True):
        kind = group.kind
        if kind not in drawn:
            seed = [_SEED, batch, len(drawn)]
            most = _MOST_TANGENTS / len(points.groups)
            drawn[kind] = _normals(kind.n_tokens, steps, len(noise), most, seed)
        along, normals, signs = drawn[kind]
        signal = along.copy()
        signal[:, : signal_tokens(group)] += kind.signal
        particles.append(_Particles(group, points.beta, points.loss, noise, signal, normals, signs))
    return particles


def _normals(
    n_tokens: int, steps: int, rows: int, tangents: float, seed: list[int]
) -> tuple[Floats, Floats, Floats]:
    """Return the normals along the signal, those behind e, and the signs.

    The first gradient has no query part, so there is one normal less for it.
    """
    rng = np.random.default_rng(seed)
    rows = min(rows, _power_of_two(_MOST_NUMBERS / (2 * steps * n_tokens)))
    followed = min(rows // 2, _power_of_two(tangents / (4 * steps**2 * n_tokens)))
    z = sobol_normals(rows, 2 * steps * n_tokens, rng).reshape(rows, 2 * steps, n_tokens)
    normals = np.zeros((rows, steps, 2, n_tokens))
    normals.reshape(z.shape)[:, 1:] = z[:, 1:]
    signs = rng.choice([-1.0, 1.0], size=(max(followed, 16), n_tokens))
    return z[:, 0], normals, signs


def _power_of_two(number: float) -> int:
    return 1 << max(6, int(math.log2(max(number, 1.0))))


def _adjusted(values: Floats, controls: Floats, exact: Floats) -> Floats:
    """Return the means of ``values``, less what their regression on the controls explains."""
    center = controls.mean(axis=1)
    size = controls.std(axis=1)
    useful = size > 1e-12 * np.abs(center)
    scale = np.where(useful, size, 1.0)
    spread = np.where(useful, 1.0, 0.0)[:, np.newaxis] * (controls - center[:, np.newaxis])
    spread /= scale[:, np.newaxis]
    covariance = spread @ spread.T
    coefficients = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ (spread @ values.T)
    return values.mean(axis=1) + ((exact - center) / scale) @ coefficients
