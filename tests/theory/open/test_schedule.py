"""Rates for every step, and where a training has run away."""

import math

import numpy as np
import pytest

from sparsetoken.theory.open.schedule import Schedule, too_large


def test_a_rate_is_a_number_or_one_for_each_step():
    schedule = Schedule.make(3, 2.0, 0.1, 1.5, 4.0, [1.0, 0.5, 0.0], 2)
    assert schedule.rates.tolist() == [[4.0, 1.0], [4.0, 0.5], [4.0, 0.0]]
    assert schedule.lr_bias.tolist() == [2.0, 2.0, 2.0]
    assert (schedule.steps, schedule.first(2).steps) == (3, 2)
    assert schedule.first(2).rates.tolist() == [[4.0, 1.0], [4.0, 0.5]]
    with pytest.raises(ValueError, match=r"^lr_readout must .* each of 3 steps, got \[1.0\]"):
        Schedule.make(3, 2.0, 0.1, 1.5, 4.0, [1.0], 2.0)


def test_parameters_that_are_too_large():
    gram = np.diag([4.0, 9.0])
    assert not too_large(gram, 1.0, 1.0)
    for changed in ((1e9 * gram, 1.0, 1.0), (gram, math.nan, 1.0), (gram, 1.0, 1e4)):
        assert too_large(*changed)
