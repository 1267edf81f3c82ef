"""Tokens of a folder that changed after they were written are noticed."""

import numpy as np
import pytest

import sparsetoken as st
from sequences.stored import LIMIT, OFFSETS, X, Y
from sparsetoken.sequences.data import StoredData
from sparsetoken.sequences.passes import pooled_features


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]


@pytest.mark.parametrize("name", ["tokens.npy", "offsets.npy", "labels.npy", "digests.npy"])
def test_flipped_bits_are_noticed(tmp_path, small_blocks, name):
    X.save(tmp_path / "s", Y)
    path = tmp_path / "s" / name
    content = path.read_bytes()
    for place in np.linspace(len(content) // 2, len(content) - 1, 8).astype(int):
        path.write_bytes(flipped(content, place))
        with pytest.raises(ValueError, match=r"damaged|X contains"):
            StoredData(st.Sequences.open(tmp_path / "s", LIMIT)).per_sample(pooled_features)
    path.write_bytes(content)
    assert len(st.Sequences.open(tmp_path / "s").to_memory()) == 400


def test_what_is_changed_while_it_is_read_is_noticed(tmp_path):
    X.save(tmp_path / "s", Y)
    opened = st.Sequences.open(tmp_path / "s", LIMIT)
    path = tmp_path / "s" / "tokens.npy"
    path.write_bytes(flipped(path.read_bytes(), -5000))
    row = np.searchsorted(OFFSETS * 24, OFFSETS[-1] * 24 - 5000, side="right") - 1
    for read in (lambda: opened[int(row)], lambda: opened[[3, row]], opened.to_memory):
        with pytest.raises(ValueError, match="damaged, or was changed since it was written"):
            read()
