"""Headers of folders: damaged, of another format, and of version 1."""

import json

import numpy as np
import pytest

import sparsetoken as st
from sequences.stored import LENGTHS, LIMIT, NAMES, OFFSETS, TOKENS, X, Y


@pytest.mark.parametrize("version", [1, 2])
def test_nan_is_named_as_in_memory(tmp_path, version):
    """Version 1 has no digests: what it holds is checked instead."""
    X.save(tmp_path / "s", Y)
    if version == 1:
        names = json.dumps(NAMES)
        header = f'{{"format": "sparsetoken sequences", "version": 1, "feature_names": {names}}}'
        (tmp_path / "s" / "sequences.json").write_text(header)
        (tmp_path / "s" / "digests.npy").unlink()
        opened = st.Sequences.open(tmp_path / "s", LIMIT)
        assert np.array_equal(opened.to_memory().tokens, TOKENS)
    tokens = np.load(tmp_path / "s" / "tokens.npy")
    row = np.flatnonzero(LENGTHS > 3)[-9]
    tokens[OFFSETS[row] + 2, 3] = np.nan
    np.save(tmp_path / "s" / "tokens.npy", tokens)
    opened = st.Sequences.open(tmp_path / "s", LIMIT)
    with pytest.raises(ValueError, match=f"X contains NaN in sequence {row}, token 2, feature 'd'"):
        st.PooledClassifier().fit(opened, Y)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "null",
        "{",
        '{"format": "sparsetoken sequences", "version": 1}',
        '{"format": "sparsetoken sequences", "version": [1], "feature_names": null}',
        '{"format": "sparsetoken sequences", "version": 2, "feature_names": null}',
    ],
)
def test_a_header_that_is_none(tmp_path, text):
    X[:3].save(tmp_path / "s")
    (tmp_path / "s" / "sequences.json").write_text(text)
    with pytest.raises(ValueError, match=r"sequences.json (is damaged|has format version)"):
        st.Sequences.open(tmp_path / "s")


def test_damage_is_noticed(tmp_path):
    X[:20].save(tmp_path / "s")
    tokens = tmp_path / "s" / "tokens.npy"
    opened = st.Sequences.open(tmp_path / "s")
    tokens.write_bytes(tokens.read_bytes()[:-100])
    with pytest.raises(ValueError, match="shorter than it was"):
        opened.to_memory()
    with pytest.raises(ValueError, match="mmap length"):
        st.Sequences.open(tmp_path / "s")
    (tmp_path / "s" / "sequences.json").write_text('{"format": "other"}')
    with pytest.raises(ValueError, match=r"sequences.json is damaged: it does not say format"):
        st.Sequences.open(tmp_path / "s")
