"""Archives of arrays, and what is wrong with them."""

import numpy as np
import pytest

from files.bags import BAG, LABEL, SITE, SITES, TOKENS, X, same, save_h5, savez
from sparsetoken import read_dataset


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
            "must hold an array 'X' .* with features=. It holds Z \\(2, 2, 2\\) f",
        ),
        ({"X": X.reshape(3, 2, 2), "y": [1, 0]}, r"y must have shape \(3,\), got \(2,\)"),
        ({"X": X.reshape(3, 2, 2), "bag": [0, 1, 2]}, r"with 'bag', X must have shape \(tokens, d"),
        ({"X": X, "bag": BAG, "y": [1] * 5 + [0]}, "y: sequence 'b' has two values: 1 in row 0"),
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


def test_safetensors(tmp_path):
    torch = pytest.importorskip("torch", reason="writes bfloat16")
    safetensors = pytest.importorskip("safetensors.torch", reason="reads .safetensors")
    tensors = {name: torch.arange(4.0).reshape(2, 2) for name in ("p", "q")}
    tensors["q"] = tensors["q"].to(torch.bfloat16) * 3
    path = tmp_path / "bags.safetensors"
    safetensors.save_file(tensors, path)
    data = read_dataset(path)
    assert data.ids == ["p", "q"]
    assert data.sequences.dtype == np.float32
    assert data.sequences[1].tolist() == [[0, 3], [6, 9]]
