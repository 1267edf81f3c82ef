import numpy as np
from figure_tables import assert_agree, where


def test_split(table):
    lines = np.linspace(0.1, 0.9, 9).round(2).tolist()
    rows = table("split", alphas=[2.0, 4.0], lines=lines, points=[0.3, 0.5], dim=200, trials=16)
    assert_agree(rows, ("alpha", "split"), dim=40)
    for alpha in (2.0, 4.0):
        best = min(where(rows, source="theory", alpha=alpha), key=lambda row: row["value"])
        assert 0.2 < best["split"] < 0.7
