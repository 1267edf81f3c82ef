"""Parquet."""

import json
import sys

import numpy as np
import pyarrow
import pytest
from pyarrow import feather, parquet

from files.bags import BAG, LABEL, SITE, SITES, TOKENS, X, same
from files.slides import SLIDES, nested, same_slides
from sparsetoken import read_dataset


def test_parquet(tmp_path, monkeypatch):
    path = tmp_path / "bags.parquet"
    columns = {"bag": BAG, "label": LABEL, "site": SITE, "x": X[:, 0], "y": X[:, 1]}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path, **SITES)
    same(data)
    assert data.groups.tolist() == ["p", "q", "p"]
    with pytest.raises(ValueError, match=r"column 'site' holds string, not numbers; .*'ignore'"):
        read_dataset(path)
    small = {"bag": [1, 2], "label": [True, False], "x": np.array([1, 2], np.float32)}
    parquet.write_table(pyarrow.table(small), path)
    data = read_dataset(path)
    assert (data.ids, data.labels.tolist()) == ([1, 2], [True, False])
    assert data.sequences.dtype == np.float32
    parquet.write_table(pyarrow.table({"bag": [1, 2], "label": [1.0, None], "x": [1, None]}), path)
    with pytest.raises(ValueError, match=r"row 1 .*, column 'x': nan is not a finite number"):
        read_dataset(path)
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(ValueError, match=r"is not a .parquet file"):
        read_dataset(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'sparsetoken\[data\]'"):
        read_dataset(path)


def test_parquet_with_a_sequence_a_row(tmp_path):
    path = tmp_path / "bags.parquet"
    tokens = [part.tolist() for part in TOKENS.values()]
    columns = {"bag": list(TOKENS), "label": ["ill", "well", "ill"], "tokens": tokens}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path)
    same(data)
    assert data.rows.tolist() == [0, 0, 0, 1, 1, 2]
    with pytest.raises(ValueError, match="no 'labels'; the nearest names are 'label'"):
        read_dataset(path, label="labels")


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
    same_slides(data)
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


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
def test_a_folder_of_tables_is_none_of_datasets(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=rf"{name} is a folder: name one file in it"):
        read_dataset(tmp_path / name)


def test_a_stream_without_its_end_is_refused(tmp_path):
    """Cut off between two of its parts it would be a shorter one."""
    path, bounds = tmp_path / "x.arrow", []
    table = pyarrow.table({"bag": np.repeat(range(6), 2), "x": np.arange(12.0)})
    with path.open("wb") as file, pyarrow.ipc.new_stream(file, table.schema) as out:
        for batch in table.to_batches(max_chunksize=4):
            out.write_batch(batch)
            bounds.append(file.tell())
    assert len(read_dataset(path)) == 6
    content = path.read_bytes()
    for bound in bounds:
        path.write_bytes(content[:bound])
        with pytest.raises(ValueError, match=r"x.arrow is not .*: its end is missing"):
            read_dataset(path)


def test_a_vector_a_row(tmp_path):
    """One token per row, with its embedding in a list."""
    path = tmp_path / "x.parquet"
    bag = np.repeat(list(SLIDES), [len(x) for x in SLIDES.values()])
    tokens = np.concatenate(list(SLIDES.values()))
    columns = {"bag": bag, "label": bag == "s1", "embedding": list(tokens)}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path)
    same_slides(data)
    assert data.labels.tolist() == [False, True, False]
    columns["embedding"] = [x.tolist() for x in tokens[:-1]] + [[1.0]]
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(ValueError, match="column 'embedding': token 9 of X has 1 features"):
        read_dataset(path)


def test_lists_that_point_outside_are_refused(tmp_path):
    """An Arrow file whose offsets lie beyond its numbers would be read out of bounds."""
    path = tmp_path / "x.arrow"
    feather.write_feather(pyarrow.table({"bag": list(SLIDES), "tokens": nested()}), path,
                          compression="uncompressed")  # fmt: skip
    offsets = np.array([0, 3, 8, 10], np.int32).tobytes()
    assert path.read_bytes().count(offsets) == 1
    for odd in ([0, 3, 8, 10**8], [0, 3, -5, 10], [0, 9, 8, 10]):
        damaged = path.read_bytes().replace(offsets, np.array(odd, np.int32).tobytes())
        (tmp_path / "y.arrow").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"y.arrow is not a .arrow file, or is damaged"):
            read_dataset(tmp_path / "y.arrow")
