import pytest
from figure_tables import assert_agree, only, where


def test_alignment(table):
    points = [2.0, 100.0]
    rows = table("alignment", signals=[3.0, 8.0], lines=points, points=points, dim=300, trials=12)
    assert_agree(where(rows, quantity="cosine"), ("signal", "alpha0"), dim=300)
    for signal in (3.0, 8.0):
        constant = only(rows, quantity="misalignment", signal=signal)
        cosine = only(rows, quantity="cosine", source="theory", signal=signal, alpha0=100.0)
        assert (1.0 - cosine) * 100.0 == pytest.approx(constant, rel=0.05)
