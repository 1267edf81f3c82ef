"""The layouts that people hold (extractors, probes, atlases): read, or refused with what helps."""

import json

import h5py
import numpy as np
import pyarrow
import pytest
import torch_file
from pyarrow import feather, parquet
from scipy import sparse
from scipy.io import savemat

from sparsetoken import read_dataset
from sparsetoken.sequences.forms import EmptySequenceWarning, OneTokenWarning, PaddingWarning

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


def same(data, sequences=SLIDES):
    assert data.ids == list(sequences)
    for name, tokens in zip(data.ids, data.sequences, strict=True):
        assert np.array_equal(tokens, sequences[name])


# Slides


@pytest.mark.parametrize("name", ["features", "feats", "embeddings"])
def test_a_file_a_slide_with_coordinates(tmp_path, name):
    """TRIDENT, CLAM; STAMP calls its features feats."""
    for slide, tokens in SLIDES.items():
        write_h5(tmp_path / f"{slide}.h5", **{name: tokens, "coords": COORDS[slide]})
    data = read_dataset(tmp_path)
    same(data)
    assert np.array_equal(data.coords, np.concatenate(list(COORDS.values())))
    assert data.reading["one_file"]


def test_a_slide_without_tissue_is_left_out(tmp_path):
    for slide, tokens in SLIDES.items():
        write_h5(tmp_path / f"{slide}.h5", features=tokens, coords=COORDS[slide])
    write_h5(tmp_path / "s9.h5", features=np.empty((0, 4), np.float32), coords=np.empty((0, 2)))
    (tmp_path / "labels.csv").write_text(
        "slide,label\n" + "".join(f"s{i},{i}\n" for i in range(10))
    )
    with pytest.warns(UserWarning, match="1 of 4 sequences have no tokens and are left out: s9"):
        data = read_dataset(tmp_path)
    same(data)
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
    like = json.loads(json.dumps(read_dataset(folder).reading))
    same(read_dataset(tmp_path / "new.h5", like=like), {"new": tokens})
    if not batch:
        with pytest.warns(OneTokenWarning, match="each of the 5 rows of features .* with by="):
            assert len(read_dataset(tmp_path / "new.h5")) == 5


def test_the_tables_of_clam(tmp_path):
    folder = tmp_path / "h5_files"
    for slide, tokens in SLIDES.items():
        write_h5(folder / f"{slide}.h5", features=tokens)
    table = tmp_path / "dataset.csv"
    table.write_text("case_id,slide_id,tumour,age\np,s0.svs,yes,1\np,s1.svs,no,2\nq,s2.svs,yes,3\n")
    data = read_dataset(folder, label="tumour", labels=table, group="case_id")
    assert (data.labels.tolist(), data.groups.tolist()) == (["yes", "no", "yes"], ["p", "p", "q"])
    with pytest.raises(ValueError, match=r"with label=, one of case_id, tumour, age$"):
        read_dataset(folder, labels=table)
    with pytest.raises(ValueError, match=r"h5_files has no labels: name a table of labels with la"):
        read_dataset(folder).with_labels()
    with pytest.raises(ValueError, match=r"names none .* has 'p' in 'case_id', .* 's0'; .* by="):
        read_dataset(folder, "case_id", "tumour", labels=table)


@pytest.mark.parametrize("index", [False, True])
def test_a_tensor_a_slide(tmp_path, index):
    """CLAM's pt_files; Slideflow has the places of the tiles beside each."""
    for slide, tokens in SLIDES.items():
        torch_file.save(tmp_path / f"{slide}.pt", torch_file.Tensor(tokens))
        if index:
            np.savez(tmp_path / f"{slide}.index.npz", COORDS[slide])
    same(read_dataset(tmp_path))


def test_a_batch_of_one_a_slide(tmp_path):
    """UNI."""
    for slide, tokens in SLIDES.items():
        write_h5(tmp_path / f"{slide}.h5", features=tokens[np.newaxis], coords=COORDS[slide])
    same(read_dataset(tmp_path))


def test_one_file_with_a_group_a_slide(tmp_path):
    path = tmp_path / "all.h5"
    arrays = {f"{slide}__features": tokens for slide, tokens in SLIDES.items()}
    arrays |= {f"{slide}__coords": COORDS[slide] for slide in SLIDES}
    write_h5(path, **arrays)
    data = read_dataset(path)
    same(data)
    assert np.array_equal(data.coords, np.concatenate(list(COORDS.values())))
    write_h5(path, **arrays, **{f"{slide}__label": i for i, slide in enumerate(SLIDES)})
    assert read_dataset(path).labels.tolist() == [0, 1, 2]
    write_h5(path, **{name.replace("features", "uni"): array for name, array in arrays.items()})
    same(read_dataset(path, features="uni"))


