import numpy as np
from figure_tables import assert_agree, where

from invented_figures import invented
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


def test_split(table):
    lines = np.linspace(0.1, 0.9, 9).round(2).tolist()
    rows = table("split", alphas=[2.0, 4.0], lines=lines, points=[0.3, 0.5], dim=200, trials=16)
    assert_agree(rows, ("alpha", "split"), dim=40)
    for alpha in (2.0, 4.0):
        best = min(where(rows, source="theory", alpha=alpha), key=lambda row: row["value"])
        assert 0.2 < best["split"] < 0.7


def test_split_marks_the_best():
    rows = invented("split")
    ax = draw_figure("split", rows).axes[0]
    stars = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in ax.lines
        if line.get_marker() == "*" and len(line.get_xdata())
    }
    assert len(stars) == 2
    for alpha in (1.0, 2.0):
        theory = select(rows, alpha=alpha, source="theory")
        best = min(theory, key=lambda row: row["value"])
        assert (best["split"], best["value"]) in stars
