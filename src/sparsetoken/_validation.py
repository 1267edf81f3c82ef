"""Checks of arguments: each error names the argument, what was given and what is allowed."""

import math
import operator
from typing import Any

import numpy as np

__all__ = ["check_choice", "check_count", "check_float_type", "check_real", "check_unit_vector"]


def check_count(name: str, value: Any, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int between ``minimum`` and ``maximum``, or raise ValueError."""
    allowed = (
        f"an integer >= {minimum}" if maximum is None else f"an integer in [{minimum}, {maximum}]"
    )
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be {allowed}, got {value!r}") from None
    if (
        isinstance(value, bool | np.bool_)
        or count < minimum
        or (maximum is not None and count > maximum)
    ):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return count


def check_real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: bool = False,
    infinite: bool = False,
) -> float:
    """Return ``value`` as a float in [low, high], or raise ValueError.

    ``above`` excludes ``low`` itself; ``infinite`` admits an infinite value.
    """
    left = "(" if above or math.isinf(low) else "["
    right = ")" if math.isinf(high) and not infinite else "]"
    allowed = f"a {'' if infinite else 'finite '}number in {left}{low:g}, {high:g}{right}"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be {allowed}, got {value!r}") from None
    inside = low <= number <= high and not (above and number == low)
    if not inside or (math.isinf(number) and not infinite):  # NaN is never inside
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number


def check_choice(name: str, value: Any, known: Any) -> Any:
    """Return ``value`` if it is one of ``known``, or raise ValueError that lists them."""
    if value not in known:
        listed = ", ".join(repr(choice) for choice in known)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")
    return value


def check_unit_vector(name: str, value: Any, dim: int) -> np.ndarray[Any, Any]:
    """Return ``value`` as a float array of shape (dim,) and norm 1, or raise ValueError."""
    vector = np.asarray(value, dtype=float)
    if vector.shape != (dim,):
        raise ValueError(f"{name} must have shape ({dim},), got {vector.shape}")
    norm = float(np.linalg.norm(vector))
    if not abs(norm - 1.0) < 1e-6:
        raise ValueError(f"{name} must be a unit vector (norm 1), got norm {norm:g}")
    return vector / norm


def check_float_type(name: str, value: Any) -> Any:
    """Return the NumPy type float64 or float32, or raise ValueError."""
    try:
        kind = np.dtype(value)
    except TypeError:
        kind = None
    if kind not in (np.float64, np.float32):
        raise ValueError(f"{name} must be float64 or float32, got {value!r}")
    return kind
