"""What all figures share; each has a test of its numbers in figures/."""

import pytest


def test_a_figure_with_failed_cells_is_refused(table):
    settings = {"points": [1.0], "lines": [1.0], "vectorized_points": [1.0], "dim": 4, "trials": 2}
    problem = {"n_tokens": 4, "positive_rate": 1e-6}
    with pytest.raises(RuntimeError, match="cells failed"):
        table("learning-curves", problem=problem, **settings)
    with pytest.raises(ValueError, match="unknown setting of learning-curves 'trails'; did you"):
        table("learning-curves", trails=3)
