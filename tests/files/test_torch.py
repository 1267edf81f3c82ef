"""Tensors: read rightly, and nothing but tensors."""

import os
import pickle
import sys
import warnings
import zipfile

import numpy as np
import pytest
import torch_file
from torch_file import Tensor

from sparsetoken import read_dataset
from sparsetoken.files.array_files import open_torch

X = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def test_without_torch_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "x.pt").touch()
    with pytest.raises(ValueError, match=r"\.pt needs torch: pip install 'sparsetoken\[torch\]'$"):
        read_dataset(tmp_path / "x.pt")


@pytest.fixture(name="torch")
def _torch():
    return pytest.importorskip("torch", reason="reads .pt")


def test_a_tensor(tmp_path, torch):
    torch.save(torch.from_numpy(X), tmp_path / "x.pt")
    data = read_dataset(tmp_path / "x.pt")
    assert np.array_equal(data.sequences.tokens, X.reshape(12, 2))
    assert data.sequences.lengths.tolist() == [4, 4, 4]


def test_views_types_and_containers(tmp_path, torch):
    whole = torch.from_numpy(X)
    content = {
        "transposed": whole[0].T,
        "part": whole.reshape(-1)[3:7].reshape(2, 2),
        "halves": whole.half(),
        "bfloat16": torch.tensor([[1.5, -2.0], [0.25, 3.0]], dtype=torch.bfloat16),
        "parameter": torch.nn.Parameter(whole),
        "inner": {"counts": torch.arange(3), "name": "s", "ids": ["a", "b"]},
        "empty": torch.empty(0, 2),
        "lists": [[1, 2], [3]],
        "none": None,
    }
    torch.save(content, tmp_path / "x.pth")
    arrays = open_torch(tmp_path / "x.pth")
    assert np.array_equal(arrays["transposed"], X[0].T)
    assert np.array_equal(arrays["part"], X.reshape(-1)[3:7].reshape(2, 2))
    assert np.array_equal(arrays["halves"], X)
    assert np.asarray(arrays["bfloat16"]).tolist() == [[1.5, -2.0], [0.25, 3.0]]
    assert np.array_equal(arrays["parameter"], X)
    assert arrays["inner/counts"].tolist() == [0, 1, 2]
    assert arrays["inner/ids"].tolist() == ["a", "b"]
    assert arrays["empty"].shape == (0, 2)
    assert arrays["lists/0"].tolist() == [1, 2]


def test_nested_lists_lose_nothing(tmp_path, torch):
    torch.save([[torch.randn(4, 3)] for _ in range(50)], tmp_path / "x.pt")
    assert len(read_dataset(tmp_path / "x.pt")) == 50


def test_two_values_of_one_name_are_refused(tmp_path, torch):
    one, other = torch.from_numpy(X[0]), torch.from_numpy(X[1])
    for content in ({1: one, "1": other}, {"a/b": one, "a": {"b": other}}):
        torch.save(content, tmp_path / "x.pt")
        with pytest.raises(ValueError, match=r"x.pt: it holds two values named '(1|a/b)'"):
            read_dataset(tmp_path / "x.pt")


def test_a_tensor_that_repeats_its_numbers_is_measured_as_it_will_be(tmp_path, torch):
    """Half precision is widened, and would be copied."""
    for kind in (torch.bfloat16, torch.float32):
        whole = torch.zeros(1, dtype=kind).expand(10**5, 10**4, 10)
        torch.save({"X": whole}, tmp_path / "x.pt")
        with pytest.raises(ValueError, match="says that it holds 40 GB of numbers"):
            read_dataset(tmp_path / "x.pt")


def test_a_script_of_torch_is_refused(tmp_path, torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch will give scripts up
        torch.jit.script(torch.nn.Linear(3, 2)).save(str(tmp_path / "x.pt"))
        with pytest.raises(ValueError, match="never read: save tensors alone") as refused:
            read_dataset(tmp_path / "x.pt")
    assert "arbitrary code" not in str(refused.value)


def test_the_names_of_language_models(tmp_path, torch):
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
    content = {"hidden_states": torch.from_numpy(X), "attention_mask": mask, "labels": [0, 1, 0]}
    torch.save(content, tmp_path / "x.pt")
    data = read_dataset(tmp_path / "x.pt")
    assert data.sequences.lengths.tolist() == [2, 4, 1]
    assert data.labels.tolist() == [0, 1, 0]


class Bad:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


HOSTILE = {
    "system": pickle.dumps(Bad(os.system, "true"), protocol=2),
    "eval": pickle.dumps({"X": Bad(eval, "1")}, protocol=2),
    "getattr": pickle.dumps(Bad(getattr, "a", "join"), protocol=2),
    "array": pickle.dumps(np.ones(3), protocol=2),
    "class": pickle.dumps(zipfile.ZipFile, protocol=4),
    "memo": b"\x80\x02}r\xff\xff\xff\x7f.",  # of 2 billion entries
    "text": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "storage": b"\x80\x02K\x01Q.",  # described by a number
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_else_is_read(tmp_path, torch, name):
    path = tmp_path / "x.pt"
    torch_file.write(path, HOSTILE[name])
    with pytest.raises(ValueError, match=r"x.pt(: it | is not a .pt| must hold)") as refused:
        read_dataset(path)
    assert "arbitrary code" not in str(refused.value)  # torch tells how to run it nevertheless


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor(X, shape=(100, 100)),
        Tensor(X, start=1),
        Tensor(X, start=-1),
        Tensor(X, strides=(-8, 2, 1)),
        Tensor(X, strides=(8, 2)),
        Tensor(X, size=10**12),
        Tensor(X, shape=(50, 2), size=100),  # the storage is said to be larger than it is
    ],
)
def test_tensors_that_are_larger_than_their_numbers(tmp_path, torch, tensor):
    path = tmp_path / "x.pt"
    torch_file.save(path, tensor)
    with pytest.raises(ValueError, match="or is damaged"):
        read_dataset(path)


