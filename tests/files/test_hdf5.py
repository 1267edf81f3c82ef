"""HDF5: what lies in other files is never opened."""

import h5py
import numpy as np
import pytest

from sparsetoken import read_dataset

X = np.random.default_rng(0).standard_normal((4, 5, 3)).astype(np.float32)


def test_other_files_are_never_opened(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("user:password\n" * 10)
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["X"] = X
        file.create_dataset("ids", (4,), "S14", external=[(str(secret), 0, 56)])
    with pytest.raises(ValueError, match="/ids lies in other files, which are never opened"):
        read_dataset(path)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = X
    layout = h5py.VirtualLayout(X.shape, "f4")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "data", X.shape)
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("X", layout)
    with pytest.raises(ValueError, match="/X lies in other files, which are never opened"):
        read_dataset(path)
    with h5py.File(path, "w") as file:
        file["X"] = h5py.ExternalLink("other.h5", "data")
    with pytest.raises(ValueError, match="X is a link, and links are never followed"):
        read_dataset(path)
    with h5py.File(path, "w") as file:
        file["X"], file["inside/again"] = X, h5py.SoftLink("/X")
    with pytest.raises(ValueError, match="again is a link"):
        read_dataset(path)
