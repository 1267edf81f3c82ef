"""One function for every kind of file: what is the same in all, and what is remembered."""

import numpy as np
import pytest

from files.bags import X
from sparsetoken import read_dataset
from sparsetoken.sequences.checks import OneTokenWarning


def test_damaged_archives(tmp_path):
    for name in ("bags.npz", "bags.h5", "bags.safetensors"):
        path = tmp_path / name
        with pytest.raises(FileNotFoundError):
            read_dataset(path)
        path.write_bytes(b"PK\x03\x04 nonsense")
        with pytest.raises(ValueError, match=f"{name} is not .*, or is damaged"):
            read_dataset(path)
    np.savez(path := tmp_path / "bags.npz", X=X)
    with pytest.warns(OneTokenWarning, match="each of the 6 rows"):
        assert len(read_dataset(path)) == 6
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        read_dataset(path)
    (tmp_path / "bags.txt").touch()
    with pytest.raises(ValueError, match=r"a folder or a file ending in \.csv, .*got 'bags.txt'"):
        read_dataset(tmp_path / "bags.txt")


def test_what_a_model_remembers_need_not_be_there(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("bag,x,comment\na,1,odd\n")
    reading = {"by": "patient", "label": "state", "features": ["x"], "layout": "table"}
    data = read_dataset(path, like=reading)
    assert (data.ids, data.labels) == (["a"], None)
    np.savez(tmp_path / "new.npz", X=X.reshape(3, 2, 2))
    assert len(read_dataset(tmp_path / "new.npz", like=reading)) == 3
