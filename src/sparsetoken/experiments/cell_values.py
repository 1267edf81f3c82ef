"""From named values to a cell: defaults are filled in, and what nothing depends on is left out."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sparsetoken._validation import check_choice
from sparsetoken.experiments.cell import NO_ERRORS, PROBLEM, SOURCES, Cell
from sparsetoken.experiments.models import find_model
from sparsetoken.losses import get_loss
from sparsetoken.population import Population, windows
from sparsetoken.population_text import errors_text, kinds_text, read_population
from sparsetoken.vocabulary import (
    MEASURED,
    PARAMETERS,
    check_known,
    check_parameters,
    with_names_of_today,
)

_LEFT_OUT_IF_ZERO = ("center", "tuned", "contiguous", "unlabelled")
_SIMULATION = frozenset({"dim", "trials", "random_state"})
_SAMPLES = ("alpha", "alpha0", "alpha1")
_DEFAULTS = {name: q.default for name, q in PARAMETERS.items() if q.default is not None}


def make_cell(
    source: str, quantities: str | Iterable[str], values: Mapping[str, Any] | None = None
) -> Cell | None:
    """Return the cell for the given values, or None if none of the quantities exists there.

    A simulation has no ``capacity``, and a linear model no ``cosine``: such quantities are left
    out, and so are values on which nothing depends.

    Parameters
    ----------
    source : {"theory", "simulation"}
        Where the numbers come from.
    quantities : str or iterable of str
        What to compute.
    values : mapping
        Values by name; others have their defaults (:data:`sparsetoken.vocabulary.PARAMETERS`).
        Samples per dimension are either ``alpha``, of which the fraction ``split`` goes to the
        query, or ``alpha0`` for the query and ``alpha1`` for the readout. The model "two-step"
        learns its query, "attention" has one of the given ``cosine`` and ``sharpness``; any other
        pooling, by its name or import path, learns its query unless it is given. ``kinds`` of a
        population, a :class:`~sparsetoken.Population`, text or tables, take the place of
        ``n_tokens``, ``n_signal`` and ``signal``. With a value for
        ``depth``, "attention" has self-attention layers before its query. "training" takes
        ``steps`` of gradient descent on all parameters, with ``alpha`` samples per dimension each;
        "joint" is the minimum, with the ridge on query and readout alike. A model that is ``tuned``
        has the learning rates (two steps also the split and the ridge) with which the theory
        expects the least error; ``alpha`` and ``steps`` are then the most it may use in all.
        "optimal" is the best that any learner can do.

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
    complete = check_parameters(_write_problem(with_names_of_today(values or {})))
    _check_loss(complete["loss"])
    if "sharpness" in complete and "cosine" not in complete:
        raise ValueError("sharpness needs a value for cosine beside it")
    model = find_model(complete)
    wanted &= model.quantities(source)
    if not wanted:
        return None
    names = set().union(*(model.parameters(quantity, source) for quantity in wanted))
    names -= {name for name in _LEFT_OUT_IF_ZERO if not complete.get(name)}
    names |= _SIMULATION if source == "simulation" else set()
    kept = {name: value for name, value in complete.items() if name in names}
    cell = Cell(source, tuple(q for q in MEASURED if q in wanted), kept)
    _check_samples(cell, names)
    windows(cell.test_problem, cell.n_windows)  # raises ValueError if there is no such problem
    model.check(complete, cell)
    return cell


def _check_samples(cell: Cell, names: set[str]) -> None:
    """Raise ValueError if the numbers of samples, or the dimension, are none to compute with."""
    values = cell.values
    missing = [n for n in ("alpha0", "alpha1") if n in names and n not in values]
    if "alpha" in values:
        if {"alpha0", "alpha1"} & values.keys():
            raise ValueError("give either alpha (and split), or alpha0 and alpha1, not both")
        if values.get("split") == 1.0 and "alpha1" in names:
            raise ValueError("split must be below 1: it leaves no samples for the readout")
    elif missing:
        listed = ", ".join(sorted(cell.quantities))
        raise ValueError(f"{listed}: a value for {missing[0]} (or alpha) is needed")
    elif "alpha" in names and not {"alpha0", "alpha1"} & names:
        what = "tuned" if "tuned" in values else f"model {values['model']!r}"
        raise ValueError(f"{what} needs alpha: how its samples are used is not for alpha0, alpha1")
    if cell.source == "simulation":
        for name in _SAMPLES:
            if math.isinf(values.get(name, 0.0)):
                raise ValueError(f"{name} must be finite in a simulation")
        if values["dim"] < 2:
            raise ValueError(f"dim must be at least 2 in a simulation, got {values['dim']}")


def _check_loss(loss: Any) -> None:
    if not isinstance(loss, str):
        raise ValueError(f"loss must be a name or an import path, got {loss!r}")
    get_loss(loss)


def _write_problem(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with their defaults, a population among them written in one way."""
    rate = PARAMETERS["positive_rate"].check(values.get("positive_rate", 0.5))
    values = _write_population(_write_population(values, "", rate), "test_", rate)
    if values.get("label_errors") == NO_ERRORS:
        del values["label_errors"]
    if "kinds" not in values:
        return _DEFAULTS | values
    for name in PROBLEM:
        if f"test_{name}" in values:
            raise ValueError(f"test_{name} does not go with kinds: give test_kinds")
    kind, *others = read_population(values["kinds"]).kinds
    if others:
        return {n: v for n, v in _DEFAULTS.items() if n not in PROBLEM} | values
    del values["kinds"]  # one kind is the problem that it is: the same numbers, the same key
    return _DEFAULTS | values | {name: getattr(kind, name) for name in PROBLEM}


def _write_population(values: dict[str, Any], prefix: str, rate: float) -> dict[str, Any]:
    """Return the values with kinds and label errors of training, or of testing, as text.

    ``rate`` is that of kinds without one of their own.
    """
    values = dict(values)
    kinds, errors = f"{prefix}kinds", f"{prefix}label_errors"
    population = values.get(kinds)
    if isinstance(population, Population):
        if errors in values:
            raise ValueError(f"{errors} must be left out: the population has label errors")
        values[errors] = population.label_errors
    if errors in values:
        values[errors] = errors_text(values[errors])
    if population is None:
        return values
    for name in (*PROBLEM[:-1], "contiguous"):
        if f"{prefix}{name}" in values:
            raise ValueError(f"{prefix}{name} does not go with {kinds}: each kind has its own")
    common_rate = values.pop(f"{prefix}positive_rate", None)
    values[kinds] = kinds_text(population, rate if common_rate is None else common_rate)
    if common_rate is not None and values[kinds] == kinds_text(population):
        raise ValueError(f"{prefix}positive_rate must be left out: each kind has its own")
    return values
