"""The report as a whole: what a failure leaves."""

import pytest

import sparsetoken as st
from reporting.samples import CLF, NEW, NEW_Y


def test_a_page_that_fails_leaves_the_old_one(monkeypatch, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        st.report(CLF, NEW, NEW_Y, path, plan=False)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
