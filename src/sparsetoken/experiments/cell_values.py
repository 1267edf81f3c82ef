"""From named values to a cell: defaults are filled in, and what nothing depends on is left out."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sparsetoken._validation import check_choice, check_real, shown
from sparsetoken.experiments.cell import PROBLEM, SOURCES, Cell
from sparsetoken.experiments.models import find_model
from sparsetoken.losses import get_loss
from sparsetoken.population import Population, windows
from sparsetoken.population_tables import as_tables, from_tables
from sparsetoken.vocabulary import (
    MEASURED,
    PARAMETERS,
    check_known,
    check_parameters,
    with_names_of_today,
)

_LEFT_OUT_IF_ZERO = ("center", "contiguous", "unlabelled")
_SIMULATION = frozenset({"dim", "trials", "random_state"})
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
        pooling, by its name or import path, learns its query unless it is given. ``kinds``, a
        :class:`~sparsetoken.Population` or a list of tables with ``probability``, ``n_tokens``,
        ``n_signal``, ``signal`` and ``positive_rate``, take the place of these. "training" takes
        ``steps`` of gradient descent on all parameters, with ``alpha`` samples per dimension each;
        "joint" is the minimum, with the ridge on query and readout alike. "optimal" is the best
        that any learner can do.

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
    complete = check_parameters(_describe_problem(with_names_of_today(values or {})))
    if not isinstance(complete["loss"], str):
        raise ValueError(f"loss must be a name or an import path, got {complete['loss']!r}")
    get_loss(complete["loss"])  # raises ValueError if there is none
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
        raise ValueError(f"model {values['model']!r} needs alpha, not alpha0 and alpha1")
    if cell.source == "simulation":
        for name in ("alpha", "alpha0", "alpha1"):
            if math.isinf(values.get(name, 0.0)):
                raise ValueError(f"{name} must be finite in a simulation")
        if values["dim"] < 2:
            raise ValueError(f"dim must be at least 2 in a simulation, got {values['dim']}")


def _describe_problem(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with their defaults, and populations as plain data."""
    rate = PARAMETERS["positive_rate"].check(values.get("positive_rate", 0.5))
    described = _describe_population(_describe_population(values, "", rate), "test_", rate)
    if not any(described.get("label_errors", ())):
        described.pop("label_errors", None)
    if "kinds" not in described:
        return _DEFAULTS | described
    for name in PROBLEM:
        if f"test_{name}" in values:
            raise ValueError(f"test_{name} does not go with kinds: give test_kinds")
    if len(described["kinds"]) > 1:
        return {n: v for n, v in _DEFAULTS.items() if n not in PROBLEM} | described
    (kind,) = described.pop("kinds")  # the problem that it is: the same numbers, the same key
    return _DEFAULTS | described | {name: kind[name] for name in PROBLEM}


def _describe_population(values: Mapping[str, Any], prefix: str, rate: float) -> dict[str, Any]:
    """Return the values with kinds of training, or of testing, as tables; ``rate`` is common."""
    described = dict(values)
    kinds, errors = described.get(f"{prefix}kinds"), described.get(f"{prefix}label_errors")
    if isinstance(kinds, Population):
        if errors is not None:
            raise ValueError(f"{prefix}label_errors must be left out: the population has its own")
        errors = kinds.label_errors
    if errors is not None:
        described[f"{prefix}label_errors"] = _check_errors(errors)
    if kinds is None:
        return described
    for name in ("n_tokens", "n_signal", "signal", "contiguous"):
        if f"{prefix}{name}" in values:
            raise ValueError(f"{prefix}{name} does not go with {prefix}kinds: each has its own")
    common = described.pop(f"{prefix}positive_rate", None)
    population = kinds
    if not isinstance(kinds, Population):
        population = from_tables(kinds, positive_rate=rate if common is None else common)
    if common is not None and (
        population is kinds or all("positive_rate" in kind for kind in kinds)
    ):
        raise ValueError(f"{prefix}positive_rate must be left out: each kind has its own")
    return described | {f"{prefix}kinds": as_tables(population)}


def _check_errors(label_errors: Any) -> list[float]:
    if not isinstance(label_errors, list | tuple) or len(label_errors) != 2:
        raise ValueError(
            "label_errors must be two probabilities, that a positive is recorded as negative and "
            f"the reverse; got {shown(label_errors)}"
        )
    return [check_real("label_errors", error, low=0.0, high=1.0) for error in label_errors]
