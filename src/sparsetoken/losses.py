"""Convex losses ℓ(z; y) of a score z and a label y = ±1, with their derivatives and prox.

The methods of a built-in loss broadcast over arrays, and a numba kernel can call them on scalars:
``prox = Logistic.prox`` at module level, then ``prox(z, y, scale)`` in the kernel.

To add a loss, write a class like those below and name it in ``_BUILT_IN``. To use one without
adding it, pass an object with the methods ``value``, ``derivative`` and ``second_derivative``::

    class SquaredHinge:
        def value(self, z, y):
            return 0.5 * np.maximum(0, 1 - y * z) ** 2

        def derivative(self, z, y):
            return -y * np.maximum(0, 1 - y * z)

        def second_derivative(self, z, y):
            return np.where(y * z < 1, 1.0, 0.0)

A fourth method ``prox`` is optional; without it a safeguarded Newton method solves for it.
"""

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable
from numpy.typing import ArrayLike, NDArray

__all__ = ["Hinge", "Logistic", "Loss", "Square", "get_loss"]


class Loss:
    """Base of the losses: a convex function of the score for each label.

    A subclass gives ``value``, ``derivative`` and ``second_derivative`` (in the score z). The prox
    has a default that needs only those.

    Examples
    --------
    >>> from sparsetoken.losses import Logistic
    >>> loss = Logistic()
    >>> float(loss.value(0.0, 1))
    0.693147...
    >>> p = loss.prox(0.0, 1, 2.0)
    >>> bool(abs(p + 2.0 * loss.derivative(p, 1)) < 1e-12)  # p − z + scale·ℓ′(p) = 0
    True
    """

    name = "custom"

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
        """Return the minimiser p of scale·ℓ(p; y) + (p − z)²/2."""
        return _bracketed_prox(self, z, y, scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))


# The formulas below are branch-free so that one text serves both for arrays, in NumPy, and for
# scalars, compiled into the kernels that call them.


@register_jitable
def _logistic_value(z: Any, y: Any) -> Any:
    margin = y * z
    return np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))


@register_jitable
def _logistic_derivative(z: Any, y: Any) -> Any:
    return -y / (1.0 + np.exp(np.minimum(y * z, 700.0)))  # e⁷⁰⁰ is near the largest float


@register_jitable
def _logistic_second_derivative(z: Any, y: Any) -> Any:
    decay = np.exp(-np.abs(z))
    return decay / (1.0 + decay) ** 2


def _logistic_prox(z: Any, y: Any, scale: Any) -> Any:
    z, y, scale = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (z, y, scale)))
    p = np.empty(z.shape)
    _logistic_prox_loop(z.ravel(), y.ravel(), scale.ravel(), p.ravel())
    return p[()]


@overload(_logistic_prox)
def _logistic_prox_in_kernels(z, y, scale):  # type: ignore[no-untyped-def]
    return lambda z, y, scale: _logistic_prox_scalar(z, y, scale)


@njit(cache=True)
def _logistic_prox_scalar(z, y, scale):  # type: ignore[no-untyped-def]
    # In the margin u = yz the minimiser solves p − u = scale/(1+eᵖ), so 0 ≤ p − u is at most both
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


@njit(cache=True)
def _logistic_prox_loop(z, y, scale, p):  # type: ignore[no-untyped-def]
    for i in range(p.size):
        p[i] = _logistic_prox_scalar(z[i], y[i], scale[i])


class Logistic(Loss):
    """Logistic loss log(1 + exp(−yz))."""

    name = "logistic"
    value = staticmethod(_logistic_value)
    derivative = staticmethod(_logistic_derivative)
    second_derivative = staticmethod(_logistic_second_derivative)
    prox = staticmethod(_logistic_prox)


@register_jitable
def _square_value(z: Any, y: Any) -> Any:
    return 0.5 * (z - y) ** 2


@register_jitable
def _square_derivative(z: Any, y: Any) -> Any:
    return z - y


@register_jitable
def _square_second_derivative(z: Any, y: Any) -> Any:
    return 1.0 + 0.0 * z


@register_jitable
def _square_prox(z: Any, y: Any, scale: Any) -> Any:
    return (z + scale * y) / (1.0 + scale)


