import pytest
from figure_tables import assert_agree, only, where


def test_joint_training(table):
    rows = table(
        "joint-training",
        alpha=4.0,
        steps=[2, 6],
        step_points=[2, 6],
        last_points=[],
        lines=[4.0],
        points=[4.0],
        budgets=[4.0],
        budget_points=[4.0],
        most_steps=3,
        n_points=256,
        dim=60,
        trials=6,
    )
    budget = where(rows, panel="budget")
    certain = [row for row in rows if row["panel"] != "budget"]
    assert_agree(certain, ("panel", "curve", "steps", "alpha", "quantity"), dim=25)
    # Samples that are divided among the steps suffer from chance: only those used together agree.
    for way in ("reused", "two-step"):
        assert_agree(where(budget, curve=way), ("quantity",), dim=25)
    errors = {
        way: only(budget, curve=way, source="theory", quantity="test_error")
        for way in ("fresh", "reused", "two-step")
    }
    assert errors["reused"] < errors["fresh"]
    (minimum,) = where(rows, panel="minimum", curve="joint", source="theory", quantity="test_error")
    assert minimum["converged"]
    assert minimum["value"] == pytest.approx(0.0334, rel=0.06)  # as joint_risk with many points
