"""MATLAB: ``.mat``, as the classic sets of multiple-instance learning come."""

import math
from functools import partial
from pathlib import Path

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.guards import Arrays, Delayed
from sparsetoken.files.hdf5 import open_hdf5

_NUMBERS = {"double": "f8", "single": "f4", "logical": "?", "sparse": "f8"} | {
    f"{sign}int{8 * size}": f"{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)
}


def open_mat(path: Path) -> Arrays:
    """Open matrices of numbers, also sparse ones; a row or a column is a vector."""
    from scipy.io import whosmat

    with path.open("rb") as file:
        if b"MATLAB 7.3" in file.read(128):  # HDF5 behind a head, with all axes in reverse
            return {
                name: Delayed(array.shape[::-1], array.dtype, partial(_transposed, array))
                for name, array in open_hdf5(path).items()
            }
    arrays = {}
    for name, size, kind in whosmat(path):
        if kind in _NUMBERS:
            shape = (math.prod(size),) if len(size) == 2 and 1 in size else tuple(size)
            arrays[name] = Delayed(shape, np.dtype(_NUMBERS[kind]), partial(_read, path, name))
    return arrays


def _read(path: Path, name: str) -> Array:
    from scipy.io import loadmat

    matrix = loadmat(path, variable_names=[name])[name]
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # toarray believes all indices
        matrix = matrix.toarray()
    return matrix.ravel() if matrix.ndim == 2 and 1 in matrix.shape else matrix


def _transposed(array: Delayed) -> Array:
    return array.read().T
