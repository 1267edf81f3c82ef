"""Tables of labels beside the tokens."""

import numpy as np
import pyarrow
from pyarrow import parquet

from files.bags import TOKENS, same
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