def test_a_folder_a_slide(tmp_path):
    """Owkin: features.npy in a folder of the slide's name."""
    for slide, tokens in SLIDES.items():
        (tmp_path / slide).mkdir()
        np.save(tmp_path / slide / "features.npy", tokens)
    data = read_dataset(tmp_path)
    same(data)
    assert data.labels is None


def test_level_and_place_of_tiles_are_no_features(tmp_path):
    """Owkin again: the first three columns."""
    for slide, tokens in SLIDES.items():
        (tmp_path / slide).mkdir()
        level = np.full((len(tokens), 1), 17)
        features = np.hstack([level, COORDS[slide], tokens, 0 * level])  # one is always zero
        np.save(tmp_path / slide / "features.npy", features.astype(np.float32))
    (tmp_path / "labels.csv").write_text("slide,label\ns0,0\ns1,1\ns2,0\n")
    with pytest.warns(UserWarning, match="whole numbers: taken as level, x and y of a tile"):
        data = read_dataset(tmp_path)
    same(data, {slide: np.pad(tokens, ((0, 0), (0, 1))) for slide, tokens in SLIDES.items()})
    assert np.array_equal(data.coords, np.concatenate(list(COORDS.values())))
    assert data.labels.tolist() == [0, 1, 0]


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
    same(data)
    assert data.labels.tolist() == [0, 1, 0]
    assert len(data.coords) == 10


def test_folders_that_say_what_they_hold(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / ".zarray").touch()
    with pytest.raises(
        ValueError, match="is a zarr store, which is not read: save its arrays with"
    ):
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


# Activations


