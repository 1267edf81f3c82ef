import pytest
from figure_tables import assert_agree, only, where

from invented_figures import invented, points_on
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


@pytest.mark.statistical
def test_alignment(table):
    points = [2.0, 100.0]
    rows = table("alignment", signals=[3.0, 8.0], lines=points, points=points, dim=300, trials=12)
    assert_agree(where(rows, quantity="cosine"), ("signal", "alpha0"), dim=300)
    for signal in (3.0, 8.0):
        constant = only(rows, quantity="misalignment", signal=signal)
        cosine = only(rows, quantity="cosine", source="theory", signal=signal, alpha0=100.0)
        assert (1.0 - cosine) * 100.0 == pytest.approx(constant, rel=0.05)


def test_alignment_shows_the_distance_from_one():
    rows = invented("alignment")
    ax = draw_figure("alignment", rows).axes[1]
    shown = points_on(ax)
    for row in select(rows, quantity="cosine", source="theory"):
        assert (row["alpha0"], round(1 - row["value"], 9)) in shown
    for row in select(rows, quantity="misalignment"):
        assert (10.0, round(row["value"] / 10, 9)) in shown
