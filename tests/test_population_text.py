"""Populations as text."""

import pytest

from sparsetoken import Population, SparseTokenProblem
from sparsetoken.population_text import kinds_text

RUNS = SparseTokenProblem(9, 3, 2.0, 0.4, contiguous=True)


def test_text_does_not_lose_runs():
    with pytest.raises(ValueError, match="kinds as text have no runs"):
        kinds_text(Population([RUNS]))
