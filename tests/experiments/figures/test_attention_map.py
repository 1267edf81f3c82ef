import numpy as np
from figure_tables import where

from invented_figures import invented, points_on
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


def test_attention_map(table):
    rows = table("attention-map", dim=200, n_sequences=20)
    sums = {}
    for row in rows:
        key = row["label"], row["sequence"]
        sums[key] = sums.get(key, 0.0) + row["value"]
    assert len(sums) == 40
    np.testing.assert_allclose(list(sums.values()), 1.0)
    on_signal = [r["value"] for r in where(rows, label=1, carries_signal=True)]
    assert len(on_signal) == 40
    assert sum(on_signal) / 20 > 0.7  # of the weight of a positive sequence
    assert not where(rows, label=0, carries_signal=True)


def test_attention_map_shows_each_weight_and_marks_the_signal():
    rows = invented("attention-map")
    axes = draw_figure("attention-map", rows).axes
    for ax, label in zip(axes, (1, 0), strict=False):
        here = select(rows, label=label)
        shown = ax.collections[0].get_array().ravel().tolist()
        assert shown == [row["value"] for row in here]
        marked = {(r["token"] + 0.5, r["sequence"] + 0.5) for r in here if r["carries_signal"]}
        assert points_on(ax) == marked
