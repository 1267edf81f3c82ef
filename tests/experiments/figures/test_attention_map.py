import numpy as np
from figure_tables import where


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
