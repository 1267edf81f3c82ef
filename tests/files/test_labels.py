"""Tables of labels beside the tokens."""

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from files.bags import TOKENS, same
from files.slides import SLIDES, write_h5
from sparsetoken import read_dataset


def test_labels_beside_an_archive(tmp_path, labels):
    path = tmp_path / "bags.npz"
    np.savez(path, **TOKENS)
    same(read_dataset(path, labels=labels), "bac", ["ill", "well", None])


def test_a_label_that_is_no_number_is_missing(tmp_path):
    """Parquet has NaN where a CSV file has an empty cell."""
    np.savez(tmp_path / "bags.npz", **TOKENS)
    columns = {"slide": list("bac"), "label": [1.0, np.nan, 0.0], "age": [np.nan, 1.0, 2.0]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "labels.parquet")
    data = read_dataset(tmp_path / "bags.npz", labels=tmp_path / "labels.parquet")
    assert data.labels.tolist() == [1, None, 0]


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