class Square(Loss):
    """Square loss (z − y)²/2."""

    name = "square"
    value = staticmethod(_square_value)
    derivative = staticmethod(_square_derivative)
    second_derivative = staticmethod(_square_second_derivative)
    prox = staticmethod(_square_prox)


@register_jitable
def _hinge_value(z: Any, y: Any) -> Any:
    return np.maximum(0.0, 1.0 - y * z)


@register_jitable
def _hinge_derivative(z: Any, y: Any) -> Any:
    return -y * (y * z < 1.0)


@register_jitable
def _hinge_second_derivative(z: Any, y: Any) -> Any:
    return 0.0 * z


@register_jitable
def _hinge_prox(z: Any, y: Any, scale: Any) -> Any:
    margin = y * z
    return y * np.maximum(margin, np.minimum(1.0, margin + scale))


class Hinge(Loss):
    """Hinge loss max(0, 1 − yz)."""

    name = "hinge"
    value = staticmethod(_hinge_value)
    derivative = staticmethod(_hinge_derivative)
    second_derivative = staticmethod(_hinge_second_derivative)
    prox = staticmethod(_hinge_prox)


_BUILT_IN = {loss.name: loss for loss in (Logistic, Square, Hinge)}


class _Adapted(Loss):
    """A user's object with the three methods but no prox."""

    def __init__(self, loss: Any) -> None:
        self.loss = loss

    def value(self, z: Any, y: Any) -> Any:
        return self.loss.value(z, y)

    def derivative(self, z: Any, y: Any) -> Any:
        return self.loss.derivative(z, y)

    def second_derivative(self, z: Any, y: Any) -> Any:
        return self.loss.second_derivative(z, y)

    def __repr__(self) -> str:
        return repr(self.loss)


def get_loss(loss: Any) -> Loss:
    """Return the loss object for a name or for a user's own object.

    Parameters
    ----------
    loss : {"logistic", "square", "hinge"} or object
        A name, or an object with the methods ``value(z, y)``, ``derivative(z, y)``,
        ``second_derivative(z, y)`` and, optionally, ``prox(z, y, scale)``.

    Examples
    --------
    >>> from sparsetoken.losses import get_loss
    >>> get_loss("hinge")
    Hinge()
    """
    if isinstance(loss, str):
        if loss not in _BUILT_IN:
            known = ", ".join(map(repr, _BUILT_IN))
            raise ValueError(f"loss must be one of {known} or a loss object, got {loss!r}")
        return _BUILT_IN[loss]()
    required = ("value", "derivative", "second_derivative")
    missing = [name for name in required if not callable(getattr(loss, name, None))]
    if missing or isinstance(loss, type):
        lack = ", ".join(missing) or "an instance, not a class"
        raise ValueError(
            f"loss must be a name or an object with {required}, got {loss!r}: lacks {lack}"
        )
    return loss if callable(getattr(loss, "prox", None)) else _Adapted(loss)


def _bracketed_prox(loss: Any, z: ArrayLike, y: ArrayLike, scale: ArrayLike) -> NDArray[np.float64]:
    """Prox of any convex loss: Newton's method kept inside a bracket that shrinks at every step.

    With the monotone residual F(p) = p − z + scale·ℓ′(p), the answer lies between z and
    z − scale·ℓ′(z).
    """
    z, y, scale = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (z, y, scale)))
    end = z - scale * loss.derivative(z, y)
    low, high = np.minimum(z, end), np.maximum(z, end)
    p, previous = z.copy(), high - low
    for step in range(200):
        residual = p - z + scale * loss.derivative(p, y)
        low = np.where(residual < 0, p, low)
        high = np.where(residual < 0, high, p)
        new = p - residual / (1.0 + scale * loss.second_derivative(p, y))
        # A step that leaves the bracket, or every third one, halves the bracket instead, so that a
        # kink or a flat stretch costs at most three times a bisection.
        halve = ~((low <= new) & (new <= high)) | ((step % 3 == 2) & (high - low > 0.5 * previous))
        new = np.where(halve, 0.5 * (low + high), new)
        if step % 3 == 2:
            previous = high - low
        moved, p = np.abs(new - p), new
        if np.all(moved <= 4e-16 * np.maximum(np.abs(p), np.abs(z))):
            break
    return p[()]
