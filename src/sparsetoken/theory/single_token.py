"""Sequences with one signal token, exactly (docs/theory, sections 6 and 17).

The likelihood ratio of a sequence with one signal token of strength κ is the mean over its tokens
of Y = exp(κu − κ²/2). So all that matters is the Laplace transform of one token,
φ(t) = E exp(−tY): that of L tokens is its power. Averages of ratios of sums become one integral
over t, distribution functions an inverse transform. All integrals are by the trapezoid rule, whose
error falls exponentially for such integrands.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from sparsetoken._njit import njit
from sparsetoken._types import Floats

Complex = NDArray[np.complex128]

STRONGEST = 20.0  # a signal token of this strength is recognized but for 1e-20 or so
_NO_STRENGTH = 1e-150  # its square is no number
_WEAKEST = 1e-4  # below, the logarithm of the ratio is Gaussian to that accuracy
_CONCENTRATED = 0.5  # below, Λ is near one: its logarithm is nearly Gaussian
_REACH = 9.0  # deviations of a normal that are integrated over
_TURN = 2.5  # how far the line of integration is moved off the real axis at most
_ROOT = math.sqrt(2.0 * math.pi)


def _noise(strength: float) -> tuple[Floats, Floats]:
    """Return a normal on a grid fine enough for functions of exp(κg), with its weights."""
    step = 0.4 / max(strength, 1.6)
    nodes = np.arange(-_REACH, strength + _REACH + step, step)
    return nodes, step / _ROOT * np.exp(-0.5 * nodes**2)


def single_token_information(
    n_tokens: int, strengths: Floats, signals: Floats, weights: Floats, priors: Floats
) -> Floats:
    """Return E Σ a_l â_l for each prior, where a is the signal of a sequence's tokens.

    A sequence is positive with the prior's probability and then, by weight, of a kind with signal
    θ_k in one token, seen with strength κ_k; â is the posterior mean. With Y and D the sums over
    kinds of exp(κ_k g − κ_k²/2), weighted as they are, and times θ_k, it is

    ρ ∫ E[D² e^{−tY}] φ(t)^{L−1} exp(−tL(1−ρ)/ρ) dt,   φ(t) = E e^{−tY},   g ~ N(0, 1).
    """
    nodes, node_weights = _noise(float(strengths.max()))
    tilts = np.multiply.outer(strengths, nodes) - 0.5 * strengths[:, np.newaxis] ** 2
    top = tilts.max(axis=0)
    likely = weights[:, np.newaxis] * np.exp(tilts - top)
    log_ratio = top + np.log(likely.sum(axis=0))
    signal = signals @ likely / likely.sum(axis=0)  # D/Y: the signal to expect of a signal token
    step = nodes[1] - nodes[0]
    shifted = np.exp(-0.5 * np.subtract.outer(nodes, strengths) ** 2) * (step / _ROOT)
    positive = shifted @ (weights * signals) * signal

    reached = log_ratio[positive >= 1e-20 * positive.max()]
    step = 0.3 * max(1.0, float(strengths.min()) / 4.0)
    log_t = np.arange(-reached.max() - 28.0, -reached.min() + 4.0, step)
    scaled = np.exp(np.minimum(np.add.outer(log_t, log_ratio), 700.0))
    survived = np.exp(-scaled)
    lost = np.minimum(-np.expm1(-scaled) @ node_weights, 1.0 - 1e-16)
    rest = (n_tokens - 1) * np.log1p(-lost)
    doubt = n_tokens * (1.0 - priors) / np.where(priors > 0.0, priors, 1.0)
    decay = np.exp(rest[:, np.newaxis] - np.multiply.outer(np.exp(log_t), doubt))
    return step * priors * (((scaled * survived) @ positive) @ decay)


@dataclass(frozen=True)
class SingleTokenRatio:
    """Law of the likelihood ratio Λ of sequences with one signal token."""

    n_tokens: int
    strength: float  # the signal κ, the direction known; at most STRONGEST

    def below(self, log_ratio: float) -> tuple[float, float]:
        """Return the probabilities of a smaller log Λ, without and with the signal.

        The densities of both differ by the factor Λ = S/L. With S the sum of L tokens' Y and c the
        limit for it, the probabilities are integrals of exp(tc)/t times φ^L and −φ′φ^(L−1), along a
        line around the negative axis through the saddle point on the positive one.
        """
        if self.strength < _NO_STRENGTH:
            return float(log_ratio >= 0.0), float(log_ratio >= 0.0)
        root = math.sqrt(math.log1p(math.expm1(self.strength**2) / self.n_tokens))  # of var log Λ
        place = log_ratio / root
        far = self.strength < _CONCENTRATED and abs(place) > _REACH
        if self.n_tokens == 1 or self.strength < _WEAKEST or far:
            low, high = ndtr([place + 0.5 * root, place - 0.5 * root])
            return float(low), float(high)
        limit = self.n_tokens * math.exp(log_ratio)
        if (start := self._saddle_point(limit)) is None:
            return 0.0, 0.0
        t, change = self._path(*start)
        transform, slope = self._transform(t)
        limit -= self.n_tokens * self._center
        log_power = t * limit + self.n_tokens * np.log1p(transform)
        # The rest of the line adds nothing, and there rounding would be amplified.
        faded = np.append(np.flatnonzero(log_power.real < log_power.real[0] - 32.0), t.size)[0]
        power = np.exp(log_power[:faded]) / t[:faded] * change[:faded]
        without = float(power.imag.sum()) / math.pi
        signal = float((power * slope[:faded] / (1.0 + transform[:faded])).imag.sum()) / math.pi
        return min(max(without, 0.0), 1.0), min(max(signal, 0.0), 1.0)

    @property
    def auc(self) -> float:
        """Probability that Λ is larger with the signal than without: ½ + ∫ Im ψ(ω)/(πω) dω.

        ψ is the characteristic function of the difference of two such sums.
        """
        if self.n_tokens == 1:
            return float(ndtr(self.strength / math.sqrt(2.0)))
        if self.strength < _WEAKEST:
            return float(ndtr(self.strength / math.sqrt(2.0 * self.n_tokens)))
        low, high = self._range()
        log_t = np.arange(low, high, 0.25 * max(1.0, self.strength / 4.0))
        transform, slope = self._transform(-1j * np.exp(log_t))
        log_transform = np.log1p(transform)
        both = (self.n_tokens - 1) * log_transform + self.n_tokens * log_transform.conj()
        area = float((slope * np.exp(both)).imag.sum()) * (log_t[1] - log_t[0]) / math.pi
        return min(0.5 + area, 1.0)

    def _saddle_point(self, limit: float) -> tuple[float, float] | None:
        """Return where tc + L log φ(t) − log t is least, as log t, and the width of the minimum.

        None if a sum below the limit has a probability less than 1e-15.
        """

        def slope_and_bound(log_t: float) -> tuple[float, float]:
            """Return the slope by log t, and a bound for the log of the probability."""
            t = math.exp(log_t)
            (transform,), (falls,) = (x.real for x in self._transform(np.array([t + 0j])))
            kept = max(1.0 + transform, 1e-16)  # rounding may leave less
            slope = t * (limit - self.n_tokens * falls / kept) - 1.0
            excess = limit - self.n_tokens * self._center
            return slope, t * excess + self.n_tokens * math.log(kept)

        low = -math.log(limit) - 4.0
        while slope_and_bound(low)[0] > 0.0:
            low -= 2.0
        high, (slope, bound) = low, slope_and_bound(low)
        while slope < 0.0 and bound >= -35.0:
            high += 1.0
            slope, bound = slope_and_bound(high)
        if bound < -35.0:
            return None
        place = float(brentq(lambda log_t: slope_and_bound(log_t)[0], low, high, xtol=1e-2))
        if slope_and_bound(place)[1] < -35.0:
            return None
        curvature = (slope_and_bound(place + 1e-3)[0] - slope_and_bound(place - 1e-3)[0]) / 2e-3
        return place, 1.0 / math.sqrt(max(curvature, 1.0))

    def _path(self, place: float, width: float) -> tuple[Complex, Complex]:
        """Return points on a hyperbola through the saddle point, and weights times its change."""
        bend = width * math.tan(min(0.4, 1.2 * self.strength))
        # Along the line the integrand turns, the more the less the line can be bent.
        step = 0.02 if self.strength < _CONCENTRATED else 0.05
        u = np.arange(0.0, math.acosh(1.0 + 60.0 / bend), step)
        weight = np.where(u == 0.0, 0.5 * step, step) * math.exp(place)
        t = math.exp(place) * (1.0 - bend * (np.cosh(u) - 1.0) + 1j * width * np.sinh(u))
        return t, weight * (-bend * np.sinh(u) + 1j * width * np.cosh(u))

    def _range(self) -> tuple[float, float]:
        """Return the logarithms of ω between which ψ(ω) has an imaginary part."""
        kappa = self.strength
        # Below, ω times the largest Y that has any probability is small.
        low = -0.5 * kappa**2 - (28.0 + 0.5 * kappa**2 if kappa < 7.5 else 7.5 * kappa)
        high = 0.5 * kappa**2 + 9.0 * kappa + 5.0
        grid = np.arange(low, high + 9.0 - math.log(kappa), 2.0)
        transform, _ = self._transform(-1j * np.exp(grid))
        left = np.flatnonzero(self.n_tokens * np.log1p(transform).real > -40.0)
        return low, float(grid[left[-1]]) + 2.0

    @property
    def _center(self) -> float:
        """What is subtracted from Y, which hardly varies if the signal is weak."""
        return float(self.strength < _CONCENTRATED)

    def _transform(self, t: Complex) -> tuple[Complex, Complex]:
        """Return φ(t)eᵗ − 1 and −φ′(t)eᵗ, also for real parts of t below zero.

        Without the factor eᵗ if Y is not centered.
        """
        results = np.empty((2, t.size), dtype=complex)
        grid = _noise(self.strength)
        _transform(np.log(np.abs(t)), np.angle(t), self.strength, self._center, *grid, results)
        return results[0], results[1]


@njit(error_model="numpy")
def _transform(log_size, angle, kappa, center, nodes, weights, results):  # type: ignore[no-untyped-def]
    """Integrate exp(t(center − Y)) − 1 and Y times that exponential over g.

    The line of integration is moved so that it turns tY to the real axis.
    """
    for i in range(log_size.size):
        rotation = min(abs(angle[i]), _TURN * kappa)
        if angle[i] < 0.0:
            rotation = -rotation
        shift = -rotation / kappa  # of g, along the imaginary axis
        cos, sin = math.cos(angle[i] - rotation), math.sin(angle[i] - rotation)
        middle = center * math.exp(log_size[i])
        middle_real, middle_imaginary = middle * math.cos(angle[i]), middle * math.sin(angle[i])
        total, falls = 0j, 0j
        for node in range(nodes.size):
            g = nodes[node]
            size = math.exp(min(log_size[i] + kappa * g - 0.5 * kappa**2, 650.0))
            weight = weights[node] * complex(math.cos(g * shift), -math.sin(g * shift))
            real, imaginary = middle_real - size * cos, middle_imaginary - size * sin
            if imaginary == 0.0:
                lost = complex(math.expm1(real), 0.0)
            else:
                half = math.sin(0.5 * imaginary)
                lost = complex(
                    math.expm1(real) * math.cos(imaginary) - 2.0 * half * half,
                    math.exp(real) * math.sin(imaginary),
                )
            total += weight * lost
            falls += weight * size * (1.0 + lost)
        scale = math.exp(0.5 * shift * shift)
        results[0, i] = scale * total
        ratio = complex(math.cos(rotation), -math.sin(rotation)) * math.exp(-log_size[i])
        results[1, i] = scale * ratio * falls
