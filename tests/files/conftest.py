import pytest


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("slide,label,patient\na.svs,well,q\nb,ill,p\nc,,p\nunknown,ill,r\n")
    return path
