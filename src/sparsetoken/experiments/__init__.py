"""Theory beside simulation: sweeps as data, a store that survives anything, named figures."""

from sparsetoken.experiments.cell import Cell, Measurement, make_cell
from sparsetoken.experiments.compute import compute
from sparsetoken.experiments.execution import Report, local_processes, run
from sparsetoken.experiments.figures import FIGURES, Recipe, figure_table, in_store
from sparsetoken.experiments.store import Failure, Store, StoreError
from sparsetoken.experiments.sweep import Grid, Sweep, load_sweep
from sparsetoken.experiments.table import write_table

__all__ = [
    "FIGURES",
    "Cell",
    "Failure",
    "Grid",
    "Measurement",
    "Recipe",
    "Report",
    "Store",
    "StoreError",
    "Sweep",
    "compute",
    "figure_table",
    "in_store",
    "load_sweep",
    "local_processes",
    "make_cell",
    "run",
    "write_table",
]
