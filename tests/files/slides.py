"""Three slides, padded activations, and files of both in the layouts that people hold."""

import h5py
import numpy as np
import pyarrow
import pytest

RNG = np.random.default_rng(0)
SLIDES = {
    name: RNG.standard_normal((length, 4)).astype(np.float32)
    for name, length in (("s0", 3), ("s1", 5), ("s2", 2))
}
COORDS = {name: np.arange(2 * len(x)).reshape(-1, 2) for name, x in SLIDES.items()}
PADDED = RNG.standard_normal((3, 5, 4)).astype(np.float32)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])


def bfloat16(array):
    """Return the upper halves of float32, and the numbers that are left of them."""
    bits = np.asarray(array, np.float32).view(np.uint32) >> 16
    return bits.astype(np.uint16), (bits << 16).astype(np.uint32).view(np.float32)


def write_h5(path, attrs=None, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
        file.attrs.update(attrs or {})


def same_slides(data, sequences=SLIDES):
    assert data.ids == list(sequences)
    for name, tokens in zip(data.ids, data.sequences, strict=True):
        assert np.array_equal(tokens, sequences[name])


def archive(path, **arrays):
    """Write arrays by the ending of a path."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".h5":
        write_h5(path, **arrays)
    elif path.suffix == ".pt":
        torch = pytest.importorskip("torch", reason="reads and writes .pt")
        torch.save({n: torch.from_numpy(np.asarray(a)) for n, a in arrays.items()}, path)
    else:
        from safetensors.numpy import save_file

        save_file({name: np.asarray(array) for name, array in arrays.items()}, path)


ENDINGS = [".npz", ".h5", ".safetensors", ".pt"]


def nested(slides=SLIDES):
    return pyarrow.array(
        [x.tolist() for x in slides.values()], pyarrow.list_(pyarrow.list_(pyarrow.float32()))
    )
