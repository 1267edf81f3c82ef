"""Files that are complete or not there."""

import pytest

from sparsetoken._replace import replaced


def break_off(path):
    with replaced(path) as file:
        file.write_text("half")
        raise RuntimeError("half-way")


def test_a_file_is_replaced_when_it_is_complete(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half-way"):
        break_off(path)
    assert path.read_text() == "old"
    with replaced(path) as file:
        file.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
