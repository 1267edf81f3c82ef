"""Tables: a file is complete or not there."""

import pytest

from sparsetoken.experiments import write_table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_that_fails_leaves_the_old_one(monkeypatch, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    write_table({"a": [1, 2]}, path)
    before = path.read_bytes()
    monkeypatch.setattr("shutil.copymode", fail)
    with pytest.raises(OSError, match="No space"):
        write_table({"a": [3, 4]}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def fail(*_):
    raise OSError(28, "No space left on device")


def test_rows_and_columns_are_one_table(tmp_path):
    rows = [{"value": 0.5, "model": "=cmd"}, {"model": "pooled", "alpha": 2.0}]
    write_table(rows, tmp_path / "rows.csv")
    columns = {"model": ["=cmd", "pooled"], "alpha": [None, 2.0], "value": [0.5, None]}
    write_table(columns, tmp_path / "columns.csv")  # numbers last, as of rows
    text = "model,alpha,value\n'=cmd,,0.5\npooled,2.0,\n"
    assert (tmp_path / "rows.csv").read_text() == text
    assert (tmp_path / "columns.csv").read_text() == text
    write_table([{"label_errors": [0.1, 0.0]}], tmp_path / "lists.csv")
    assert (tmp_path / "lists.csv").read_text() == 'label_errors\n"[0.1, 0.0]"\n'
    with pytest.raises(ValueError, match=r"written as \.csv or \.parquet, got 'rows.txt'"):
        write_table(rows, tmp_path / "rows.txt")
