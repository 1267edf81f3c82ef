"""Parquet."""

import sys

import numpy as np
import pytest

from files.bags import BAG, LABEL, SITE, SITES, TOKENS, X, same
from sparsetoken import read_dataset


def test_parquet(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    from pyarrow import parquet

    path = tmp_path / "bags.parquet"
    columns = {"bag": BAG, "label": LABEL, "site": SITE, "x": X[:, 0], "y": X[:, 1]}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path, **SITES)
    same(data)
    assert data.groups.tolist() == ["p", "q", "p"]
    with pytest.raises(
        ValueError, match=r"column 'site' holds string, not numbers; .*ignore=.site"
    ):
        read_dataset(path)
    small = {"bag": [1, 2], "label": [True, False], "x": np.array([1, 2], np.float32)}
    parquet.write_table(pyarrow.table(small), path)
    data = read_dataset(path)
    assert (data.ids, data.labels.tolist()) == ([1, 2], [True, False])
    assert data.sequences.dtype == np.float32
    parquet.write_table(pyarrow.table({"bag": [1, 2], "label": [1.0, None], "x": [1, None]}), path)
    with pytest.raises(ValueError, match="row 1, column 'x': its value is not a finite number"):
        read_dataset(path)
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(ValueError, match=r"is not a .parquet file"):
        read_dataset(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'sparsetoken\[data\]'"):
        read_dataset(path)


def test_parquet_with_a_sequence_a_row(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    from pyarrow import parquet

    path = tmp_path / "bags.parquet"
    tokens = [part.tolist() for part in TOKENS.values()]
    columns = {"bag": list(TOKENS), "label": ["ill", "well", "ill"], "tokens": tokens}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path)
    same(data)
    assert data.rows.tolist() == [0, 0, 0, 1, 1, 2]
    with pytest.raises(ValueError, match="no 'labels'; the nearest names are 'label'"):
        read_dataset(path, label="labels")
