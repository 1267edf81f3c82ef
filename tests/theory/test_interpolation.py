"""Averages interpolated on a grid against exact ones."""

import numpy as np
import pytest
from statistical import quick_first

from sparsetoken.losses import Logistic, get_loss
from sparsetoken.theory.envelope_averages import envelope_moments
from theory.smoothed import settings
from user_losses import SmoothedHinge


@pytest.mark.parametrize(
    "loss", quick_first([Logistic(), get_loss(SmoothedHinge())]), ids=["logistic", "user's"]
)
def test_interpolated_averages(loss):
    arguments = settings(20_000 if isinstance(loss, Logistic) else 6000)
    exact = envelope_moments(loss, *arguments, 1.5, 4.0)
    table = envelope_moments(loss, *arguments, 1.5, 4.0, resolution=3.0)
    for name in ("envelope", "h", "gh", "hh"):
        a, b = getattr(exact, name), getattr(table, name)
        assert np.abs(a - b).max() < (3e-4 if isinstance(loss, Logistic) else 4e-3)
        assert abs((a - b).mean()) < (3e-6 if isinstance(loss, Logistic) else 1e-4)
    assert not np.array_equal(exact.h, table.h)  # it did interpolate


@pytest.mark.parametrize("resolution", quick_first([1.5, 3.0]))
def test_interpolated_averages_of_a_wide_envelope(resolution):
    """Data that can be fitted perfectly: χ is huge, so h falls like 1/c² over the scales."""
    label, mean, _ = settings(20_000)
    scale = 10.0 ** np.random.default_rng(2).uniform(-2.5, 0.0, 20_000)
    exact = envelope_moments(Logistic(), label, mean, scale, 25.0, 1e6)
    table = envelope_moments(Logistic(), label, mean, scale, 25.0, 1e6, resolution=resolution)
    for name in ("envelope", "h", "gh", "hh"):
        weight = (1e6 * scale**2) ** (2 if name == "hh" else 1)  # every decade counts alike
        a, b = (weight * getattr(averages, name) for averages in (exact, table))
        assert abs((a - b).mean()) < 1e-5 * np.abs(a).mean()
        assert np.abs(a - b).max() < 1e-3 * np.abs(a).mean()
    assert table.hh.min() > 0.0


@pytest.mark.parametrize("spread", [0.0, 1e-15, 1e-10, 1e-6])
def test_interpolation_of_nearly_equal_scales(spread):
    label, mean, _ = settings(5000)
    scale = 0.3 * np.exp(spread * np.random.default_rng(2).uniform(-1, 1, 5000))
    exact = envelope_moments(Logistic(), label, mean, scale, 1.5, 4.0)
    table = envelope_moments(Logistic(), label, mean, scale, 1.5, 4.0, resolution=3.0)
    assert np.abs(exact.h - table.h).max() < 1e-4