def test_strides_that_are_changed_after_they_were_checked(tmp_path, torch):
    """A list in the pickle is used for a tensor, and then grows."""
    flat, strides = np.arange(24, dtype=np.float32), [1]
    tensor = Tensor(flat, shape=[24], strides=strides)
    torch_file.save(tmp_path / "x.pt", {"X": tensor, "again": strides})
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        listing, numbers = archive.read("archive/data.pkl"), archive.read("archive/data/0")
    assert listing.endswith(b"u.")
    torch_file.write(tmp_path / "x.pt", listing[:-2] + b"K\x7fau.", {"0": numbers})
    assert np.array_equal(open_torch(tmp_path / "x.pt")["X"], flat)


def test_an_entry_that_lies_about_its_size_is_refused(tmp_path, torch):
    path = tmp_path / "x.pt"
    torch.save(torch.from_numpy(X), path)
    content = path.read_bytes()
    size = (96).to_bytes(4, "little") * 2  # packed and unpacked, in the list at the end
    assert content.count(size) >= 1
    place = content.rindex(size)
    for odd in (10**9, 40, 0):
        lie = size[:4] + odd.to_bytes(4, "little")
        path.write_bytes(content[:place] + lie + content[place + 8 :])
        with pytest.raises(ValueError, match=r"x.pt"):
            read_dataset(path)


def test_an_entry_that_is_said_to_be_a_folder_is_refused(tmp_path, torch):
    """Torch would return whatever is in memory."""
    path = tmp_path / "x.pt"
    torch.save(torch.from_numpy(X), path)
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"x/data/0") - 46  # in the list at the end
    assert content[entry : entry + 4] == b"PK\x01\x02"
    content[entry + 38] |= 0x10
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="its list of entries is damaged"):
        read_dataset(path)


def test_numbers_that_have_changed_are_noticed(tmp_path, torch):
    path = tmp_path / "x.pt"
    torch.save(torch.from_numpy(X), path)
    content = path.read_bytes()
    path.write_bytes(content.replace(X[1].tobytes(), X[2].tobytes()))
    with pytest.raises(ValueError, match=r"x.pt is not .* have changed"):
        read_dataset(path)


def test_containers_that_hold_themselves(tmp_path, torch):
    inner = {"X": torch.from_numpy(X)}
    inner["again"] = inner
    torch.save(inner, tmp_path / "x.pt")
    laughs = ["x"]
    for _ in range(40):
        laughs = {"a": laughs, "b": laughs}
    torch.save(laughs, tmp_path / "y.pt")
    for name in ("x.pt", "y.pt"):
        with pytest.raises(ValueError, match="it holds millions of values, or itself"):
            read_dataset(tmp_path / name)


def test_what_is_not_dense_is_refused(tmp_path, torch):
    torch.save({"X": torch.eye(4).to_sparse()}, tmp_path / "x.pt")
    with pytest.raises(ValueError, match=r"X is not a dense tensor|is not a .pt file"):
        read_dataset(tmp_path / "x.pt")


def test_a_bomb_is_refused(tmp_path, torch, monkeypatch):
    monkeypatch.setattr("sparsetoken.files.guards.SMALL", 2**16)
    path = tmp_path / "x.pt"
    torch_file.save(path, Tensor(np.zeros((100, 100, 100), np.float32)), zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"says that it holds 0.004 GB .* not believed"):
        read_dataset(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:  # nothing but a long word
        archive.writestr("archive/data.pkl", pickle.dumps([1], protocol=2))
        archive.writestr("archive/byteorder", b"little" * 10**6)
    with pytest.raises(ValueError, match="not believed"):
        read_dataset(path)


def test_other_files_of_torch(tmp_path, torch):
    (tmp_path / "old.pt").write_bytes(pickle.dumps(119547037146038801333356, protocol=2))
    with pytest.raises(ValueError, match=r"torch writes since 1.6; load it with torch and save"):
        read_dataset(tmp_path / "old.pt")
    torch.save(torch.from_numpy(X), tmp_path / "truncated.pt")
    path = tmp_path / "truncated.pt"
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(ValueError, match=r"truncated.pt"):
        read_dataset(path)
