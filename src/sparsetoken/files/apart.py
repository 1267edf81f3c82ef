"""Read what can crash a library in a process of its own: a script that imports nothing of ours."""

import contextlib
import faulthandler
import os
import subprocess
import sys
from typing import Any

_PATIENCE = 60.0  # seconds
_NUMBERS = ("double", "single", "logical", "sparse", "int8", "int16", "int32", "int64")


def run_apart(*arguments: object) -> None:
    """Run this script, for a minute at most; whatever ends it is a ValueError here."""
    command = [sys.executable, "-P", __file__, str(_PATIENCE), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        ended = f"its library crashes, or does not end within {_PATIENCE:g} seconds"
        raise ValueError((done.stderr.splitlines() or [ended])[-1])


def visit_hdf5(path: str) -> None:
    """Read all attributes and texts: where these are damaged HDF5 may crash, or never end."""
    import h5py

    def read(_: str, item: Any) -> None:
        for name in item.attrs:
            with contextlib.suppress(Exception):
                item.attrs[name]
        if isinstance(item, h5py.Dataset) and item.dtype.kind == "O":
            with contextlib.suppress(Exception):
                item[()]

    with contextlib.suppress(Exception), h5py.File(path, "r") as file:
        read("/", file)
        file.visititems(read)


def convert_mat(path: str, out: str, most: str) -> None:
    """Write the matrices of numbers to an ``.npz`` archive, unless they have more bytes."""
    import numpy as np
    from scipy.io import loadmat, whosmat

    sizes = {n: s for n, s, kind in whosmat(path) if kind.removeprefix("u") in _NUMBERS}
    size = 4 * sum(int(np.prod(size, dtype=object)) for size in sizes.values())
    if size > int(most):
        raise ValueError(f"it says that it holds {size / 1e9:.3g} GB: that is not believed")
    arrays = {}
    for name, matrix in loadmat(path, variable_names=list(sizes)).items():
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # toarray believes all indices
        if hasattr(matrix, "toarray"):  # of older scipy in coordinates, which are checked
            matrix = matrix.toarray()
        if name in sizes:
            arrays[name] = matrix.ravel() if matrix.ndim == 2 and 1 in matrix.shape else matrix
    np.savez(out, **arrays)


if __name__ == "__main__":
    patience, *arguments = sys.argv[1:]
    with open(os.devnull, "w") as nowhere:  # where a traceback goes
        # Ended from within: a reader whose caller was killed must end, too.
        faulthandler.dump_traceback_later(float(patience), exit=True, file=nowhere)
        (visit_hdf5 if len(arguments) == 1 else convert_mat)(*arguments)
