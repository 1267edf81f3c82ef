"""Names of columns and arrays, as people write them."""

import numpy as np
import pytest

from files.slides import (
    MASK,
    PADDED,
    archive,
)
from sparsetoken import read_dataset


@pytest.mark.parametrize(
    ("tokens", "mask", "label"),
    [
        ("last_hidden_state", "attention_mask", "label"),
        ("Hidden-States", "Attention_Mask", "Labels"),
        ("embedding", "masks", "Y"),
        ("acts", "Mask", "y"),
        ("x", "MASK", "LABEL"),
    ],
)
def test_names_as_people_write_them(tmp_path, tokens, mask, label):
    archive(tmp_path / "x.npz", **{tokens: PADDED, mask: MASK, label: np.array([1, 0, 1])})
    data = read_dataset(tmp_path / "x.npz")
    assert data.sequences.lengths.tolist() == [3, 5, 2]
    assert data.labels.tolist() == [1, 0, 1]


def test_a_usual_name_comes_before_one_like_it(tmp_path):
    archive(tmp_path / "x.npz", features=PADDED, Feature=PADDED + 1, y=np.arange(3), Y=np.ones(3))
    data = read_dataset(tmp_path / "x.npz")
    assert np.array_equal(data.sequences[1], PADDED[1])
    assert data.labels.tolist() == [0, 1, 2]
    archive(tmp_path / "x.npz", Features=PADDED, FEATS=PADDED)
    with pytest.raises(ValueError, match="may be in Features or FEATS; say which with 'features'"):
        read_dataset(tmp_path / "x.npz")
    (tmp_path / "x.csv").write_text("Bag ID,Label,x\na,0,1\na,0,2\nb,1,3\n")
    data = read_dataset(tmp_path / "x.csv")
    assert (data.ids, data.labels.tolist()) == (["a", "b"], [0, 1])
