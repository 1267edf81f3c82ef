"""Damaged heads and lists of arrays of NumPy."""

import numpy as np
import pytest

from sparsetoken import Sequences, read_dataset

X = np.random.default_rng(0).standard_normal((4, 5, 3)).astype(np.float32)


@pytest.mark.parametrize("stored", [False, True], ids=["file", "folder"])
def test_a_damaged_head_of_an_array_is_said(tmp_path, stored):
    path = tmp_path / "tokens.npy"
    if stored:
        Sequences(X.reshape(-1, 3), np.arange(5) * 5).save(tmp_path)
    else:
        np.save(path, X)
    path.write_bytes(path.read_bytes().replace(b"}", b"(", 1))
    with pytest.raises(ValueError, match="damaged"):
        read_dataset(tmp_path if stored else path)


def test_arrays_are_not_lost_from_a_damaged_list(tmp_path):
    """A wrong length in the entry of X makes the entry of y look like its comment."""
    path = tmp_path / "x.npz"
    np.savez(path, X=X, y=[0, 1, 0, 1])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 33] = 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"x\.npz is not .* its list of entries is damaged"):
        read_dataset(path)


def test_data_do_not_change_with_their_file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    tokens = read_dataset(tmp_path / "x.npy").sequences.tokens
    np.save(tmp_path / "x.npy", X[:1] + 1)
    assert np.array_equal(tokens, X.reshape(-1, 3))
