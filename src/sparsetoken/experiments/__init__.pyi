from .cell import Cell, compute, make_cell
from .figures import draw_figure, figure_names, figure_rows
from .store import Failure, Report, Store, StoreError, collect, run
from .sweep import Grid, Sweep, load_sweep
from .table import write_table
from .workers import ClusterError, dask_executor, local_processes

__all__ = [
    "Cell",
    "ClusterError",
    "Failure",
    "Grid",
    "Report",
    "Store",
    "StoreError",
    "Sweep",
    "collect",
    "compute",
    "dask_executor",
    "draw_figure",
    "figure_names",
    "figure_rows",
    "load_sweep",
    "local_processes",
    "make_cell",
    "run",
    "write_table",
]
