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
