"""Matrices of a MATLAB file as an ``.npz`` archive: a script, which imports nothing of ours."""

import sys

_NUMBERS = ("double", "single", "logical", "sparse", "int8", "int16", "int32", "int64")


def convert(path: str, out: str, most: int) -> None:
    """Write the matrices of numbers in a file, unless they have more bytes than ``most``."""
    import numpy as np
    from scipy.io import loadmat, whosmat

    sizes = {n: s for n, s, kind in whosmat(path) if kind.removeprefix("u") in _NUMBERS}
    size = 4 * sum(int(np.prod(size, dtype=object)) for size in sizes.values())
    if size > most:
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
    convert(sys.argv[1], sys.argv[2], int(sys.argv[3]))
