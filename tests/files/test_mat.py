"""MATLAB: the classic sets."""

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from files.slides import (
    SLIDES,
    same_slides,
)
from sparsetoken import read_dataset


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_matlab(tmp_path, kind):
    X = np.concatenate(list(SLIDES.values())).astype(float)
    bag = np.repeat([1, 2, 3], [3, 5, 2])
    content = {
        "features": kind(X),
        "labels": kind(np.where(bag == 2, 1.0, -1.0)[None]),
        "bag_ids": bag[None],
        "name": "musk",
    }
    savemat(tmp_path / "musk.mat", content)
    data = read_dataset(tmp_path / "musk.mat")
    same_slides(data, dict(zip([1, 2, 3], map(np.float64, SLIDES.values()), strict=True)))
    assert data.labels.tolist() == [-1, 1, -1]


def test_sparse_matrices_that_point_outside_are_refused(tmp_path):
    path = tmp_path / "x.mat"
    X = sparse.csc_matrix(np.eye(6))
    savemat(path, {"features": X, "bag_ids": np.arange(6) // 2})
    content = path.read_bytes()
    rows = np.arange(6, dtype=np.int32).tobytes()
    path.write_bytes(content.replace(rows, np.array([0, 1, 2, 3, 4, 10**6], np.int32).tobytes(), 1))
    with pytest.raises(ValueError, match=r"x.mat is not a .mat file, or is damaged: .*ind"):
        read_dataset(path)


def test_a_crash_of_the_library_is_said(tmp_path):
    """A type of numbers that does not exist leads scipy astray."""
    path = tmp_path / "x.mat"
    savemat(path, {"features": np.ones((6, 2)), "bag_ids": np.arange(6) // 2})
    content = bytearray(path.read_bytes())
    content[content.index(np.ones(12).tobytes()) - 8] = 200
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"x.mat is not a .mat file, or is damaged"):
        read_dataset(path)
