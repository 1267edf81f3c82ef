"""Sweeps: grids of named values, in Python or in a TOML file, and their runs."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, as_completed
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._validation import check_choice, check_count, check_real, read_toml
from sparsetoken.experiments.cell import SOURCES, Cell, compute, make_cell
from sparsetoken.experiments.executors import ClusterError
from sparsetoken.experiments.store import Outcome, Store
from sparsetoken.vocabulary import PARAMETERS, check_known, check_parameter

_LIST, _TABLE = (list, "list of names"), (dict, "table")
_ENTRIES = {"quantities": _LIST, "sources": _LIST, "fixed": _TABLE, "axes": _TABLE}


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
    lines : mapping, optional
        Values in place of those of some axes, at which there is theory besides.
    columns : mapping, optional
        What the rows of its table carry beside the values, to tell grids apart.
    """

    quantities: Sequence[str]
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    sources: Sequence[str] = SOURCES
    lines: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """Yield the cells, the last axis fastest."""
        if self.lines:
            yield from replace(
                self, axes={**self.axes, **self.lines}, sources=["theory"], lines={}
            ).cells()
        for point in itertools.product(*self.axes.values()):
            values = dict(self.fixed) | dict(zip(self.axes, point, strict=True))
            for source in self.sources:
                cell = make_cell(source, self.quantities, values)
                if cell is not None:
                    yield cell


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
        return list(dict.fromkeys(cell for cell, _ in self.parts))

    @cached_property
    def parts(self) -> list[tuple[Cell, tuple[tuple[str, Any], ...]]]:
        """The cells with the columns of their grids, made once; a pair that repeats is left out."""
        pairs = (
            (cell, tuple(grid.columns.items())) for grid in self.grids for cell in grid.cells()
        )
        return list(dict.fromkeys(pairs))


class Report(NamedTuple):
    """What a run did."""

    computed: int
    failed: int
    already_done: int


def run(
    sweep: Sweep,
    store: Store,
    executor: Executor | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compute the cells that the store does not have, and write each as it completes.

    Parameters
    ----------
    sweep : Sweep
        What to compute.
    store : Store
        Where the results go. Cells that are done are not computed again, those that failed are.
        Several processes may run one sweep on one store; they may then do the same work twice.
    executor : Executor, optional
        Anything with the interface of concurrent.futures; by default the cells run one after the
        other in this process. A worker that dies raises RuntimeError; what is finished is kept.
    progress : callable, optional
        Called with the number of finished cells and of all cells.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.experiments import Grid, Store, Sweep, run
    >>> sweep = Sweep([Grid(["cosine"], {"alpha0": [1.0, 2.0]}, {"dim": 50, "trials": 2})])
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/results.db") as store:
    ...     run(sweep, store)
    ...     run(sweep, store)
    Report(computed=4, failed=0, already_done=0)
    Report(computed=0, failed=0, already_done=4)
    """
    cells = sweep.cells()
    missing = store.missing(cells)
    already_done, failed = len(cells) - len(missing), 0
    show = progress or (lambda done, total: None)
    show(already_done, len(cells))
    for done, (cell, outcome) in enumerate(_outcomes(missing, executor), already_done + 1):
        store.record(cell, outcome)
        failed += isinstance(outcome, str)
        show(done, len(cells))
    return Report(len(missing) - failed, failed, already_done)


def collect(
    sweep: Sweep, store: Store, executor: Executor | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Compute what the store lacks of a sweep, and return the whole table.

    A cell that fails raises RuntimeError.

    Parameters
    ----------
    sweep, store, executor, **options
        As in :func:`run`.
    """
    run(sweep, store, executor, **options)
    cells = sweep.cells()
    failures = store.failures(cells)
    if failures:
        cell, error = failures[0]
        raise RuntimeError(
            f"{len(failures)} of {len(cells)} cells failed; the first, {cell.describe()}: {error}"
        )
    return [row | dict(columns) for cell, columns in sweep.parts for row in store.rows([cell])]


def compute_or_error(cell: Cell) -> Outcome:
    """Compute a cell; an error comes as text."""
    try:
        return compute(cell)
    except Exception as error:  # whatever it is, it belongs in the store
        return f"{type(error).__name__}: {error}"


def _outcomes(cells: list[Cell], executor: Executor | None) -> Iterator[tuple[Cell, Outcome]]:
    """Yield cells with their numbers or errors as the executor, or this process, completes them."""
    if executor is None:
        yield from ((cell, compute_or_error(cell)) for cell in cells)
        return
    running = {executor.submit(compute_or_error, cell): cell for cell in cells}
    try:
        for future in as_completed(running):
            yield running[future], future.result()
    except CancelledError:
        raise ClusterError("the Dask scheduler is gone; what is finished is kept") from None
    except Exception as error:
        if not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":
            raise
        raise RuntimeError(
            "a worker has died, perhaps for want of memory; what is finished is kept: run it "
            "again, with fewer workers"
        ) from None


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
    blocks = content.pop("grid", [{}])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise ValueError("grid must be written [[grid]]: there may be several")
    sweep = Sweep([_grid(content, block) for block in blocks])
    if not sweep.cells():
        raise ValueError("the sweep has no cells: none of its quantities exists for its values")
    return sweep


def _grid(top: dict[str, Any], block: dict[str, Any]) -> Grid:
    """Return the grid of a block, whose entries add to those at the top."""
    for name, value in (*top.items(), *block.items()):
        kind, words = _ENTRIES[check_known("entry", name, _ENTRIES)]
        if not isinstance(value, kind) or not value:
            raise ValueError(f"{name} must be a {words}, got {value!r}")
    fixed, axes = (top.get(name, {}) | block.get(name, {}) for name in ("fixed", "axes"))
    if twice := fixed.keys() & axes.keys():
        raise ValueError(f"{min(twice)} is both fixed and an axis")
    lists = {"sources": SOURCES} | top | block
    if "quantities" not in lists:
        raise ValueError("the sweep names no quantities")
    axes = {name: _axis(name, values) for name, values in axes.items()}
    return Grid(lists["quantities"], axes, fixed, lists["sources"])


def _axis(name: str, values: Any) -> list[Any]:
    """Return the values of an axis given as a list or as a range."""
    check_parameter("axis", name)
    if isinstance(values, list) and values:
        return values
    if not isinstance(values, dict):
        raise ValueError(f"axis {name!r} must be a list of values, got {values!r}")
    for entry in values:
        check_known(f"entry of axis {name!r}", entry, ("start", "stop", "count", "spacing"))
    if not {"start", "stop", "count"} <= values.keys():
        raise ValueError(f"axis {name!r} needs start, stop and count, got {values!r}")
    log = check_choice("spacing", values.get("spacing", "linear"), ("linear", "log")) == "log"
    start, stop = (check_real(f"{e} of axis {name!r}", values[e]) for e in ("start", "stop"))
    if log and min(start, stop) <= 0:
        raise ValueError(f"axis {name!r} with log spacing must start and stop above 0")
    count = check_count(f"count of axis {name!r}", values["count"])
    points = (np.geomspace if log else np.linspace)(start, stop, count).tolist()
    return sorted(set(map(round, points))) if PARAMETERS[name].whole else points
