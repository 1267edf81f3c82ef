"""Convex losses ℓ(z; y) of a score z and a label y = ±1, with their derivatives and prox.

The methods broadcast over arrays. A subclass of :class:`Loss` with a ``name`` of its own can be
asked for by that name everywhere, and any other by its import path (``"my_losses:SquaredHinge"``)
or as an object::

    class SquaredHinge(Loss):
        def value(self, z, y):
            return 0.5 * np.maximum(0, 1 - y * z) ** 2

        def derivative(self, z, y):
            return -y * np.maximum(0, 1 - y * z)

        def second_derivative(self, z, y):
            return np.where(y * z < 1, 1.0, 0.0)

A loss that is not convex is refused.
"""

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numba.extending import register_jitable
from scipy.optimize.elementwise import find_root
from scipy.special import ndtr

from sparsetoken._njit import njit
from sparsetoken._types import Floats
from sparsetoken._validation import Named

__all__ = ["Hinge", "Logistic", "Loss", "Square", "get_loss", "loss_names"]


class Loss(Named):
    """Base of the losses: a convex function of the score for each label.

    A subclass gives ``value``, ``derivative`` and ``second_derivative`` (in the score z). The rest
    has defaults that need only those.

    Attributes
    ----------
    name : str
        What it is called; a subclass with a name of its own can be asked for by it.
    smooth : bool
        Whether the derivative is continuous, as Newton's method needs.
    quadratic : bool
        Whether it is (z − y)²/2: readouts then solve a linear system, and have a limit without a
        ridge (the least norm) even where they fit the training samples perfectly.
    logistic : bool
        Whether it is log(1 + exp(−yz)), for which there are compiled kernels.
    corner : float or None
        The margin m of a loss that is max(0, m − yz).

    Examples
    --------
    >>> from sparsetoken.losses import Logistic
    >>> loss = Logistic()
    >>> float(loss.value(0.0, 1))
    0.693147
    >>> p = loss.prox(0.0, 1, 2.0)
    >>> bool(abs(p + 2.0 * loss.derivative(p, 1)) < 1e-12)  # p − z + scale·ℓ′(p) = 0
    True
    """

    known: ClassVar[dict[str, Any]] = {}
    name = "custom"
    smooth: ClassVar[bool] = True
    quadratic: ClassVar[bool] = False
    logistic: ClassVar[bool] = False
    corner: ClassVar[float | None] = None

    def value(self, z: Any, y: Any) -> Any:
        """Return ℓ(z; y)."""
        raise NotImplementedError

    def derivative(self, z: Any, y: Any) -> Any:
        """Return ∂ℓ/∂z, a subgradient where ℓ has a kink."""
        raise NotImplementedError

    def second_derivative(self, z: Any, y: Any) -> Any:
        """Return ∂²ℓ/∂z², zero at a kink."""
        raise NotImplementedError

    def prox(self, z: Any, y: Any, scale: Any) -> Any:
        """Return the minimizer p of scale·ℓ(p; y) + (p − z)²/2.

        It is the root of p − z + scale·ℓ′(p), between z and z − scale·ℓ′(z).
        """
        z, y, scale = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (z, y, scale)))
        end = z - scale * self.derivative(z, y)
        found = find_root(
            lambda p, z, y, scale: p - z + scale * self.derivative(p, y),
            (np.minimum(z, end), np.maximum(z, end)),
            args=(z, y, scale),
        )
        # On a straight piece the end is the root, but for rounding.
        return np.where(found.success, found.x, end)[()]

    def average(self, mean: Any, deviation: Any, y: Any) -> Any:
        """Return E[ℓ(mean + deviation·G; y)] for a standard normal G."""
        step = 0.1 if self.smooth else 0.01
        return _average(self, mean, deviation, y, step)

    def probability(self, score: Any) -> Any:
        """Return the probability of a positive that a trained score stands for.

        The default is (1 + score)/2 cut to [0, 1]: what the square loss estimates. Of a hinge
        loss's score it gives only the order.
        """
        return np.clip((1.0 + score) / 2.0, 0.0, 1.0)


