"""safetensors, also of bfloat16."""

import json

import numpy as np
import pytest

from files.slides import (
    PADDED,
    bfloat16,
)
from sparsetoken import read_dataset


def test_safetensors_of_bfloat16(tmp_path):
    bits, values = bfloat16(PADDED)
    header = {"X": {"dtype": "BF16", "shape": [3, 5, 4], "data_offsets": [0, bits.nbytes]}}
    text = json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bits.tobytes())
    assert np.array_equal(read_dataset(path).sequences.tokens, values.reshape(-1, 4))
    for wrong in ({"shape": [3, 5, 5]}, {"data_offsets": [0, 10**9]}, {"dtype": "F8_E4M3"}):
        text = json.dumps({"X": header["X"] | wrong}).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + bits.tobytes())
        with pytest.raises(ValueError, match=r"x.safetensors.* (damaged: .*[tT]ensor|X has type)"):
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
