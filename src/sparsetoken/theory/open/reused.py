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

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.pooling import Softmax
from sparsetoken.problem import Group, SparseTokenProblem
from sparsetoken.theory.features import sobol_normals
from sparsetoken.theory.open.averages import (
    Averages,
    gaussian_averages,
    influence_sums,
    signal_tokens,
)
from sparsetoken.theory.open.fresh import NewSamples, Parameters, Schedule, row_of

MOST_STEPS = 50
_MOST_NUMBERS = 8_000_000  # per array of a group
_MOST_TANGENTS = 64_000_000  # of all groups: the response is the noisiest of the averages
_DEPENDENT = 1e-13  # fraction of a variance below which it is rounding
_SUMS = 10  # averages at one step but for the error, which new samples tell
_SEED = 13


def run_reused(points: NewSamples, schedule: Schedule, batch: int) -> list[Floats]:
    """Return the rows of :func:`row_of` after each step, up to the first that is too large."""
    particles = _draw(points, schedule.steps, batch)
    history = _History(schedule)
    bias, rows = 0.0, []
    for t in range(schedule.steps + 1):
        at = Parameters(*history.parameters(t), bias)
        if at.too_large(schedule.beta):
            break
        last = t == schedule.steps
        each = [one.group.probability * one.observe(history, at, t, last) for one in particles]
        total = np.sum(each, axis=0)
        averages = Averages.from_sums(np.append(total[:_SUMS], 0.0))
        if t > 0:
            rows.append(row_of(at, averages.loss, points.average(at).error))
        if not last:
            history.add(t, averages, *total[_SUMS:].reshape(2, 2 * t, 2))
            bias -= schedule.lr_bias[t] * averages.slope
            for one in particles:
                one.remember(history, t)
    return rows


class _History:
    """What the steps so far have done to the parameters; step s has rows 2s and 2s + 1."""

    def __init__(self, schedule: Schedule) -> None:
        size = 2 * schedule.steps
        self.schedule, self.pull = schedule, np.zeros(size)
        self.covariance, self.root = np.zeros((2, size, size))  # C/α and its Cholesky factor
        self.propagator = np.zeros((size, 2))  # G(t, s) of the step at hand

    def parameters(self, t: int) -> tuple[Floats, Floats]:
        """Return overlaps and inner products after t steps."""
        propagator, covariance = self.propagator[: 2 * t], self.covariance[: 2 * t, : 2 * t]
        overlap = -self.pull[: 2 * t] @ propagator
        return overlap, np.outer(overlap, overlap) + propagator.T @ covariance @ propagator

    def add(self, t: int, averages: Averages, cross: Floats, memory_response: Floats) -> None:
        """Take step t; ``cross`` is C(s, t) and ``memory_response`` that part of X(t, s), s < t."""
        now, rates, alpha = slice(2 * t, 2 * t + 2), self.schedule.rates[t], self.schedule.alpha
        self.pull[now] = averages.pull
        self.covariance[: 2 * t, now] = cross / alpha
        self.covariance[now, : 2 * t] = self.covariance[: 2 * t, now].T
        self.covariance[now, now] = averages.energy / alpha
        for row in (2 * t, 2 * t + 1):
            _extend_root(self.covariance, self.root, row)
        direct = self.propagator[: 2 * t] @ (averages.response + self.schedule.reg * np.eye(2))
        self.propagator[: 2 * t] -= (direct + memory_response) * rates
        self.propagator[now] = np.diag(rates)


def _extend_root(matrix: Floats, root: Floats, i: int) -> None:
    """Add a row to a Cholesky factor; one that depends on those before it gets no new noise.

    The matrix is an estimate, so a row may ask for more than its own variance: it gets no more.
    """
    left = max(float(matrix[i, i]), 0.0)
    for j in range(i):
        if root[j, j] > 0.0:
            entry = (matrix[i, j] - root[i, :j] @ root[j, :j]) / root[j, j]
            root[i, j] = math.copysign(min(abs(entry), math.sqrt(left)), entry)
            left = max(left - root[i, j] ** 2, 0.0)
    root[i, i] = math.sqrt(left) if left > _DEPENDENT * matrix[i, i] else 0.0


