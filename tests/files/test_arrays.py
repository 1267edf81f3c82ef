"""Archives of arrays, and what is wrong with them."""

import numpy as np
import pytest

from files.bags import BAG, LABEL, SITE, SITES, TOKENS, X, same, save_h5, savez
from files.slides import COORDS, ENDINGS, MASK, PADDED, SLIDES, archive, same_slides, write_h5
from sparsetoken import read_dataset
from sparsetoken.sequences.checks import EmptySequenceWarning, PaddingWarning


@pytest.mark.parametrize(("ending", "write"), [("npz", savez), ("h5", save_h5)])
def test_archives(tmp_path, ending, write):
    path = tmp_path / f"bags.{ending}"
    write(path, X=X, bag=BAG, y=LABEL, site=SITE, feature_names=["x", "y"])
    data = read_dataset(path, **SITES)
    same(data)
    assert data.groups.tolist() == ["p", "q", "p"]
    assert data.rows.tolist() == [0, 2, 5, 1, 4, 3]
    assert data.sequences.feature_names.tolist() == ["x", "y"]
    dense = X.reshape(3, 2, 2)
    write(path, X=dense, y=[1, 0, 1], ids=["p", "q", "r"])
    data = read_dataset(path)
    assert (data.ids, data.labels.tolist()) == (["p", "q", "r"], [1, 0, 1])
    assert np.array_equal(data.sequences[1], dense[1])
    write(path, X=dense, mask=[[1, 0], [1, 1], [1, 1]], y=[1, 0, 1])
    assert read_dataset(path).sequences.lengths.tolist() == [1, 2, 2]
    write(path, X=X, offsets=[0, 4, 6], y=[1, 0])
    assert read_dataset(path).sequences.lengths.tolist() == [4, 2]
    write(path, **TOKENS)
    data = read_dataset(path)
    assert data.labels is None
    assert data.ids == (["a", "b", "c"] if ending == "h5" else ["b", "a", "c"])
    assert np.array_equal(data.sequences[data.ids.index("b")], TOKENS["b"])


def test_one_label_a_bag_is_never_guessed(tmp_path):
    """Names that appear in another order than the sorted one: labels could mean either."""
    path = tmp_path / "bags.npz"
    np.savez(path, X=X, bag=BAG, y=["ill", "well", "ill"])
    with pytest.raises(ValueError, match="appear in the order 'b', 'a', 'c', which is not the sor"):
        read_dataset(path)
    np.savez(path, X=X, bag=BAG, y=["ill", "well", "ill"], ids=["b", "a", "c"])
    same(read_dataset(path))
    np.savez(path, X=X, bag=BAG, y=["well", "ill", "ill"], ids=["a", "b", "c"])
    same(read_dataset(path))
    np.savez(path, X=X, bag=["a", "a", "b", "b", "b", "c"], y=[0, 1, 0])  # both orders agree
    assert dict(zip("abc", read_dataset(path).labels, strict=True)) == {"a": 0, "b": 1, "c": 0}
    np.savez(path, X=X, bag=BAG, y=[1, 0, 1], ids=["a", "b", "b"])
    with pytest.raises(ValueError, match="ids must hold each name in 'bag' once"):
        read_dataset(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"Z": np.ones((2, 2, 2))},
            "must hold an array 'X' .* with 'features'. It holds Z \\(2, 2, 2\\) f",
        ),
        ({"X": X.reshape(3, 2, 2), "y": [1, 0]}, r"y must have shape \(3,\), got \(2,\)"),
        ({"X": X.reshape(3, 2, 2), "bag": [0, 1, 2]}, r"with 'bag', X must have shape \(tokens, d"),
        ({"X": X, "bag": BAG, "y": [1] * 5 + [0]}, "y: row 5 has 0, but 1 before in sequence 'b'"),
        ({"X": X, "bag": BAG, "y": [1, 0]}, r"y must have shape \(3,\), or one per token \(6,\)"),
        ({"X": X * np.nan, "bag": BAG}, "NaN in sequence 'b', token 0, feature 0"),
        ({"X": X[0]}, "Reshape your data"),
        ({"a": X, "b": X[:, :1]}, "sequence 'b' has 1 features per token, 'a' has 2"),
        ({"X": np.array([{}], dtype=object)}, "Python objects, which are never read"),
    ],
)
def test_what_is_wrong_with_archives(tmp_path, arrays, message):
    path = tmp_path / "bags.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=message):
        read_dataset(path)


