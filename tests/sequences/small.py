"""Small sequences and tables."""

import numpy as np
import polars
import pytest

LENGTHS = [3, 1, 4, 2]
# Frames: rows interleaved, sequences in the order of their first row.
BAG = ["b", "a", "b", "c", "a"]
VALUES = {"x": [1.0, 2.0, 3.0, 4.0, 5.0], "count": [1, 2, 3, 4, 5], "ill": [1, 0, 1, 0, 0]}


def ragged(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, 5)).astype(dtype) for length in LENGTHS]


def frame(kind, **columns):
    columns = {"bag": BAG, **VALUES} | columns
    if kind == "pandas":
        return pytest.importorskip("pandas", reason="a frame of pandas").DataFrame(columns)
    if kind == "polars":
        return polars.DataFrame(columns)
    return pytest.importorskip("pyarrow", reason="a table of Arrow").table(columns)
