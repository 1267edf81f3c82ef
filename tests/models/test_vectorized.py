import pytest

from agreement import assert_theory_agrees
from populations import STRENGTHS, TWO_LENGTHS
from sparsetoken.experiments import make_cell

PROBLEM = {"n_tokens": 6, "signal": 3.0, "positive_rate": 0.4, "alpha": 2.0}


@pytest.mark.parametrize(
    "values",
    [
        PROBLEM,
        pytest.param(
            {"n_tokens": 4, "n_signal": 2, "signal": 3.0, "alpha": 6.0},
            marks=pytest.mark.statistical,
        ),
        pytest.param({"kinds": STRENGTHS, "alpha": 3.0}, marks=pytest.mark.statistical),
    ],
    ids=["few samples", "many samples", "strengths"],
)
def test_simulation_agrees_with_theory(values):
    assert_theory_agrees(values | {"model": "vectorized", "reg": 0.1, "dim": 80})


def test_what_it_refuses():
    with pytest.raises(ValueError, match="one length, got lengths 4, 14"):
        make_cell("theory", "auc", {"kinds": TWO_LENGTHS, "model": "vectorized", "alpha": 2.0})
    with pytest.raises(ValueError, match="contiguous"):
        make_cell("theory", "auc", PROBLEM | {"model": "vectorized", "contiguous": True})
