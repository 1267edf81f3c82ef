import pytest
from figure_tables import assert_agree, where


@pytest.mark.statistical
def test_scaling(table):
    rows = table(
        "scaling",
        lengths=[100, 10_000],
        longest_integrated=30,
        trained_lengths=[4],
        trained_points=[4, 16],
        n_points=4096,
        dim=60,
        trials=8,
    )
    trained = where(rows, quantity="test_error")
    assert_agree(trained, ("model", "n_tokens"), dim=20)  # eight samples per dimension of 60
    required = {
        (r["model"], r["n_tokens"]): r["value"] for r in where(rows, quantity="required_signal")
    }
    assert required["pooled", 10_000] == pytest.approx(10 * required["pooled", 100], rel=1e-4)
    assert required["hardmax", 10_000] / required["hardmax", 100] < 1.3
    assert required["bayes", 30] <= required["attention", 30] * 1.05
    assert required["attention", 30] < required["elementwise", 30] < required["pooled", 100]
