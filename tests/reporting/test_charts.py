import numpy as np
import pytest

from sparsetoken.reporting.charts import from_zero


@pytest.mark.parametrize("highest", [0.013, 0.42, 0.5, 1.0, 7.0, 186.0, 1.05e6])
def test_ticks_are_round(highest):
    scale = from_zero("", highest)
    assert scale.ticks[0] == 0
    assert scale.high == scale.ticks[-1] >= highest
    assert 3 <= len(scale.ticks) <= 7
    step = scale.ticks[1]
    assert float(f"{step:.0e}") == step or f"{step:.1e}".startswith("2.5")
    np.testing.assert_allclose(np.diff(scale.ticks), step)
