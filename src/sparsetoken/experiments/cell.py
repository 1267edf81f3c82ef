"""A cell of a sweep: a model, a source and named values; its numbers, key and seed follow."""

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsetoken import models
from sparsetoken._validation import check_choice, import_object
from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.losses import get_loss
from sparsetoken.models.base import Size
from sparsetoken.population import Population
from sparsetoken.problem import FIELDS, Problem
from sparsetoken.vocabulary import MEASURED, PARAMETERS, check_known, check_parameters, group

SOURCES = ("theory", "simulation")

_SCHEMA = 2  # to be raised when the same values come to mean something else
_PROBLEM = (*FIELDS, *group("population"))
_SAMPLES = ("alpha", "alpha0", "alpha1")
_ARGUMENTS = {"recall": "fpr", "required_signal": "error"}  # of quantities that need one
_DEFAULTS = {
    name: PARAMETERS[name].default
    for name in ("model", "loss", *_ARGUMENTS.values(), *group("simulation"))
}
_LEFT_OUT_BY_DEFAULT = ("center", "unlabelled")
_NEEDS_QUERY = {"trained", "query", "capacity"}  # groups of quantities


@dataclass(frozen=True)
class Cell:
    """A point of a sweep: what to compute there, and how. :func:`make_cell` makes it."""

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
    def model(self) -> models.Model:
        """The model."""
        return models.get(self.values["model"], self.values)

    @cached_property
    def problem(self) -> Problem:
        """The problem to train and to test on."""
        one = {name: self.values[name] for name in FIELDS if name in self.values}
        kinds = self.values.get("kinds", [{"probability": 1.0} | one])
        return Population.from_tables(kinds, self.values.get("label_errors", (0.0, 0.0))).plain()

    @property
    def size(self) -> Size:
        """Samples per dimension, as the model takes them: all, or those of query and readout."""
        values = self.values
        if "alpha" in values:
            return float(values["alpha"])
        splits = "split" in self.model.settings
        return (values.get("alpha0"), values.get("alpha1")) if splits else values.get("alpha1")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the model."""
        return {n: value for n, value in self.values.items() if n in self.model.settings}

    def describe(self) -> str:
        """Return the values in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.values.items())


def make_cell(
    source: str, quantities: str | Iterable[str], values: Mapping[str, Any] | None = None
) -> Cell | None:
    """Return the cell for the given values, or None if none of the quantities exists there.

    A simulation has no ``capacity``, and a linear model no ``cosine``: such quantities are left
    out, and so are values that the model does not take.

    Parameters
    ----------
    source : {"theory", "simulation"}
        Where the numbers come from.
    quantities : str or iterable of str
        What to compute.
    values : mapping
        Values by name; others have their defaults (:data:`sparsetoken.vocabulary.PARAMETERS`).
        ``model`` is one of :func:`sparsetoken.models.names` or a pooling. Samples per dimension are
        either ``alpha``, of which the fraction ``split`` goes to the query, or ``alpha0`` for the
        query and ``alpha1`` for the readout. ``kinds``, a :class:`~sparsetoken.Population` or a
        list of tables with ``probability``, ``n_tokens``, ``n_signal``, ``signal`` and
        ``positive_rate``, take the place of these.

    Examples
    --------
    >>> from sparsetoken.experiments import compute, make_cell
    >>> cell = make_cell("theory", ["test_error"], {"model": "pooled", "alpha": 2.0})
    >>> round(compute(cell)["test_error"], 3)
    0.293
    """
    check_choice("source", source, SOURCES)
    listed = [quantities] if isinstance(quantities, str) else quantities
    wanted = {check_known("quantity", quantity, MEASURED) for quantity in listed}
    described = check_parameters(_DEFAULTS | _describe_problem(values or {}))
    if not isinstance(described["loss"], str):
        raise ValueError(f"loss must be a name or an import path, got {described['loss']!r}")
    get_loss(described["loss"])  # raises ValueError if there is none
    if "sharpness" in described and "cosine" not in described:
        raise ValueError("sharpness needs a value for cosine beside it")
    model = models.get(described["model"], described)
    wanted &= model.predicted if source == "theory" else model.simulated
    if not wanted:
        return None
    cell = Cell(
        source,
        tuple(quantity for quantity in MEASURED if quantity in wanted),
        _choose_values(model, source, wanted, described),
    )
    _check_samples(cell)
    model.check(cell.problem, described, frozenset(wanted))
    return cell


def _choose_values(
    model: models.Model, source: str, wanted: set[str], described: dict[str, Any]
) -> dict[str, Any]:
    """Return what the model takes, with defaults, in the order of the vocabulary."""
    arguments = [argument for quantity, argument in _ARGUMENTS.items() if quantity in wanted]
    names = {"model", *_PROBLEM, *_SAMPLES, *model.settings, *arguments}
    names -= set() if "split" in model.settings else {"alpha0"}
    if source == "simulation":
        names = names - {"n_points"} | set(group("simulation"))
    settings = {name: value for name, value in described.items() if name in model.settings}
    complete = described | model.complete(settings)
    names -= {n for n in _LEFT_OUT_BY_DEFAULT if complete.get(n) == PARAMETERS[n].default}
    return {name: complete[name] for name in PARAMETERS if name in names and name in complete}


