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
    """Several blocks, as large data have them."""
    monkeypatch.setattr("sparsetoken.sequences.data._BLOCK", 2**9)


@pytest.fixture
def chosen_on_a_part(monkeypatch, small_blocks):
    """Heads are chosen on some of the samples, as for large data."""
    monkeypatch.setattr(folds, "_ENOUGH_NUMBERS", 7500)
    monkeypatch.setattr(folds, "_ENOUGH_SEQUENCES", 1)
    monkeypatch.setattr(folds, "_ENOUGH_OF_A_CLASS", 30)
