import pytest
from figure_tables import only, where

from invented_figures import assert_shown, invented
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


@pytest.mark.statistical
def test_capacity(table):
    ratios = [0.4, 2.0]
    rows = table("capacity", ratios=ratios, lines=ratios, dims=[10, 20], trials=8)
    for model in ("vectorized", "pooled", "attention"):
        mine = where(rows, model=model)
        limit = only(mine, quantity="capacity")
        for row in where(mine, quantity="separable"):
            below = row["alpha"] < limit
            assert row["value"] == (1.0 if below else pytest.approx(0.0, abs=0.15))
        low, high = sorted(r["value"] for r in where(mine, quantity="train_loss", source="theory"))
        assert low < 0.05 < high
        for row in where(mine, quantity="train_loss", dim=20):
            expected = low if row["alpha"] < limit else high
            assert abs(row["value"] - expected) < 5 * row["uncertainty"] + 0.1 * expected
    limits = {m: only(rows, quantity="capacity", model=m) for m in ("vectorized", "pooled")}
    assert limits["vectorized"] == pytest.approx(5 * limits["pooled"])


def test_capacity_is_drawn_in_units_of_itself():
    rows = invented("capacity")
    axes = draw_figure("capacity", rows).axes
    for i, limit in enumerate(select(rows, quantity="capacity")):
        mine = [
            row | {"ratio": row["alpha"] / limit["value"]}
            for row in select(rows, model=limit["model"])
            if "alpha" in row
        ]
        assert_shown(axes[i], select(mine, quantity="separable"), "ratio")
        assert_shown(axes[3 + i], select(mine, quantity="train_loss"), "ratio")
        assert f"{limit['value']:.2f}" in axes[i].get_title()
