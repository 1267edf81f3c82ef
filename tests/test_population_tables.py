"""Populations as plain data."""

import pytest

from populations import STRENGTHS, TWO_LENGTHS
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.population_tables import as_tables, from_tables

RUNS = SparseTokenProblem(9, 3, 2.0, 0.4, contiguous=True)


@pytest.mark.parametrize("population", [TWO_LENGTHS, STRENGTHS])
def test_tables_and_back(population):
    again = from_tables(as_tables(population), population.label_errors)
    assert again.kinds == population.kinds
    assert again.shares == pytest.approx(population.shares, rel=1e-15)
    assert again.label_errors == population.label_errors


def test_what_a_table_leaves_out_has_a_default():
    kind = {"probability": 1, "n_tokens": 6, "signal": 4.0}
    assert from_tables([kind], positive_rate=0.3).kinds == (SparseTokenProblem(6, 1, 4.0, 0.3),)
    with pytest.warns(FutureWarning, match="share is called probability now"):
        assert from_tables([{"share": 1, "n_tokens": 6, "signal": 4.0}]) == from_tables([kind])


def test_tables_do_not_lose_runs():
    with pytest.raises(ValueError, match="kinds as tables have no runs"):
        as_tables(Population([RUNS]))