# These formulas are branch-free: one text serves arrays, in NumPy, and scalars in compiled kernels.


@register_jitable
def _logistic_value(z: Any, y: Any) -> Any:
    margin = y * z
    return np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))


@register_jitable
def _logistic_derivative(z: Any, y: Any) -> Any:
    return -y / (1.0 + np.exp(np.minimum(y * z, 700.0)))  # e⁷⁰⁰ is near the largest float


@njit()
def logistic_prox(z, y, scale):  # type: ignore[no-untyped-def]
    """Return the prox of the logistic loss, of numbers: for kernels."""
    # In the margin u = yz the minimizer solves p − u = scale/(1+eᵖ), so 0 ≤ p − u is at most both
    # scale/(1+eᵘ) and log(1 + scale·e⁻ᵘ): together within a factor two of the answer at any scale.
    margin = y * z
    if not scale > 0.0:
        return z
    exponent = np.log(scale) - margin
    far = max(exponent, 0.0) + np.log1p(np.exp(-abs(exponent)))
    near = scale / (1.0 + np.exp(min(margin, 700.0)))
    low, high = margin, margin + min(far, near)
    p = high
    for _ in range(100):  # Halley's method, bisecting when it leaves the bracket
        slope = 1.0 / (1.0 + np.exp(min(p, 700.0)))
        gap = p - margin - scale * slope
        if gap > 0:
            high = p
        else:
            low = p
        curvature = scale * slope * (1.0 - slope)
        first = 1.0 + curvature
        second = -curvature * (1.0 - 2.0 * slope)
        new = p - gap / (first - 0.5 * gap * second / first)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        moved = abs(new - p)
        p = new
        if moved <= 1e-6 * min(1.0, abs(p - margin)):  # cubic: the next step would be 1e-18
            break
    return y * p


@njit()
def _logistic_prox_loop(z, y, scale, p):  # type: ignore[no-untyped-def]
    for i in range(p.size):
        p[i] = logistic_prox(z[i], y[i], scale[i])


class Logistic(Loss):
    """Logistic loss log(1 + exp(−yz))."""

    name = "logistic"
    logistic = True
    value = staticmethod(_logistic_value)
    derivative = staticmethod(_logistic_derivative)

    def second_derivative(self, z: Any, y: Any) -> Any:
        """Return the product of both classes' probabilities."""
        decay = np.exp(-np.abs(z))
        return decay / (1.0 + decay) ** 2

    def prox(self, z: Any, y: Any, scale: Any) -> Any:
        """Return the minimizer by Halley's method."""
        numbers = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (z, y, scale)))
        p = np.empty(numbers[0].shape)
        _logistic_prox_loop(*(a.flatten() for a in numbers), p.ravel())
        return p[()]

    def average(self, mean: Any, deviation: Any, y: Any) -> Any:
        """Return E[ℓ(mean + deviation·G; y)]; the step resolves the poles, π/deviation away."""
        step = min(0.5, 1.0 / max(float(np.max(deviation)), 1e-3))
        return _average(self, mean, deviation, y, max(step, 2e-3))

    def probability(self, score: Any) -> Any:
        """Return 1/(1 + e^−score)."""
        return -_logistic_derivative(-score, 1.0)


