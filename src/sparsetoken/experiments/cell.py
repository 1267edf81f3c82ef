"""A cell of a sweep: a pure function of named values, its key and seed hashes of them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sparsetoken._validation import import_object
from sparsetoken.population import AnyProblem, Population, plain
from sparsetoken.population_tables import from_tables
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import group

SOURCES = ("theory", "simulation")

_SCHEMA = 2  # to be raised when the same values come to mean something else
PROBLEM = group("problem")


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
        The named values, those alone on which the quantities depend. ``make_cell`` makes them.
    """

    source: str
    quantities: tuple[str, ...]
    values: dict[str, Any]

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Hash of everything: the same key means the same numbers."""
        return _digest([_SCHEMA, self.source, self.quantities, _meaning(self.values)])

    @property
    def seed(self) -> int:
        """Seed of the random numbers, from the values alone."""
        return int(_digest([_SCHEMA, _meaning(self.values)])[:32], 16)

    @cached_property
    def problem(self) -> AnyProblem:
        """The problem to train on."""
        return _read_problem(self.values)

    @cached_property
    def test_problem(self) -> AnyProblem:
        """The problem to test on: that of training unless a value ``test_...`` says otherwise."""
        names = (*PROBLEM, *group("population"))
        changed = {n: self.values[f"test_{n}"] for n in names if f"test_{n}" in self.values}
        return _read_problem(self.values | changed) if changed else self.problem

    @property
    def n_windows(self) -> int:
        """In how many windows a sequence is tested."""
        return int(self.values.get("n_windows", 1))

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
        rest = 1.0 - self.values["split"] if "split" in self.values else 1.0
        return float(rest * self.values["alpha"])

    def describe(self) -> str:
        """Return the values in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.values.items())


def _read_problem(values: Mapping[str, Any]) -> AnyProblem:
    errors = values.get("label_errors", (0.0, 0.0))
    if "kinds" in values:
        return plain(from_tables(values["kinds"], errors))
    fields = {name: values[name] for name in (*PROBLEM, "contiguous") if name in values}
    return plain(Population([SparseTokenProblem(**fields)], label_errors=errors))


def _meaning(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, what is imported by its path together with its parameters."""
    custom = {
        name: [values[name], sorted(vars(import_object(name, values[name])).items())]
        for name in ("model", "loss")
        if ":" in values.get(name, "")
    }
    return values | custom


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()
