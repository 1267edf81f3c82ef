"""A number with its error bar: the one record for "value ± error" in the package."""

import math
import warnings
from typing import Any, ClassVar

import numpy as np


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its accuracy; the result has ``converged=False``."""


class Estimate(float):
    """A float with its numerical error.

    Parameters
    ----------
    value : float
        The number itself.
    uncertainty : float, default=0.0
        Its estimated numerical error (one standard error).
    converged : bool, default=True
        Whether the solver behind it converged.
    **details : Any
        Further facts, as attributes.

    Examples
    --------
    >>> from sparsetoken.theory import Estimate
    >>> estimate = Estimate(3.54, uncertainty=0.001)
    >>> estimate
    Estimate(3.54 ± 0.001)
    >>> estimate + 1
    4.54
    """

    uncertainty: float
    converged: bool

    def __new__(
        cls, value: float, uncertainty: float = 0.0, converged: bool = True, **details: Any
    ) -> "Estimate":
        """Make the float and attach the rest."""
        self = super().__new__(cls, value)
        self.__dict__.update(uncertainty=float(uncertainty), converged=converged, **details)
        return self

    def __getnewargs_ex__(self) -> Any:
        return (float(self),), dict(self.__dict__)

    def __repr__(self) -> str:
        flag = "" if self.converged else ", not converged"
        return f"Estimate({float(self):.6g} ± {self.uncertainty:.1g}{flag})"


class Record:
    """Base of the results: what their numbers are called in a table."""

    columns: ClassVar[tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name, as plain Python values: a row of a table."""
        return {name: _plain(getattr(self, name)) for name in self.columns}


def _plain(value: Any) -> Any:
    """Return a number without its error bar, and arrays as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return float(value) if isinstance(value, float) else value


def warn_not_converged(what: str) -> None:
    """Say that a result is not to be trusted."""
    message = f"{what} did not converge; the result is marked converged=False"
    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def standard_error(batches: Any) -> Any:
    """Return the standard error of the mean over the first axis, of independent batches."""
    return np.std(batches, axis=0, ddof=1) / math.sqrt(len(batches))
