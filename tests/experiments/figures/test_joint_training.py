import pytest
from figure_tables import assert_agree, where

from invented_figures import invented, points_on
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


def test_joint_training(table):
    rows = table(
        "joint-training",
        alpha=4.0,
        steps=[2, 6],
        step_points=[2, 6],
        last_points=[],
        lines=[4.0],
        points=[4.0],
        n_points=256,
        dim=60,
        trials=6,
    )
    assert_agree(rows, ("panel", "curve", "steps", "alpha", "quantity"), dim=25)
    (minimum,) = where(rows, panel="minimum", curve="joint", source="theory", quantity="test_error")
    assert minimum["converged"]
    assert minimum["value"] == pytest.approx(0.0334, rel=0.06)  # as joint_risk with many points


def test_joint_minimum_is_a_level_that_ends_in_its_simulation():
    rows = invented("joint-training")
    minimum = select(rows, panel="steps", curve="joint", quantity="cosine")
    shown = points_on(draw_figure("joint-training", rows).axes[1])
    for row in minimum:
        places = {x for x, y in shown if y == round(row["value"], 9)}
        assert places == ({1, 1280} if row["source"] == "theory" else {1280})


def test_a_refused_joint_minimum_is_not_drawn():
    rows = invented("joint-training")
    refused = select(rows, panel="minimum", curve="joint", source="theory")
    for row in refused:
        row["converged"] = False
    shown = {y for _, y in points_on(draw_figure("joint-training", rows).axes[2])}
    assert not shown & {round(row["value"], 9) for row in refused}
