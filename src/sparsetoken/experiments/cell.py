"""A cell of a sweep: a pure function of named values, its key and seed hashes of them."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from sparsetoken._validation import check_choice
from sparsetoken.experiments.values import (
    ALIGNMENT,
    DEFAULTS,
    LINEAR,
    PREDICTED,
    PROBLEM,
    QUANTITIES,
    SIMULATED,
    SOURCES,
    check_known,
    check_values,
    relevant_values,
)
from sparsetoken.problem import SparseTokenProblem

__all__ = ["Cell", "Measurement", "make_cell"]

_MEANING = 1  # to be raised when the same values come to mean something else


class Measurement(NamedTuple):
    """One number of a cell."""

    value: float
    standard_error: float | None = None
    """Over the trials of a simulation; of the numerics of a theory; None where not estimated."""
    converged: bool = True


@dataclass(frozen=True)
class Cell:
    """A point of a sweep: what to compute there, and how.

    Parameters
    ----------
    source : {"theory", "simulation"}
        Where the numbers come from.
    quantities : tuple of str
        What to compute.
    values : dict
        The named values, those alone on which the quantities depend. :func:`make_cell` makes them.
    """

    source: str
    quantities: tuple[str, ...]
    values: dict[str, Any]

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Hash of everything: the same key means the same numbers."""
        return _digest([_MEANING, self.source, self.quantities, self.values])

    @property
    def seed(self) -> int:
        """Seed of the random numbers, from the values alone."""
        return int(_digest([_MEANING, self.values])[:32], 16)

    @property
    def problem(self) -> SparseTokenProblem:
        """The problem to train on."""
        return SparseTokenProblem(**{n: self.values[n] for n in PROBLEM if n in self.values})

    @property
    def test_problem(self) -> SparseTokenProblem:
        """The problem to test on: that of training unless a value ``test_...`` says otherwise."""
        trained_on = self.problem
        return SparseTokenProblem(
            **{n: self.values.get(f"test_{n}", getattr(trained_on, n)) for n in PROBLEM}
        )

    @property
    def frozen(self) -> bool:
        """Whether the query is given by its cosine and sharpness instead of learned."""
        return "cosine" in self.values

    @property
    def alpha0(self) -> float:
        """Samples per dimension for the query."""
        if "alpha" not in self.values:
            return float(self.values["alpha0"])
        return float(self.values.get("split", 1.0) * self.values["alpha"])

    @property
    def alpha1(self) -> float:
        """Samples per dimension for the readout; of all samples, those not used for the query."""
        if "alpha" not in self.values:
            return float(self.values["alpha1"])
        share = 1.0 - self.values["split"] if "split" in self.values else 1.0
        return float(share * self.values["alpha"])

    def describe(self) -> str:
        """Return the values in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.values.items())


def make_cell(
    source: str, quantities: str | Iterable[str], values: Mapping[str, Any] | None = None
) -> Cell | None:
    """Return the cell for the given values, or None if none of the quantities exists there.

    A simulation has no ``auc``, and a linear model no ``cosine``: such quantities are left out, and
    so are values on which nothing depends.

    Parameters
    ----------
    source : {"theory", "simulation"}
        Where the numbers come from.
    quantities : str or iterable of str
        What to compute.
    values : mapping
        Values by name; others have their defaults. Samples per dimension are either ``alpha``, of
        which the share ``split`` goes to the query, or ``alpha0`` for the query and ``alpha1`` for
        the readout. With ``cosine`` and ``sharpness`` the query is not learned but given.

    Examples
    --------
    >>> from sparsetoken.experiments import compute, make_cell
    >>> cell = make_cell("theory", ["test_error"], {"model": "pooled", "alpha": 2.0})
    >>> compute(cell)["test_error"].value
    0.293...
    """
    check_choice("source", source, SOURCES)
    if isinstance(quantities, str):
        quantities = (quantities,)
    wanted = {check_known("quantity", quantity, QUANTITIES) for quantity in quantities}
    given = check_values(values or {})
    checked = check_values(DEFAULTS | given)
    if source == "simulation":
        wanted &= set(SIMULATED)
    if checked["model"] in LINEAR or "cosine" in checked:
        wanted -= {*ALIGNMENT, "misalignment"}
    if checked["model"] == "bayes":
        wanted &= {"oracle_error", "required_signal"}
    if checked["protocol"] != "two-step" and source == "theory":
        wanted -= set(SIMULATED) | set(PREDICTED)
    if not wanted:
        return None
    names = relevant_values(source, wanted, checked)
    kept = {name: value for name, value in checked.items() if name in names}
    _check_complete(source, wanted, kept, names)
    return Cell(source, tuple(q for q in QUANTITIES if q in wanted), kept)


def _check_complete(
    source: str, quantities: set[str], values: dict[str, Any], names: set[str]
) -> None:
    _ = Cell(source, (), values).test_problem  # raises ValueError if there is no such problem
    if "alpha" in values and {"alpha0", "alpha1"} & values.keys():
        raise ValueError("give either alpha (and split), or alpha0 and alpha1, not both")
    if "alpha" not in values:
        for name in ("alpha0", "alpha1"):
            if name in names and name not in values:
                listed = ", ".join(sorted(quantities))
                raise ValueError(f"{listed}: a value for {name} (or alpha) is needed")
    elif "split" in values and values["split"] == 1.0 and "alpha1" in names:
        raise ValueError("split must be below 1: it leaves no samples for the readout")
    if "cosine" in values and "sharpness" not in values and values["model"] != "hardmax":
        raise ValueError("cosine needs a value for sharpness beside it")
    if "sharpness" in values and "cosine" not in values:
        raise ValueError("sharpness needs a value for cosine beside it")
    if source == "simulation":
        for name in ("alpha", "alpha0", "alpha1"):
            if math.isinf(values.get(name, 0.0)):
                raise ValueError(f"{name} must be finite in a simulation")
    if values.get("protocol", "two-step") != "two-step":
        if "alpha" not in values:
            raise ValueError(
                f"protocol {values['protocol']!r} needs alpha: its samples serve twice"
            )
        if values["model"] != "attention":
            raise ValueError(f"protocol {values['protocol']!r} needs the model 'attention'")


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
