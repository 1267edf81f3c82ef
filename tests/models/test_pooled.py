import pytest

from agreement import assert_theory_agrees
from populations import LENGTH_WITH_LABEL

PROBLEM = {"n_tokens": 6, "signal": 3.0, "positive_rate": 0.4, "reg": 0.1}


@pytest.mark.parametrize(
    "values",
    [PROBLEM | {"label_errors": [0.1, 0.05]}, {"kinds": LENGTH_WITH_LABEL, "loss": "square"}],
    ids=["label errors", "length goes with the label"],
)
def test_simulation_agrees_with_theory(values):
    simulation = assert_theory_agrees(values | {"model": "pooled", "alpha": 3.0})
    assert "cosine" not in simulation  # there is no query
