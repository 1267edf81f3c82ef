import pytest

from sparsetoken.experiments import Store, figure_rows


@pytest.fixture
def table(tmp_path):
    def compute(name, **settings):
        with Store(tmp_path / "results.db") as store:
            return figure_rows(name, store, **settings)

    return compute
