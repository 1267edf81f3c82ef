"""Names of columns and arrays, as people write them, and which array holds the tokens."""

import numpy as np
import pytest

from files.slides import ENDINGS, MASK, PADDED, SLIDES, archive, bfloat16, write_h5
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


def test_layers_without_numbers_are_refused(tmp_path):
    """All hidden states of a model, stacked."""
    path = tmp_path / "x.npz"
    archive(path, hidden_states=np.stack([PADDED, PADDED + 1]), attention_mask=MASK)
    with pytest.raises(ValueError, match=r"\(2, 3, 5, 4\) has one axis too many, .* 'layers'"):
        read_dataset(path)
    archive(path, hidden_states=np.stack([PADDED, PADDED + 1]), attention_mask=MASK, layers=[4, 8])
    assert np.array_equal(read_dataset(path, layer=8).sequences[1], PADDED[1] + 1)
    archive(path, hidden_states=PADDED[np.newaxis], layers=[4])
    assert np.array_equal(read_dataset(path).sequences[1], PADDED[1])
    with pytest.raises(ValueError, match="hidden_states has the layers 4; say which with 'layer'"):
        read_dataset(path, layer=8)


def test_layers_that_may_be_two_axes_are_refused(tmp_path):
    """As many prompts as layers: the numbers of one layer cannot be told from those of a prompt."""
    path = tmp_path / "x.npz"
    for shape in ((3, 3, 5, 4), (5, 3, 3, 4), (3, 5, 3, 4)):
        archive(path, hidden_states=np.ones(shape, np.float32), layers=np.arange(3))
        with pytest.raises(
            ValueError, match=r"2 axes as long as 'layers', .*: save each layer as an"
        ):
            read_dataset(path, layer=1)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_array_a_layer_is_chosen(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    archive(path, layer_3=PADDED, layer_7=PADDED + 1, attention_mask=MASK, labels=np.arange(3))
    with pytest.raises(ValueError, match=r"layers 3, 7; say which .*'layer'.*layer_3 \(3, 5, 4\)"):
        read_dataset(path)
    data = read_dataset(path, layer=7)
    assert np.array_equal(data.sequences[1], PADDED[1] + 1)
    assert data.labels.tolist() == [0, 1, 2]
    assert np.array_equal(read_dataset(path, like=data.roles).sequences[1], PADDED[1] + 1)
    with pytest.raises(ValueError, match="it has the layers 3, 7; say which"):
        read_dataset(path, layer=4)
    archive(path, layer_3=SLIDES["s0"], layer_7=SLIDES["s1"])  # not two sequences
    with pytest.raises(ValueError, match="it has the layers 3, 7; say which"):
        read_dataset(path)
    archive(path, **{"blocks.3.mlp": PADDED, "blocks.3.attn": PADDED})
    with pytest.raises(
        ValueError, match=r"may be in blocks.3.* or blocks.3.*; say which with 'features'"
    ):
        read_dataset(path)
    archive(path, X=PADDED)
    with pytest.raises(ValueError, match=r"'layer' is 3, but X \(3, 5, 4\) has no layers"):
        read_dataset(path, layer=3)


def test_bits_of_bfloat16_and_layers_in_one_array(tmp_path):
    """Probelab: data (tokens, d) or (tokens, layers, d), offsets, detection_mask, layers."""
    bits, values = bfloat16(np.concatenate(list(SLIDES.values())))
    path = tmp_path / "acts.h5"
    about = {"dtype": "bfloat16", "dims": "bsh"}
    write_h5(path, about, data=bits, offsets=[0, 3, 8, 10])
    data = read_dataset(path)
    assert data.sequences.lengths.tolist() == [3, 5, 2]
    assert np.array_equal(data.sequences.tokens, values)
    layered = np.stack([bits, bits + 1, bits], axis=1)
    mask = np.ones(10, bool)
    write_h5(
        path, about, data=layered, offsets=[0, 3, 8, 10], layers=[4, 8, 12], detection_mask=mask
    )
    with pytest.raises(ValueError, match="data has the layers 4, 8, 12; say which with 'layer'"):
        read_dataset(path)
    with pytest.warns(UserWarning, match="detection_mask is not used"):
        data = read_dataset(path, layer=12)
    assert np.array_equal(data.sequences.tokens, values)


def test_bfloat16_of_numpy_is_refused(tmp_path):
    bits, _ = bfloat16(PADDED)
    np.savez(tmp_path / "x.npz", X=bits.view("V2"))
    with pytest.raises(
        ValueError, match=r"X holds raw bytes \(\|V2\), as bfloat16: save it as float32"
    ):
        read_dataset(tmp_path / "x.npz")


def test_ambiguous_arrays_are_listed(tmp_path):
    path = tmp_path / "x.npz"
    archive(path, features=PADDED, embeddings=PADDED)
    with pytest.raises(
        ValueError, match=r"features or embeddings; .* features \(3, 5, 4\) float32"
    ):
        read_dataset(path)
    archive(path, a=SLIDES["s0"], b=SLIDES["s1"][:, :2])
    with pytest.raises(ValueError, match=r"'b' has 2 features per token, 'a' has 4; .* a \(3, 4\)"):
        read_dataset(path)
    archive(path, input_ids=MASK, hidden_states=PADDED, tokens=MASK)
    assert read_dataset(path).sequences.lengths.tolist() == [5, 5, 5]
