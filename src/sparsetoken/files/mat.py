"""MATLAB: ``.mat``, as the classic sets of multiple-instance learning come.

scipy reads them in a process of its own (``mat_process``): a damaged file can crash it.
"""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files import mat_process
from sparsetoken.files.guards import DENSEST, SMALL, Arrays, Delayed, run_apart
from sparsetoken.files.hdf5 import open_hdf5


def open_mat(path: Path) -> Arrays:
    """Open matrices of numbers, also sparse ones; a row or a column is a vector."""
    with path.open("rb") as file:
        if b"MATLAB 7.3" in file.read(128):  # HDF5 behind a head, with all axes in reverse
            return {
                name: Delayed(array.shape[::-1], array.dtype, partial(_transposed, array))
                for name, array in open_hdf5(path).items()
            }
    with tempfile.TemporaryDirectory() as folder:
        out, most = Path(folder, "arrays.npz"), max(SMALL, DENSEST * path.stat().st_size)
        run_apart(mat_process, str(path), str(out), str(most))
        with np.load(out) as archive:
            return dict(archive)


def _transposed(array: Delayed) -> Array:
    return array.read().T
