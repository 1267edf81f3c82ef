"""The root finder and its steps, on functions whose roots are known."""

import math

import pytest

from sparsetoken.planner.solve import Axis, _root


def excess(value):
    return math.log(3.0 / value)  # met from 3 on


def test_the_root_is_where_the_shifted_excess_vanishes():
    assert _root(excess, 1.0, 10.0) == pytest.approx(3.0, rel=2e-4)
    assert _root(excess, 10.0, 1.0, shift=0.5) == pytest.approx(3.0 * math.exp(0.5), rel=2e-4)


def test_without_a_change_of_sign_the_better_end_is_the_root():
    assert _root(excess, 3.1, 10.0) == pytest.approx(3.1)
    assert _root(excess, 1.0, 2.9) == pytest.approx(2.9)


def test_steps_of_whole_numbers_always_move_and_end_at_the_edge():
    axis = Axis(1, 1, 1, 10, 1.3, whole=True)
    value, steps = axis.start, []
    while value != axis.high:
        value = axis.step(value, 1)
        steps.append(value)
    assert steps == [2, 3, 4, 5, 6, 8, 10]
    assert axis.step(2, -1) == 1
    assert Axis(1.0, 1, 0.5, 10.0, 4.0).step(8.0, 1) == 10.0
