"""Tensors without torch: read rightly, and nothing but tensors."""

import os
import pickle
import zipfile

import numpy as np
import pytest
import torch_file
from torch_file import Tensor

from sparsetoken import read_dataset
from sparsetoken.files.torch import open_torch

X = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def read_all(path):
    return {name: array.read() for name, array in open_torch(path).items()}


def test_a_tensor(tmp_path):
    torch_file.save(tmp_path / "x.pt", Tensor(X))
    data = read_dataset(tmp_path / "x.pt")
    assert np.array_equal(data.sequences.tokens, X.reshape(12, 2))
    assert data.sequences.lengths.tolist() == [4, 4, 4]


def test_views_and_types(tmp_path):
    bits = (np.array([1.5, -2.0, 0.25, 3.0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    content = {
        "transposed": Tensor(X, shape=(4, 2), strides=(1, 4)),
        "part": Tensor(X, shape=(2, 2), strides=(2, 1), start=3),
        "halves": Tensor(X.astype(np.float16)),
        "bfloat16": Tensor(bits, shape=(2, 2)),
        "inner": {"counts": Tensor(np.arange(3)), "name": "s", "ids": ["a", "b"]},
        "empty": Tensor(np.empty((0, 2), np.float32)),
        "lists": [[1, 2], [3]],
        "none": None,
    }
    torch_file.save(tmp_path / "x.pth", content)
    arrays = read_all(tmp_path / "x.pth")
    flat = X.reshape(-1)
    assert np.array_equal(arrays["transposed"], flat[:8].reshape(2, 4).T)
    assert np.array_equal(arrays["part"], flat[3:7].reshape(2, 2))
    assert np.array_equal(arrays["halves"], X)
    assert arrays["bfloat16"].tolist() == [[1.5, -2.0], [0.25, 3.0]]
    assert arrays["inner/counts"].tolist() == [0, 1, 2]
    assert arrays["inner/ids"].tolist() == ["a", "b"]
    assert arrays["empty"].shape == (0, 2)
    assert arrays["lists/0"].tolist() == [1, 2]


def test_the_names_of_language_models(tmp_path):
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
    content = {"hidden_states": Tensor(X), "attention_mask": Tensor(mask), "labels": [0, 1, 0]}
    torch_file.save(tmp_path / "x.pt", content)
    data = read_dataset(tmp_path / "x.pt")
    assert data.sequences.lengths.tolist() == [2, 4, 1]
    assert data.labels.tolist() == [0, 1, 0]


def test_a_folder_of_slides(tmp_path):
    for i in range(3):
        torch_file.save(tmp_path / f"s{i}.pt", Tensor(X[i]))
    (tmp_path / "labels.csv").write_text("case_id,slide_id,label\np,s0,1\np,s1,0\nq,s2,1\n")
    data = read_dataset(tmp_path)
    assert (data.ids, data.labels.tolist()) == (["s0", "s1", "s2"], [1, 0, 1])


class Bad:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Bad(os.system, "true"), protocol=2),
        pickle.dumps({"X": Bad(eval, "1")}, protocol=2),
        pickle.dumps(Bad(getattr, "a", "join"), protocol=2),
        pickle.dumps(np.ones(3), protocol=2),
        pickle.dumps(zipfile.ZipFile, protocol=4),
        b"\x80\x02c__builtin__\nexec\n.",
        b"\x80\x02}r\xff\xff\xff\x7f.",  # a memo of 2 billion entries
        b"\x80\x02}.trailing",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
        b"\x80\x02K\x01Q.",  # a storage that is described by a number
        b"",
    ],
)
def test_nothing_else_is_read(tmp_path, content):
    path = tmp_path / "x.pt"
    torch_file.write(path, content)
    with pytest.raises(
        ValueError, match=r"x.pt(: it holds| is not a .pt file, or is damaged| must)"
    ):
        read_dataset(path)


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor(X, shape=(100, 100)),
        Tensor(X, shape=(10**6, 10**6), strides=(0, 0)),
        Tensor(X, start=1),
        Tensor(X, start=-1),
        Tensor(X, strides=(-8, 2, 1)),
        Tensor(X, strides=(8, 2)),
        Tensor(X, size=10**12),
    ],
)
def test_tensors_that_are_larger_than_their_numbers(tmp_path, tensor):
    path = tmp_path / "x.pt"
    torch_file.save(path, tensor)
    with pytest.raises(ValueError, match="or is damaged"):
        read_dataset(path)


def test_containers_that_hold_themselves(tmp_path):
    inner = {"X": Tensor(X)}
    inner["again"] = inner
    laughs = ["x"]
    for _ in range(40):
        laughs = {"a": laughs, "b": laughs}
    torch_file.save(tmp_path / "x.pt", {"loop": inner, "laughs": laughs})
    assert np.array_equal(read_all(tmp_path / "x.pt")["loop/X"], X)


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsetoken.files.formats._SMALL", 2**16)
    path = tmp_path / "x.pt"
    torch_file.save(path, Tensor(np.zeros((100, 100, 100), np.float32)), zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"says that it holds 0.004 GB .* not believed"):
        read_dataset(path)


def test_other_files_of_torch(tmp_path):
    (tmp_path / "old.pt").write_bytes(pickle.dumps(119547037146038801333356, protocol=2))
    with pytest.raises(ValueError, match=r"torch writes since 1.6; load it with torch and save"):
        read_dataset(tmp_path / "old.pt")
    for name in ("x.pt", "truncated.pt"):
        torch_file.save(tmp_path / name, Tensor(X))
    path = tmp_path / "truncated.pt"
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(ValueError, match=r"truncated.pt"):
        read_dataset(path)
