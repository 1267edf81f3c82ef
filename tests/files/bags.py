"""Three small sequences, and what must be read of them."""

import numpy as np
import pytest

# Sequences b, a, c in the order of their first row, with rows that are not together.
BAG = ["b", "a", "b", "c", "a", "b"]
LABEL = ["ill", "well", "ill", "ill", "well", "ill"]
SITE = ["p", "q", "p", "p", "q", "p"]
X = np.arange(12.0).reshape(6, 2) / 7
TOKENS = {"b": X[[0, 2, 5]], "a": X[[1, 4]], "c": X[[3]]}
SITES = {"group": "site"}


def lines(sep=","):
    rows = [["bag", "label", "site", "x", "y"]]
    for i, name in enumerate(BAG):
        rows.append([name, LABEL[i], SITE[i], *(repr(float(value)) for value in X[i])])
    return [sep.join(row) for row in rows]


def same(data, order="bac", labels=("ill", "well", "ill")):
    assert data.ids == list(order)
    for name, tokens in zip(data.ids, data.sequences, strict=True):
        assert np.array_equal(tokens, TOKENS[name])
    assert data.labels.tolist() == list(labels)


def savez(path, **arrays):
    np.savez(path, **arrays)


def save_h5(path, **arrays):
    h5py = pytest.importorskip("h5py", reason="reads .h5")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            array = np.asarray(array)
            file[name] = array.astype("S") if array.dtype.kind == "U" else array
            if array.dtype.kind == "U":
                del file[name]
                file.create_dataset(name, data=array.tolist(), dtype=h5py.string_dtype())
