"""A number with its error bar: the one record for "value ± error" in the package."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from inspect import get_annotations
from typing import Any, ClassVar, dataclass_transform

import numpy as np


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its accuracy; the result has ``converged=False``."""


class Estimate(float):
    """A float with its numerical error.

    Parameters
    ----------
    value : float
        The number itself.
    uncertainty : float or callable, default=0.0
        Its estimated numerical error (one standard error). A callable that returns it is called
        when it is asked for.
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

    converged: bool
    _uncertainty: float | Callable[[], float]

    def __new__(
        cls,
        value: float,
        uncertainty: float | Callable[[], float] = 0.0,
        converged: bool = True,
        **details: Any,
    ) -> "Estimate":
        """Make the float and attach the rest."""
        self = super().__new__(cls, value)
        self.__dict__.update(_uncertainty=uncertainty, converged=converged, **details)
        return self

    @classmethod
    def from_batches(
        cls, value: float, batches: Any, *, beside: float = 0.0, **details: Any
    ) -> "Estimate":
        """Return a number whose error bar is how far independent batches disagree about it.

        ``batches`` has the number in each batch, or is a callable that returns them, called when
        the error bar is asked for. ``beside`` is an error that the batches do not show.

        Examples
        --------
        >>> from sparsetoken.theory import Estimate
        >>> Estimate.from_batches(2.0, [1.8, 2.2, 1.9, 2.1])
        Estimate(2 ± 0.09)
        """

        def uncertainty() -> float:
            each = batches() if callable(batches) else batches
            spread = float(standard_error(each)) if len(each) > 1 else 0.0
            return math.hypot(spread, beside)

        return cls(value, uncertainty, **details)

    @property
    def uncertainty(self) -> float:
        """Its estimated numerical error: one standard error."""
        if callable(self._uncertainty):
            self.__dict__["_uncertainty"] = self._uncertainty()
        return float(self._uncertainty)  # type: ignore[arg-type]  # a number by now

    def __getnewargs_ex__(self) -> Any:
        details = {name: fact for name, fact in vars(self).items() if name != "_uncertainty"}
        return (float(self), self.uncertainty), details

    def __getstate__(self) -> None:
        """Leave all to the arguments above."""

    def __repr__(self) -> str:
        flag = "" if self.converged else ", not converged"
        return f"Estimate({float(self):.6g} ± {self.uncertainty:.1g}{flag})"


@dataclass_transform(frozen_default=True, eq_default=False)
class Record(Mapping[str, Any]):
    """Base of the results: a row of a table, with plain numbers by name.

    ``pandas.DataFrame`` makes a table of a list of results. Fields are declared as those of a
    dataclass, which a result is not: pandas would show the fields, not the numbers.
    """

    columns: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, kw_only: bool = False) -> None:
        """Take what type checkers need to know."""

    def __init__(self, *values: Any, **named: Any) -> None:
        classes = reversed(type(self).__mro__)
        names = [name for each in classes for name in get_annotations(each) if name != "columns"]
        vars(self).update(zip(names, values, strict=False), **named)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name, as plain Python values: a row of a table."""
        return dict(self)

    def __getitem__(self, name: str) -> Any:
        if name not in self.columns:
            raise KeyError(name)
        return _plain(getattr(self, name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    __eq__ = object.__eq__  # not all numbers, which may take long to compute
    __hash__ = object.__hash__


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
