"""Folders with one file per sequence."""

import numpy as np
import pytest

from files.bags import TOKENS, X, same, save_h5
from sparsetoken import read_dataset


@pytest.mark.parametrize("ending", ["h5", "npy", "safetensors", "npz"])
def test_folders_with_a_table_of_labels(tmp_path, labels, ending):
    folder = tmp_path / "slides"
    folder.mkdir()
    for name, tokens in TOKENS.items():
        path = folder / f"{name}.{ending}"
        if ending == "h5":  # as extractors write them: a batch of one, and coordinates
            save_h5(path, features=tokens[np.newaxis], coords=np.ones((len(tokens), 2), dtype=int))
        elif ending == "npy":
            np.save(path, tokens)
        elif ending == "npz":
            np.savez(path, feats=tokens, names=np.array(["s"]))
        else:
            numpy = pytest.importorskip("safetensors.numpy", reason="reads .safetensors")
            numpy.save_file({"features": tokens}, path)
    data = read_dataset(folder, group="patient", labels=labels)
    same(data, "abc", ["well", "ill", None])
    assert data.groups.tolist() == ["q", "p", "p"]
    assert data.with_labels().ids == ["a", "b"]
    assert data.rows.tolist() == [0, 1, 0, 1, 2, 0]
    assert read_dataset(folder).labels is None
    labels.rename(folder / "labels.csv")
    same(read_dataset(folder), "abc", ["well", "ill", None])


def test_what_is_wrong_with_folders(tmp_path, labels):
    folder = tmp_path / "slides"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"must hold files of one kind.*it holds nothing"):
        read_dataset(folder)
    np.save(folder / "s.npy", X)
    with pytest.raises(ValueError, match=r"names none of the sequences: it has 'a.svs' in 'slide'"):
        read_dataset(folder, labels=labels)
    labels.write_text("slide,label\ns,1\ns,0\n")
    with pytest.raises(ValueError, match="no 'state'; the nearest names are "):
        read_dataset(folder, label="state", labels=labels)
    with pytest.raises(ValueError, match="row 1: another label or group for 's'"):
        read_dataset(folder, labels=labels)
    np.save(folder / "t.npy", X[0])
    with pytest.raises(ValueError, match=r"t.npy: its array must have shape \(L, d\), got \(2,\)"):
        read_dataset(folder)
    save_h5(folder / "u.h5", features=X)
    with pytest.raises(ValueError, match=r"it holds 2 .npy and 1 .h5"):
        read_dataset(folder)
