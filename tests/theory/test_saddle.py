import math

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.law import Readout, linear_law
from sparsetoken.losses import Hinge, Logistic, Square
from sparsetoken.pooling import Softmax
from sparsetoken.theory.points import attention_law
from sparsetoken.theory.saddle import ReadoutObjective, evaluate
from sparsetoken.theory.solver import descend, follow, newton, solve, solve_scaled
from sparsetoken.theory.verification import is_stationary

LAW = attention_law(SparseTokenProblem(10, 1, 4.0, 0.4), Softmax(), 0.7, 1.0, 512)
each_loss = pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)


@each_loss
@pytest.mark.parametrize("alpha", [0.7, math.inf])
def test_derivatives_match_differences(loss, alpha):
    objective = ReadoutObjective(LAW.points, loss, alpha, 0.03)
    readout = Readout(0.8, -0.5, 0.3, 0.9, 0.4)
    if math.isinf(alpha):
        readout = readout._replace(spread=0.0)
    here, _ = evaluate(objective, readout)
    size = here.gradient.size
    names = Readout._fields[:size] + (("log_step",) if math.isfinite(alpha) else ())
    step = 1e-5
    for index, name in enumerate(names):
        plus, minus = (
            evaluate(objective, readout._replace(**{name: getattr(readout, name) + sign * step}))[0]
            for sign in (1, -1)
        )
        slope = (plus.value - minus.value) / (2 * step)
        curvature = (plus.gradient - minus.gradient) / (2 * step)
        if name == "log_step":
            assert here.step_gradient == pytest.approx(slope, rel=1e-6, abs=1e-9)
            assert here.cross == pytest.approx(curvature, rel=1e-4, abs=1e-6)
            second = (plus.step_gradient - minus.step_gradient) / (2 * step)
            assert here.step_hessian == pytest.approx(second, rel=1e-4, abs=1e-6)
            excess = (plus.excess - minus.excess) / (2 * step)
            assert here.excess_slope == pytest.approx(excess, rel=1e-4)
        else:
            assert here.gradient[index] == pytest.approx(slope, rel=1e-6, abs=1e-9)
            assert here.hessian[index] == pytest.approx(curvature, rel=1e-4, abs=1e-6)


@each_loss
@pytest.mark.parametrize(("alpha", "reg"), [(0.5, 1e-6), (2.0, 1e-2), (30.0, 1e-4), (1.0, 100.0)])
def test_all_methods_find_the_same_point(loss, alpha, reg):
    objective = ReadoutObjective(LAW.points, loss, alpha, reg)
    best = solve(objective)
    assert best.converged
    found = [follow(objective)]
    if isinstance(loss, Logistic):
        found.append(descend(objective))
    nearby = best.readout._replace(
        bias=best.readout.bias + 1e-3, spread=1.001 * best.readout.spread
    )
    found.append(newton(objective, nearby))
    for other in found:
        assert other.converged
        assert other.readout == pytest.approx(best.readout, rel=1e-4, abs=1e-5)
        assert other.value == pytest.approx(best.value, rel=1e-6)


def test_a_bad_start_is_noticed():
    objective = ReadoutObjective(
        linear_law(SparseTokenProblem(1, 1, 1.0), 1).points, Logistic(), 2.0, 0.1
    )
    lost = newton(objective, Readout(0.0, -50.0, 40.0, 30.0, -8.0), most_passes=3)
    assert not lost.converged
    assert solve(objective, Readout(0.0, -50.0, 40.0, 30.0, -8.0)).converged


def test_a_wrong_solution_fails_the_second_look():
    objective = ReadoutObjective(LAW.points, Logistic(), 0.7, 1e-3)
    saddle = solve(objective)
    right, found = saddle.readout, saddle.moments
    assert is_stationary(LAW, objective, right, found)
    wrong = {
        "spread": (0.8 * right.spread, 0.0, math.nan),
        "along_query": (1.3 * right.along_query,),
        "along_rest": (1.3 * right.along_rest,),
        "bias": (right.bias + 0.3,),
        "log_step": (right.log_step + 0.2,),
    }
    for name, values in wrong.items():
        for value in values:
            assert not is_stationary(LAW, objective, right._replace(**{name: value}), found)


def test_a_system_that_is_not_finite_has_no_solution():
    assert np.isnan(solve_scaled(np.full((2, 2), np.nan), np.ones(2))).all()


def test_a_grid_too_coarse_is_noticed(monkeypatch):
    """Averages that are off by a tenth let the solver converge, but not pass the second look."""
    law = attention_law(SparseTokenProblem(10, 1, 4.0, 0.4), Softmax(), 0.7, 1.0, 4096)
    exact = ReadoutObjective(law.points, Logistic(), 0.7, 1e-3)

    def off(average, *arguments):
        return 1.1 * np.stack(average(arguments[0], *arguments[1:3]))

    monkeypatch.setattr("sparsetoken.theory.smoothing.interpolate", off)
    coarse = exact._replace(resolution=3.0)
    saddle = solve(coarse)
    assert saddle.converged
    assert not is_stationary(law, coarse, saddle.readout, saddle.moments)