def test_a_sequence_of_one_token_is_not_lost_in_silence(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.ones((2, 3)), b=np.ones(3), name=np.array("s"))
    with pytest.warns(UserWarning, match=r"x.npz: b of shape \(3,\) is not used; a sequence has"):
        assert read_dataset(path).ids == ["a"]


def test_one_file_with_a_group_a_slide(tmp_path):
    path = tmp_path / "all.h5"
    arrays = {f"{slide}__features": tokens for slide, tokens in SLIDES.items()}
    arrays |= {f"{slide}__coords": COORDS[slide] for slide in SLIDES}
    write_h5(path, **arrays)
    data = read_dataset(path)
    same_slides(data)
    assert np.array_equal(data.coords, np.concatenate(list(COORDS.values())))
    write_h5(path, **arrays, **{f"{slide}__label": i for i, slide in enumerate(SLIDES)})
    assert read_dataset(path).labels.tolist() == [0, 1, 2]
    write_h5(path, **{name.replace("features", "uni"): array for name, array in arrays.items()})
    same_slides(read_dataset(path, features="uni"))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("tokens", ["X", "hidden_states", "activations", "embeddings"])
def test_an_attention_mask_is_used(tmp_path, ending, tokens):
    path = tmp_path / f"x{ending}"
    archive(path, **{tokens: PADDED, "attention_mask": MASK, "labels": np.array([1, 0, 1])})
    data = read_dataset(path)
    assert data.sequences.lengths.tolist() == [3, 5, 2]
    assert np.array_equal(data.sequences[2], PADDED[2, :2])
    assert data.labels.tolist() == [1, 0, 1]


def test_masks_that_cannot_be_meant(tmp_path):
    path = tmp_path / "x.npz"
    archive(path, X=PADDED, attention_mask=MASK, mask=MASK)
    with pytest.raises(ValueError, match="there are 'mask' and 'attention_mask'"):
        read_dataset(path)
    archive(path, X=PADDED, attention_mask=MASK[:, :4])
    with pytest.raises(
        ValueError, match=r"attention_mask for X: mask must .*\(3, 5\), got shape \(3, 4\)"
    ):
        read_dataset(path)
    archive(path, X=PADDED, key_padding_mask=MASK)
    with pytest.warns(UserWarning, match="key_padding_mask is not used"):
        read_dataset(path)
    archive(path, X=PADDED.reshape(15, 4), attention_mask=MASK, offsets=[0, 5, 10, 15])
    with pytest.warns(UserWarning, match="attention_mask is not used"):
        read_dataset(path)
    archive(path, X=PADDED, attention_mask=1 - MASK)
    with (
        pytest.warns(EmptySequenceWarning, match="without tokens; a mask that is true at the pad"),
        pytest.warns(UserWarning, match="1 of 3 sequences have no tokens and are left out"),
    ):
        assert len(read_dataset(path)) == 2
    archive(path, X=PADDED * MASK[..., np.newaxis])
    with pytest.warns(PaddingWarning, match="5 of 15 tokens are exactly zero"):
        read_dataset(path)


def test_a_file_a_text_with_its_mask_and_label(tmp_path):
    for i in range(3):
        label = {} if i == 2 else {"label": i}
        np.savez(tmp_path / f"t{i}.npz", hidden_states=PADDED[i], attention_mask=MASK[i], **label)
    data = read_dataset(tmp_path)
    same_slides(data, {f"t{i}": PADDED[i][MASK[i] == 1] for i in range(3)})
    assert data.labels.tolist() == [0, 1, None]
    assert data.rows.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 0, 1]
    with pytest.raises(ValueError, match="max_numbers=39 are allowed"):
        read_dataset(tmp_path, max_numbers=39)
    np.savez(tmp_path / "t3.npz", hidden_states=PADDED[0], attention_mask=[1, 1])
    with pytest.raises(ValueError, match=r"attention_mask for hid.* of shape \(1, 5\), got sh"):
        read_dataset(tmp_path)