def archive(path, **arrays):
    """Write arrays by the ending of a path."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".h5":
        write_h5(path, **arrays)
    elif path.suffix == ".pt":
        torch_file.save(path, {n: torch_file.Tensor(np.asarray(a)) for n, a in arrays.items()})
    else:
        from safetensors.numpy import save_file

        save_file({name: np.asarray(array) for name, array in arrays.items()}, path)


ENDINGS = [".npz", ".h5", ".safetensors", ".pt"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("tokens", ["X", "hidden_states", "activations", "embeddings"])
def test_an_attention_mask_is_used(tmp_path, ending, tokens):
    path = tmp_path / f"x{ending}"
    archive(path, **{tokens: PADDED, "attention_mask": MASK, "labels": np.array([1, 0, 1])})
    data = read_dataset(path)
    assert data.sequences.lengths.tolist() == [3, 5, 2]
    assert np.array_equal(data.sequences[2], PADDED[2, :2])
    assert data.labels.tolist() == [1, 0, 1]


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
    with pytest.raises(ValueError, match="may be in Features or FEATS; say which with features="):
        read_dataset(tmp_path / "x.npz")
    (tmp_path / "x.csv").write_text("Bag ID,Label,x\na,0,1\na,0,2\nb,1,3\n")
    data = read_dataset(tmp_path / "x.csv")
    assert (data.ids, data.labels.tolist()) == (["a", "b"], [0, 1])


def test_layers_without_numbers_are_refused(tmp_path):
    """All hidden states of a model, stacked."""
    path = tmp_path / "x.npz"
    archive(path, hidden_states=np.stack([PADDED, PADDED + 1]), attention_mask=MASK)
    with pytest.raises(ValueError, match=r"\(2, 3, 5, 4\) has one axis too many: .* 'layers'"):
        read_dataset(path)
    archive(path, hidden_states=np.stack([PADDED, PADDED + 1]), attention_mask=MASK, layers=[4, 8])
    assert np.array_equal(read_dataset(path, layer=8).sequences[1], PADDED[1] + 1)


def test_masks_that_cannot_be_meant(tmp_path):
    path = tmp_path / "x.npz"
    archive(path, X=PADDED, attention_mask=MASK, mask=MASK)
    with pytest.raises(ValueError, match="there are 'mask' and 'attention_mask'"):
        read_dataset(path)
    archive(path, X=PADDED, attention_mask=MASK[:, :4])
    with pytest.raises(ValueError, match=r"attention_mask of shape \(3, 4\) does not go with X of"):
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
    same(data, {f"t{i}": PADDED[i][MASK[i] == 1] for i in range(3)})
    assert data.labels.tolist() == [0, 1, None]
    assert data.rows.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 0, 1]
    with pytest.raises(ValueError, match="max_numbers=39 are allowed"):
        read_dataset(tmp_path, max_numbers=39)
    np.savez(tmp_path / "t3.npz", hidden_states=PADDED[0], attention_mask=[1, 1])
    with pytest.raises(ValueError, match="attention_mask must hold 1 or 0 for each of the 5 tok"):
        read_dataset(tmp_path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_array_a_layer_is_chosen(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    archive(path, layer_3=PADDED, layer_7=PADDED + 1, attention_mask=MASK, labels=np.arange(3))
    with pytest.raises(
        ValueError, match=r"say which with layer=, one of 3, 7.*layer_3 \(3, 5, 4\)"
    ):
        read_dataset(path)
    data = read_dataset(path, layer=7)
    assert np.array_equal(data.sequences[1], PADDED[1] + 1)
    assert data.labels.tolist() == [0, 1, 2]
    assert np.array_equal(read_dataset(path, like=data.reading).sequences[1], PADDED[1] + 1)
    with pytest.raises(ValueError, match="There is no layer 4"):
        read_dataset(path, layer=4)
    archive(path, layer_3=SLIDES["s0"], layer_7=SLIDES["s1"])  # not two sequences
    with pytest.raises(ValueError, match="holds one array per layer"):
        read_dataset(path)
    archive(path, **{"blocks.3.mlp": PADDED, "blocks.3.attn": PADDED})
    with pytest.raises(
        ValueError, match=r"layer 3 has blocks.3.* and .*; say which with features="
    ):
        read_dataset(path)
    archive(path, X=PADDED)
    with pytest.raises(ValueError, match=r"layer=3, but X of shape .* has no layers"):
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
    with pytest.raises(ValueError, match="data has the layers 4, 8, 12; say which with layer="):
        read_dataset(path)
    with pytest.warns(UserWarning, match="detection_mask is not used"):
        data = read_dataset(path, layer=12)
    assert np.array_equal(data.sequences.tokens, values)


def test_bfloat16_of_numpy_is_refused(tmp_path):
    bits, _ = bfloat16(PADDED)
    np.savez(tmp_path / "x.npz", X=bits.view("V2"))
    with pytest.raises(
        ValueError, match=r"X holds raw bytes \(\|V2\), as NumPy writes bfloat16: sav"
    ):
        read_dataset(tmp_path / "x.npz")


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
        with pytest.raises(ValueError, match=r"x.safetensors.* (X of shape|X is not|X has type)"):
            read_dataset(path)


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


# Tables of Arrow


def nested(slides=SLIDES):
    return pyarrow.array(
        [x.tolist() for x in slides.values()], pyarrow.list_(pyarrow.list_(pyarrow.float32()))
    )


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow", "folder"])
def test_a_sequence_a_row_with_other_lists(tmp_path, ending):
    """As Hugging Face datasets have them: text, input_ids, features, label."""
    table = pyarrow.table(
        {
            "text": ["a", "b", "c"],
            "input_ids": [[1, 2, 3], [1, 2, 3, 4, 5], [7, 8]],
            "features": nested(),
            "label": [0, 1, 1],
            "id": list(SLIDES),
        }
    )
    path = tmp_path / f"x.{ending}"
    if ending == "parquet":
        parquet.write_table(table, path)
    elif ending == "feather":
        feather.write_feather(table, path)
    elif ending == "arrow":
        with (
            pyarrow.OSFile(str(path), "wb") as sink,
            pyarrow.ipc.new_stream(sink, table.schema) as out,
        ):
            out.write_table(table)
    else:
        path.mkdir()
        for i in range(2):
            with (
                pyarrow.OSFile(str(path / f"data-{i}.arrow"), "wb") as sink,
                pyarrow.ipc.new_stream(sink, table.schema) as out,
            ):
                out.write_table(table.slice(2 * i, 2))
        files = [{"filename": f"data-{i}.arrow"} for i in range(2)]
        (path / "state.json").write_text(json.dumps({"_data_files": files}))
        (path / "dataset_info.json").write_text("{}")
    data = read_dataset(path, by="id")
    same(data)
    assert data.labels.tolist() == [0, 1, 1]
    assert read_dataset(path, features="features").ids == [0, 1, 2]
    assert data.rows.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2]


def test_several_sets_in_a_folder(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "state.json").write_text("{}")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(ValueError, match="holds several sets, test, train: name one of them"):
        read_dataset(tmp_path)
    with pytest.raises(ValueError, match="does not list the files"):
        read_dataset(tmp_path / "train")


def test_columns_of_lists_are_chosen_by_name(tmp_path):
    path = tmp_path / "x.parquet"
    table = {"bag": list(SLIDES), "uni": nested(), "conch": nested()}
    parquet.write_table(pyarrow.table(table), path)
    with pytest.raises(
        ValueError, match="the tokens may be in uni, conch; say which with features="
    ):
        read_dataset(path)
    same(read_dataset(path, features="conch"))


def test_a_vector_a_row(tmp_path):
    """One token per row, with its embedding in a list."""
    path = tmp_path / "x.parquet"
    bag = np.repeat(list(SLIDES), [len(x) for x in SLIDES.values()])
    tokens = np.concatenate(list(SLIDES.values()))
    columns = {"bag": bag, "label": bag == "s1", "embedding": list(tokens)}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path)
    same(data)
    assert data.labels.tolist() == [False, True, False]
    columns["embedding"] = [x.tolist() for x in tokens[:-1]] + [[1.0]]
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(ValueError, match="column 'embedding': token 9 of X has 1 features"):
        read_dataset(path)


def test_columns_that_are_no_names(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"bag": [{"a": 1}], "x": [1.0]}), path)
    with pytest.raises(ValueError, match="by='bag' holds struct<a: int64>, not names"):
        read_dataset(path)
    parquet.write_table(
        pyarrow.table({"bag": ["a", "b"], "site": [None, "p"], "x": [1.0, 2.0]}), path
    )
    with pytest.raises(ValueError, match="sequence 'a' has no group"):
        read_dataset(path, group="site")


# Cells, and the classic sets


@pytest.mark.parametrize("form", ["dense", "csr", "csc", "obsm"])
def test_anndata(tmp_path, form):
    X = np.concatenate(list(SLIDES.values()))
    X[:, 1:] = np.maximum(X[:, 1:], 0)
    donor = np.repeat([0, 1, 2], [3, 5, 2])
    path = tmp_path / "cells.h5ad"
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if form in ("csr", "csc"):
            matrix = sparse.csr_matrix(X) if form == "csr" else sparse.csc_matrix(X)
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = f"{form}_matrix", X.shape
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(matrix, name)
        else:
            file["X"] = X
        file["obsm/X_pca"] = X[:, :2]
        file["obs/sample/codes"] = donor.astype(np.int8)
        file["obs/sample"].create_dataset("categories", data=["p", "q", "r"], dtype=text)
        file["obs"].create_dataset(
            "disease", data=np.array(["ill", "well", "ill"])[donor].tolist(), dtype=text
        )
        file.create_group("var")
        file["var"].create_dataset("_index", data=list("abcd"), dtype=text)
        file["var"].attrs["_index"] = "_index"
    features = "X_pca" if form == "obsm" else None
    data = read_dataset(path, "sample", "disease", features=features)
    assert (data.ids, data.labels.tolist()) == (["p", "q", "r"], ["ill", "well", "ill"])
    assert np.array_equal(data.sequences.tokens, X[:, :2] if form == "obsm" else X)
    names = data.sequences.feature_names
    assert names is None if form == "obsm" else names.tolist() == list("abcd")
    with pytest.raises(ValueError, match=r"column of obs .* with by=; it holds disease, sample"):
        read_dataset(path)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_matlab(tmp_path, kind):
    X = np.concatenate(list(SLIDES.values())).astype(float)
    bag = np.repeat([1, 2, 3], [3, 5, 2])
    content = {
        "features": kind(X),
        "labels": kind(np.where(bag == 2, 1.0, -1.0)[None]),
        "bag_ids": bag[None],
        "name": "musk",
    }
    savemat(tmp_path / "musk.mat", content)
    data = read_dataset(tmp_path / "musk.mat")
    same(data, dict(zip([1, 2, 3], map(np.float64, SLIDES.values()), strict=True)))
    assert data.labels.tolist() == [-1, 1, -1]


# Labels


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (["1", "01", "2"], ["1", "01", "2"]),
        (["10", "1e1", "2"], ["10", "1e1", "2"]),
        (["1", "1.0", "2"], ["1", "1.0", "2"]),
        (["1.0", "0.0", "2."], [1, 0, 2]),
        (["9007199254740993", "9007199254740992", "1"], [9007199254740993, 9007199254740992, 1]),
        (["99999999999999999999", "1", "2"], ["99999999999999999999", "1", "2"]),
        (["-1", "+1", "0"], ["-1", "+1", "0"]),
    ],
)
def test_labels_that_differ_stay_different(tmp_path, labels, wanted):
    rows = [
        f"{name},{label},{i}" for i, (name, label) in enumerate(zip("abc", labels, strict=True))
    ]
    (tmp_path / "x.csv").write_text("\n".join(["bag,label,x", *rows]))
    assert read_dataset(tmp_path / "x.csv").labels.tolist() == wanted


def test_large_whole_numbers_of_parquet(tmp_path):
    table = {"bag": [1, 2], "label": [9007199254740993, 9007199254740992], "x": [1.0, 2.0]}
    parquet.write_table(pyarrow.table(table), tmp_path / "x.parquet")
    assert read_dataset(tmp_path / "x.parquet").labels.tolist() == table["label"]