class Square(Loss):
    """Square loss (z − y)²/2."""

    name = "square"
    quadratic = True

    def value(self, z: Any, y: Any) -> Any:
        """Return (z − y)²/2."""
        return 0.5 * (z - y) ** 2

    def derivative(self, z: Any, y: Any) -> Any:
        """Return z − y."""
        return z - y

    def second_derivative(self, z: Any, y: Any) -> Any:
        """Return one."""
        return 1.0 + 0.0 * z

    def prox(self, z: Any, y: Any, scale: Any) -> Any:
        """Return the mean of z and y, with weights 1 and ``scale``."""
        return (z + scale * y) / (1.0 + scale)

    def average(self, mean: Any, deviation: Any, y: Any) -> Any:
        """Return E[ℓ(mean + deviation·G; y)]."""
        return 0.5 * ((np.asarray(mean) - y) ** 2 + np.asarray(deviation) ** 2)


class Hinge(Loss):
    """Hinge loss max(0, 1 − yz)."""

    name = "hinge"
    smooth = False
    corner = 1.0

    def value(self, z: Any, y: Any) -> Any:
        """Return max(0, 1 − yz)."""
        return np.maximum(0.0, 1.0 - y * z)

    def derivative(self, z: Any, y: Any) -> Any:
        """Return −y below the margin, and zero from there on."""
        return -y * (y * z < 1.0)

    def second_derivative(self, z: Any, y: Any) -> Any:
        """Return zero."""
        return 0.0 * z

    def prox(self, z: Any, y: Any, scale: Any) -> Any:
        """Return z moved by ``scale`` towards the margin, not beyond."""
        margin = y * z
        return y * np.maximum(margin, np.minimum(1.0, margin + scale))

    def average(self, mean: Any, deviation: Any, y: Any) -> Any:
        """Return E[ℓ(mean + deviation·G; y)]."""
        gap = 1.0 - y * np.asarray(mean)
        deviation = np.maximum(deviation, 1e-300)
        z = np.clip(gap / deviation, -40.0, 40.0)
        density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
        return gap * ndtr(z) + deviation * density


def loss_names() -> tuple[str, ...]:
    """Return the names of the losses that can be asked for by name."""
    return tuple(Loss.known)


def get_loss(loss: Any) -> Loss:
    """Return the loss for a name or an import path, or the loss itself.

    Parameters
    ----------
    loss : {"logistic", "square", "hinge"}, str or Loss
        A name, an import path (``"my_losses:Huber"``), or an object of a subclass.

    Examples
    --------
    >>> from sparsetoken.losses import get_loss
    >>> get_loss("hinge")
    Hinge()
    """
    found = Loss.find("loss", loss)
    if type(found).__module__ != __name__:
        _check_convex(found)
    return found


def _check_convex(loss: Loss) -> None:
    """Raise ValueError with a place where the derivative falls."""
    z = np.linspace(-30.0, 30.0, 2401)
    for y in (-1.0, 1.0):
        with np.errstate(all="ignore"):
            slope = np.broadcast_to(loss.derivative(z, y), z.shape)
            size = np.maximum(np.abs(slope[1:]), np.abs(slope[:-1]))
            falls = np.diff(slope) < -1e-9 * size
        if falls.any():
            at = int(np.argmax(falls))
            raise ValueError(
                f"loss must be convex, got {loss!r}: its derivative falls from {slope[at]:.3g} at "
                f"z={z[at]:g}, y={y:g} to {slope[at + 1]:.3g} at z={z[at + 1]:g}"
            )


@lru_cache(maxsize=64)
def gaussian_rule(step: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of the trapezoid rule for a standard normal.

    It is spectrally accurate for analytic functions.
    """
    count = math.ceil(6.5 / step)  # the Gaussian beyond weighs 8e-11
    nodes = step * np.arange(-count, count + 1.0)
    return nodes, step * np.exp(-0.5 * nodes**2) / math.sqrt(2.0 * math.pi)


def _average(loss: Loss, mean: Any, deviation: Any, y: Any, step: float) -> Any:
    """Average a loss over a Gaussian, node by node to hold few numbers at once."""
    total: Any = 0.0
    for g, weight in zip(*map(np.ndarray.tolist, gaussian_rule(step)), strict=True):
        total = total + weight * loss.value(mean + deviation * g, y)
    return total
