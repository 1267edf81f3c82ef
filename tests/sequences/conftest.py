import pytest

from sequences.stored import X, Y
from sparsetoken.estimators import folds


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "sequences"
    X.save(path, Y)
    return path


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks a part and several parts, as large data have them."""
    for name, size in (("_BLOCK", 2**9), ("_PART", 2**11)):
        monkeypatch.setattr(f"sparsetoken.sequences.data.{name}", size)
    # In memory the heads are chosen on as many samples as there is room for here.
    monkeypatch.setattr(folds, "_ENOUGH_NUMBERS", 7500)
    monkeypatch.setattr(folds, "_ENOUGH_SEQUENCES", 1)
    monkeypatch.setattr(folds, "_ENOUGH_OF_A_CLASS", 30)