def _check_samples(cell: Cell) -> None:
    """Raise ValueError if the numbers of samples, or the dimension, are none to compute with."""
    values, sizes = cell.values, [name for name in _SAMPLES if name in cell.values]
    groups = {MEASURED[quantity].group for quantity in cell.quantities}
    query = "split" in cell.model.settings and bool(groups & _NEEDS_QUERY)
    readout = "trained" in groups or "separable" in cell.quantities
    if "alpha" in sizes and len(sizes) > 1:
        raise ValueError("give either alpha (and split), or alpha0 and alpha1, not both")
    if "alpha" in sizes and values.get("split") == 1.0 and readout:
        raise ValueError("split must be below 1: it leaves no samples for the readout")
    for name, is_needed in (("alpha0", query), ("alpha1", readout)):
        if is_needed and name not in sizes and "alpha" not in sizes:
            listed = ", ".join(sorted(cell.quantities))
            raise ValueError(f"{listed}: a value for {name} (or alpha) is needed")
    if cell.source == "simulation":
        for name in (*sizes, "unlabelled"):
            if math.isinf(values.get(name, 0.0)):
                raise ValueError(f"{name} must be finite in a simulation")
        if values["dim"] < 2:
            raise ValueError(f"dim must be at least 2 in a simulation, got {values['dim']}")


def _describe_problem(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with those of the problem complete, a population as plain data."""
    fields = {name: values[name] for name in FIELDS if name in values}
    kinds, errors = values.get("kinds"), values.get("label_errors")
    if kinds is None:
        default = {name: PARAMETERS[name].default for name in group("problem")}
        kinds, fields = [{"probability": 1.0} | default | fields], {}
    elif isinstance(kinds, Population):
        if errors is not None:
            raise ValueError("label_errors must be left out: the population has its own")
        errors, kinds = kinds.label_errors, kinds.to_tables()
    for name in fields:
        if name != "positive_rate" or all(name in kind for kind in kinds):
            raise ValueError(f"{name} does not go with kinds: each has its own")
    errors = (0.0, 0.0) if errors is None else errors
    pair = errors if isinstance(errors, list | tuple) else [errors]
    population = Population.from_tables(kinds, pair, **fields)
    first, *others = tables = population.to_tables()
    problem: dict[str, Any] = {"kinds": tables}
    if not others:
        problem = {name: first[name] for name in FIELDS if name in first}
    if any(population.label_errors):
        problem["label_errors"] = list(population.label_errors)
    return {name: value for name, value in values.items() if name not in _PROBLEM} | problem


def compute(cell: Cell) -> dict[str, Estimate]:
    """Return the cell's quantities; a result that is not a number raises ArithmeticError.

    A simulation gives the mean over its trials, with its standard error. Linear algebra runs on one
    thread: as many cells as there are processors run side by side, and sums in another order would
    give other last digits.

    Examples
    --------
    >>> from sparsetoken.experiments import compute, make_cell
    >>> values = {"alpha0": 2.0, "dim": 200, "trials": 4}
    >>> theory, simulation = (
    ...     compute(make_cell(source, "cosine", values))["cosine"]
    ...     for source in ("theory", "simulation")
    ... )
    >>> abs(theory - simulation) < 4 * simulation.uncertainty
    True
    """
    from sklearn.exceptions import ConvergenceWarning as FitWarning

    from sparsetoken.sequences.data import one_blas_thread

    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # kept as a flag on the result
        warnings.simplefilter("error", FitWarning)
        if cell.source == "theory":
            (predicted,) = cell.model.theory(cell.problem, [cell.size], cell.settings)
            found = _read(predicted, cell)
        else:
            seeds = np.random.SeedSequence(cell.seed).spawn(cell.values["trials"])
            drawn_from = cell.problem, cell.size, cell.values["dim"], cell.settings
            trials = (cell.model.trial(*drawn_from, np.random.default_rng(seed)) for seed in seeds)
            drawn = np.array([_read(trial, cell) for trial in trials])
            found = [Estimate.from_batches(each.mean(), each) for each in drawn.T]
    numbers = dict(zip(cell.quantities, found, strict=True))
    for quantity, number in numbers.items():
        if math.isnan(number):
            raise ArithmeticError(f"{quantity} is not a number at {cell.describe()}")
    return numbers


def _read(result: Any, cell: Cell) -> list[Estimate]:
    """Return the cell's quantities of a result of theory or trial."""
    numbers = []
    for quantity in cell.quantities:
        number = getattr(result, quantity)
        if quantity in _ARGUMENTS:
            number = number(cell.values[_ARGUMENTS[quantity]])
        numbers.append(number if isinstance(number, Estimate) else Estimate(number))
    return numbers


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
