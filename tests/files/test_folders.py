"""Folders with one file per sequence."""

import json

import numpy as np
import pytest

from files.bags import TOKENS, X, same, save_h5
from files.slides import COORDS, SLIDES, same_slides, write_h5
from sparsetoken import read_dataset
from sparsetoken.sequences.checks import OneTokenWarning


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


@pytest.mark.parametrize("name", ["features", "feats", "embeddings"])
def test_a_file_a_slide_with_coordinates(tmp_path, name):
    """TRIDENT, CLAM; STAMP calls its features feats."""
    for slide, tokens in SLIDES.items():
        write_h5(tmp_path / f"{slide}.h5", **{name: tokens, "coords": COORDS[slide]})
    data = read_dataset(tmp_path)
    same_slides(data)
    assert np.array_equal(data.coords, np.concatenate(list(COORDS.values())))
    assert data.roles.layout == "files"


def test_a_slide_without_tissue_is_left_out(tmp_path):
    for slide, tokens in SLIDES.items():
        write_h5(tmp_path / f"{slide}.h5", features=tokens, coords=COORDS[slide])
    write_h5(tmp_path / "s9.h5", features=np.empty((0, 4), np.float32), coords=np.empty((0, 2)))
    (tmp_path / "labels.csv").write_text(
        "slide,label\n" + "".join(f"s{i},{i}\n" for i in range(10))
    )
    with pytest.warns(UserWarning, match="1 of 4 sequences have no tokens and are left out: s9"):
        data = read_dataset(tmp_path)
    same_slides(data)
    assert data.labels.tolist() == [0, 1, 2]
    assert len(data.coords) == 10


@pytest.mark.parametrize("batch", [True, False])
def test_one_slide_for_a_model_of_slides(tmp_path, batch):
    """The rows of its file are regions, not slides."""
    folder = tmp_path / "train"
    for slide, tokens in SLIDES.items():
        write_h5(folder / f"{slide}.h5", features=tokens, coords=COORDS[slide])
    tokens = SLIDES["s1"]
    write_h5(tmp_path / "new.h5", features=tokens[np.newaxis] if batch else tokens)
    like = json.loads(json.dumps(read_dataset(folder).roles.to_dict()))
    same_slides(read_dataset(tmp_path / "new.h5", like=like), {"new": tokens})
    if not batch:
        with pytest.warns(OneTokenWarning, match="each of the 5 rows of features .* with 'by'"):
            assert len(read_dataset(tmp_path / "new.h5")) == 5


def test_a_tensor_a_slide(tmp_path):
    """CLAM's pt_files."""
    torch = pytest.importorskip("torch", reason="reads .pt")
    for slide, tokens in SLIDES.items():
        torch.save(torch.from_numpy(tokens), tmp_path / f"{slide}.pt")
    same_slides(read_dataset(tmp_path))


def test_a_batch_of_one_a_slide(tmp_path):
    """UNI."""
    for slide, tokens in SLIDES.items():
        write_h5(tmp_path / f"{slide}.h5", features=tokens[np.newaxis], coords=COORDS[slide])
    same_slides(read_dataset(tmp_path))


def test_a_folder_a_slide(tmp_path):
    """Owkin: features.npy in a folder of the slide's name."""
    for slide, tokens in SLIDES.items():
        (tmp_path / slide).mkdir()
        np.save(tmp_path / slide / "features.npy", tokens)
    data = read_dataset(tmp_path)
    same_slides(data)
    assert data.labels is None


def test_a_folder_a_class(tmp_path):
    for slide, home in zip(SLIDES, ("ill", "well", "ill"), strict=True):
        write_h5(tmp_path / home / f"{slide}.h5", features=SLIDES[slide])
    data = read_dataset(tmp_path)
    assert dict(zip(data.ids, data.labels, strict=True)) == {"s0": "ill", "s1": "well", "s2": "ill"}
    (tmp_path / "labels.csv").write_text("slide,label\ns0,a\ns1,b\ns2,c\n")
    assert sorted(read_dataset(tmp_path).labels) == ["a", "b", "c"]
    (tmp_path / "labels.csv").unlink()
    (tmp_path / "well").rename(tmp_path / "test")
    with pytest.raises(ValueError, match="holds ill, test: these are no classes, name one of them"):
        read_dataset(tmp_path)


def test_a_file_beside_folders_does_not_hide_them(tmp_path):
    for slide, home in zip(SLIDES, ("ill", "well", "ill"), strict=True):
        write_h5(tmp_path / home / f"{slide}.h5", features=SLIDES[slide])
    write_h5(tmp_path / "mean.h5", features=SLIDES["s0"])
    with pytest.raises(ValueError, match=r"holds mean.h5 beside 3 files in folders: move it away"):
        read_dataset(tmp_path)


@pytest.mark.parametrize("other", ["Y/1.npy", "features/1.npy", "lost.npy"])
def test_no_folder_hides_another(tmp_path, other):
    """Classes may have names that tokens have."""
    for name in ("X/1.npy", "X/2.npy", other):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.save(tmp_path / name, X)
    with pytest.raises(ValueError, match=r"holds X, and arrays in .*: move them away, or name the"):
        read_dataset(tmp_path)


def test_endings_in_capitals_are_not_overlooked(tmp_path):
    for name in ("a.npy", "b.NPY"):
        np.save(tmp_path / "x.npy", X)
        (tmp_path / "x.npy").rename(tmp_path / name)
    with pytest.raises(ValueError, match=r"it holds 1 .npy and 1 .NPY"):
        read_dataset(tmp_path)


def test_deeper_folders(tmp_path):
    for slide, home in zip(SLIDES, ("p/a", "p/b", "q/a"), strict=True):
        (tmp_path / home).mkdir(parents=True)
        np.save(tmp_path / home / "scan.npy", SLIDES[slide])
        np.save(tmp_path / home / "again.npy", SLIDES[slide])
    data = read_dataset(tmp_path)
    assert data.ids == [f"{home}/{n}" for home in ("p/a", "p/b", "q/a") for n in ("again", "scan")]
    assert data.labels is None


def test_folders_of_features_labels_and_coordinates(tmp_path):
    """Torchmil."""
    for i, (slide, tokens) in enumerate(SLIDES.items()):
        for role, array in (
            ("features", tokens),
            ("labels", np.array([i % 2])),
            ("coords", COORDS[slide]),
            ("inst_labels", np.zeros(len(tokens))),
        ):
            (tmp_path / role).mkdir(exist_ok=True)
            np.save(tmp_path / role / f"{slide}.npy", array)
    data = read_dataset(tmp_path)
    same_slides(data)
    assert data.labels.tolist() == [0, 1, 0]
    assert len(data.coords) == 10


def test_folders_that_say_what_they_hold(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / ".zarray").touch()
    with pytest.raises(ValueError, match=r"it holds 1 \.zarray; save other arrays with"):
        read_dataset(tmp_path / "a.zarr")
    shards = tmp_path / "shards"
    shards.mkdir()
    for name in ("acts000000.bin", "acts000001.bin", "metadata.json"):
        (shards / name).touch()
    with pytest.raises(ValueError, match=r"it holds 2 \.bin and 1 \.json; save other arrays with"):
        read_dataset(shards)
    for ending in ("bin", "arff", "jld", "tfrecord", "pkl", "xlsx"):
        (tmp_path / f"x.{ending}").touch()
        with pytest.raises(ValueError, match=rf"data must be .*\.pt, .* got 'x.{ending}'; save"):
            read_dataset(tmp_path / f"x.{ending}")
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        read_dataset(tmp_path / "nowhere")
