from .cell import Cell, compute, make_cell
from .executors import ClusterError, dask_executor, local_processes
from .figures import draw_figure, figure_names, figure_rows
from .store import Store, StoreError
from .sweep import Grid, Report, Sweep, collect, load_sweep, run
from .table import write_table

__all__ = [
    "Cell",
    "ClusterError",
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