class _Particles:
    """The particles of one group. Arrays are (rows of the history, particles, tokens)."""

    def __init__(
        self,
        group: Group,
        points: NewSamples,
        noise: Floats,
        normals: Floats,
        signs: Floats,
    ) -> None:
        """Take the normals along the signal, then those behind e; and signs of the tokens.

        There are signs for those particles whose derivatives are followed; ``noise`` has the
        normals of the Gaussian averages.
        """
        self.group, self.beta, self.loss, self.noise = group, points.beta, points.loss, noise
        self.signal, self.signs = normals[0].copy(), signs  # θv + g
        self.signal[:, : signal_tokens(group)] += group.kind.signal
        self.normals = normals  # the first gradient has no query part: the first row is not used
        self.seen, self.influence = np.zeros((2, *normals.shape))  # U_s and A^s
        # Derivatives of A^s by each kick in U.
        self.tangents = np.zeros((len(normals), len(normals), *signs.shape))

    def observe(self, history: _History, at: Parameters, t: int, last: bool) -> Floats:
        """Average over the particles at step t, and keep their influence.

        Returns the averages; unless it is the last step also C(s, t) and the part of X(t, s) that
        comes by memory.
        """
        before, now = slice(2 * t), slice(2 * t, 2 * t + 2)
        propagator = history.propagator[before].T
        h = -np.tensordot(propagator, self.seen[before], 1)
        memory = -np.tensordot(propagator, self.influence[before], 1) / history.schedule.alpha
        values, weights, delta, slopes = self._sums(h, at.bias)
        controls, exact = self._controls(h, memory, at)
        if last:
            return _adjusted(values, controls, exact)
        a = slopes[0][:, np.newaxis] * weights
        self.influence[now] = self.beta * a * delta, a
        cross = np.einsum("inl,knl->ikn", self.influence[before], self.influence[now])
        values = np.concatenate([values, cross.reshape(4 * t, h.shape[1])])
        sample = [x[: len(self.signs)] for x in (weights, delta, *slopes)]
        change = -np.tensordot(propagator, self.tangents[before, before], 1)
        change /= history.schedule.alpha
        # Each token times its random sign estimates the trace over tokens of what comes by memory;
        # the other part is known exactly.
        moved = _derive(self.beta, sample, change)
        response = -np.einsum("nl,kinl->ik", self.signs, moved) / len(self.signs)
        change -= propagator[:, :, np.newaxis, np.newaxis] * self.signs
        self.tangents[now, before] = _derive(self.beta, sample, change)
        return np.concatenate([_adjusted(values, controls, exact), response.ravel()])

    def remember(self, history: _History, t: int) -> None:
        """Store what each particle saw of step t."""
        now, end = slice(2 * t, 2 * t + 2), 2 * t + 2
        self.seen[now] = history.pull[now, np.newaxis, np.newaxis] * self.signal
        self.seen[now] += self.influence[now] / history.schedule.alpha
        self.seen[now] += np.tensordot(history.root[now, :end], self.normals[:end], 1)

    def _sums(self, h: Floats, bias: float) -> tuple[Floats, Floats, Floats, tuple[Floats, Floats]]:
        """Return the sums of each particle, its weights s and δ, and ℓ′ and ℓ″."""
        weights = Softmax().weights(self.beta * h[0])
        score = np.einsum("nl,nl->n", weights, h[1])
        delta = h[1] - score[:, np.newaxis]
        label = np.full(len(score), self.group.label)
        slope, curvature = (
            np.broadcast_to(f(score + bias, label), len(score))
            for f in (self.loss.derivative, self.loss.second_derivative)
        )
        sums = influence_sums(weights, delta, (slope, curvature), self.beta, self.group)
        sums = np.concatenate([sums, [self.loss.value(score + bias, label)]])
        return sums, weights, delta, (slope, curvature)

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
        law = shift, mixing.T @ at.gram @ mixing, offset
        exact = gaussian_averages(self.group, *law, self.noise, self.beta, self.loss)
        return self._sums(close, offset)[0], exact[:_SUMS]


def _derive(beta: float, sample: list[Floats], change: Floats) -> Floats:
    """Return the derivatives of A along changes of h, both of shape (2, changes, n, tokens)."""
    weights, delta, slope, curvature = sample
    slope, curvature = slope[:, np.newaxis], curvature[:, np.newaxis]
    mean = np.einsum("nl,inl->in", weights, change[0])[..., np.newaxis]
    turned = beta * weights * (change[0] - mean)  # the derivative of the weights
    score = np.einsum("nl,inl->in", delta, turned) + np.einsum("nl,inl->in", weights, change[1])
    score = score[..., np.newaxis]
    readout = curvature * score * weights + slope * turned
    query = beta * (readout * delta + slope * weights * (change[1] - score))
    return np.stack([query, readout])


def _draw(points: NewSamples, steps: int, batch: int) -> list[_Particles]:
    """Draw the particles of each group; classes of one kind share their normals."""
    drawn: dict[SparseTokenProblem, tuple[Floats, Floats]] = {}
    particles = []
    for group, noise in zip(points.groups, points.noise, strict=True):
        n_tokens = group.kind.n_tokens
        if group.kind not in drawn:
            rng = np.random.default_rng([_SEED, batch, len(drawn)])
            rows = min(len(noise), _power_of_two(_MOST_NUMBERS / (2 * steps * n_tokens)))
            most = _MOST_TANGENTS / len(points.groups)
            followed = min(rows // 2, _power_of_two(most / (4 * steps**2 * n_tokens)))
            normals = sobol_normals(rows, 2 * steps * n_tokens, rng)
            normals = normals.reshape(rows, 2 * steps, n_tokens).swapaxes(0, 1)
            signs = rng.choice([-1.0, 1.0], size=(max(followed, 16), n_tokens))
            drawn[group.kind] = np.ascontiguousarray(normals), signs
        particles.append(_Particles(group, points, noise, *drawn[group.kind]))
    return particles


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
