"""Tables: a file is complete or not there."""

import pytest

from sparsetoken.experiments.table import write_columns


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_that_fails_leaves_the_old_one(monkeypatch, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    write_columns({"a": [1, 2]}, path)
    before = path.read_bytes()
    monkeypatch.setattr("shutil.copymode", fail)
    with pytest.raises(OSError, match="No space"):
        write_columns({"a": [3, 4]}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def fail(*_):
    raise OSError(28, "No space left on device")
