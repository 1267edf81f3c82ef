import sys

import pytest


@pytest.fixture(params=["arrow", "csv module"])
def engine(request, monkeypatch):
    """Read text with Arrow, and as if it were not installed."""
    if request.param == "arrow":
        pytest.importorskip("pyarrow", reason="one of two ways to read text")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("slide,label,patient\na.svs,well,q\nb,ill,p\nc,,p\nunknown,ill,r\n")
    return path
