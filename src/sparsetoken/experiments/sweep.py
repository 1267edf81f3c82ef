"""Sweeps as data: grids of named values, in Python or in a TOML file."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from sparsetoken._validation import check_choice, check_count, check_real, read_toml
from sparsetoken.experiments.cell import SOURCES, Cell
from sparsetoken.experiments.cell_values import make_cell
from sparsetoken.vocabulary import (
    MEASURED,
    PARAMETERS,
    check_known,
    check_parameter,
    check_parameters,
    with_names_of_today,
)

_RANGE = ("start", "stop", "count", "spacing")


@dataclass(frozen=True)
class Grid:
    """Every combination of the values on some axes.

    Parameters
    ----------
    quantities : sequence of str
        What to compute; a quantity that a point does not have is left out there.
    axes : mapping of str to sequence
        The values of each axis.
    fixed : mapping, optional
        Values that are the same everywhere; all others have their defaults.
    sources : sequence of {"theory", "simulation"}
        Where the numbers come from.
    columns : mapping, optional
        What the rows of its table carry beside the values, to tell grids apart.
    """

    quantities: Sequence[str]
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    sources: Sequence[str] = SOURCES
    columns: Mapping[str, Any] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """Yield the cells, the last axis fastest."""
        for point in itertools.product(*self.axes.values()):
            values = dict(self.fixed) | dict(zip(self.axes, point, strict=True))
            for source in self.sources:
                cell = make_cell(source, self.quantities, values)
                if cell is not None:
                    yield cell


def line_and_points(
    quantities: Sequence[str],
    axis: str,
    lines: Sequence[Any],
    points: Sequence[Any],
    fixed: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]] | None = None,
    columns: Mapping[str, Any] | None = None,
) -> list[Grid]:
    """Return the theory on ``lines`` and ``points`` of an axis, the simulation on ``points``."""
    return [
        Grid(quantities, {**(axes or {}), axis: values}, fixed, sources, columns or {})
        for values, sources in ((lines, ["theory"]), (points, SOURCES))
    ]


@dataclass(frozen=True)
class Sweep:
    """Grids to be computed together.

    Parameters
    ----------
    grids : sequence of Grid
        The grids; cells that occur twice are computed once.

    Examples
    --------
    >>> from sparsetoken.experiments import Grid, Sweep
    >>> axes = {"model": ["pooled", "two-step"], "alpha": [1.0, 2.0]}
    >>> sweep = Sweep([Grid(["test_error"], axes, sources=["theory"])])
    >>> len(sweep.cells())
    4
    """

    grids: Sequence[Grid]

    def cells(self) -> list[Cell]:
        """Return the cells, each once."""
        return list(dict.fromkeys(cell for _, cells in self.parts for cell in cells))

    @cached_property
    def parts(self) -> list[tuple[Grid, list[Cell]]]:
        """The grids with their cells, made once; a cell that a grid repeats is left out."""
        seen: dict[str, set[Cell]] = {}
        parts = []
        for grid in self.grids:
            known = seen.setdefault(repr(dict(grid.columns)), set())
            cells = [cell for cell in dict.fromkeys(grid.cells()) if cell not in known]
            known.update(cells)
            parts.append((grid, cells))
        return parts


def load_sweep(path: str | PathLike[str]) -> Sweep:
    """Read a sweep from a TOML file.

    The file has ``quantities``, optionally ``sources``, a table ``[fixed]`` and a table ``[axes]``;
    or several tables ``[[grid]]`` with these entries, which then add to those at the top. An axis
    is a list, or ``{start = 0.5, stop = 8, count = 5, spacing = "log"}``.

    Parameters
    ----------
    path : str or path
        The file. An entry that is not known raises ValueError with the nearest known name.
    """
    return read_toml(path, _sweep)


def _sweep(content: dict[str, Any]) -> Sweep:
    known = ("quantities", "sources", "fixed", "axes")
    for name in content:
        check_known("entry", name, (*known, "grid"))
    blocks = content.pop("grid", [{}])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise ValueError("grid must be written [[grid]]: there may be several")
    grids = []
    for block in blocks:
        for name in block:
            check_known("entry of [[grid]]", name, known)
        grids.append(_grid(content, block))
    sweep = Sweep(grids)
    if not sweep.cells():
        raise ValueError("the sweep has no cells: none of its quantities exists for its values")
    return sweep


def _grid(top: dict[str, Any], block: dict[str, Any]) -> Grid:
    merged = top | block
    tables = {name: top.get(name, {}) for name in ("fixed", "axes")}
    for name in tables:
        table = block.get(name, {})
        if not isinstance(tables[name], dict) or not isinstance(table, dict):
            raise ValueError(f"{name} must be a table, [{name}]")
        tables[name] = with_names_of_today(tables[name] | table)
    quantities = _names("quantities", merged.get("quantities"), "quantity", MEASURED)
    sources = _names("sources", merged.get("sources", list(SOURCES)), "source", SOURCES)
    fixed, axes = tables["fixed"], tables["axes"]
    both = sorted(fixed.keys() & axes.keys())
    if both:
        raise ValueError(f"{both[0]} is both fixed and an axis")
    check_parameters(fixed)
    for name, values in axes.items():
        axes[name] = _axis(name, values)
        for value in axes[name]:
            check_parameters({name: value})
    return Grid(quantities, axes, fixed, sources)


def _names(entry: str, value: Any, what: str, known: Iterable[str]) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise ValueError(f"{entry} must be a list of names, got {value!r}")
    return [check_known(what, name, known) for name in value]


def _axis(name: str, values: Any) -> list[Any]:
    """Return the values of an axis given as a list or as a range."""
    check_parameter("axis", name)
    if isinstance(values, dict):
        for entry in values:
            check_known(f"entry of axis {name!r}", entry, _RANGE)
        if not {"start", "stop", "count"} <= values.keys():
            raise ValueError(f"axis {name!r} needs start, stop and count, got {values!r}")
        spacing = check_choice("spacing", values.get("spacing", "linear"), ("linear", "log"))
        start, stop = (check_real(f"{e} of axis {name!r}", values[e]) for e in ("start", "stop"))
        count = check_count(f"count of axis {name!r}", values["count"])
        if spacing == "log":
            if min(start, stop) <= 0:
                raise ValueError(f"axis {name!r} with log spacing must start and stop above 0")
            points = np.geomspace(start, stop, count)
        else:
            points = np.linspace(start, stop, count)
        if PARAMETERS[name].whole:
            return sorted({round(point) for point in points.tolist()})
        return points.tolist()
    if not isinstance(values, list) or not values:
        raise ValueError(f"axis {name!r} must be a list of values, got {values!r}")
    return values
