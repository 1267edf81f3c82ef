import pytest
from figure_tables import assert_agree, where


def test_long_limits(table):
    rows = table(
        "long-limits",
        many=[100, 2500],
        few=[100],
        sharpness=[0.5],
        sharpness_points=[0.5],
        locked_signals=[5.0],
        lengths=[10],
        length_points=[10],
        dim=100,
        trials=8,
    )
    for panel in ("many", "few", "lock"):
        here = where(rows, panel=panel, quantity="test_error")
        assert_agree(here, ("n_tokens", "sharpness", "quantity"), dim=20)
    many = {
        (row["n_tokens"], row["quantity"]): row["value"]
        for row in where(rows, panel="many", sharpness=0.5, source="theory")
    }
    limit = many[2500, "limit_error"]
    assert many[100, "test_error"] > many[2500, "test_error"] > limit
    assert many[2500, "test_error"] == pytest.approx(limit, rel=0.1)
