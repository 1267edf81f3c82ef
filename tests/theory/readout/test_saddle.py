import math

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.law import Readout
from sparsetoken.losses import Hinge, Logistic, Square
from sparsetoken.pooling import Softmax
from sparsetoken.theory.features import attention_law
from sparsetoken.theory.readout.saddle import ReadoutObjective, evaluate, is_stationary
from sparsetoken.theory.readout.solver import solve

LAW = attention_law(SparseTokenProblem(10, 1, 4.0, 0.4), Softmax(), 0.7, 1.0, 512)


each_loss = pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)


@each_loss
@pytest.mark.parametrize("alpha", [0.7, math.inf])
def test_derivatives_match_differences(loss, alpha):
    objective = ReadoutObjective(LAW.points, loss, alpha, 0.03)
    readout = Readout(0.8, -0.5, 0.3, 0.9, 0.4)
    if math.isinf(alpha):
        readout = readout._replace(spread=0.0)
    here = evaluate(objective, readout)
    size = here.gradient.size
    names = Readout._fields[:size] + (("log_chi",) if math.isfinite(alpha) else ())
    step = 1e-5
    for index, name in enumerate(names):
        plus, minus = (
            evaluate(objective, readout._replace(**{name: getattr(readout, name) + sign * step}))
            for sign in (1, -1)
        )
        slope = (plus.value - minus.value) / (2 * step)
        curvature = (plus.gradient - minus.gradient) / (2 * step)
        if name == "log_chi":
            assert here.chi_gradient == pytest.approx(slope, rel=1e-6, abs=1e-9)
            assert here.cross == pytest.approx(curvature, rel=1e-4, abs=1e-6)
            second = (plus.chi_gradient - minus.chi_gradient) / (2 * step)
            assert here.chi_hessian == pytest.approx(second, rel=1e-4, abs=1e-6)
            excess = (plus.excess - minus.excess) / (2 * step)
            assert here.excess_slope == pytest.approx(excess, rel=1e-4)
        else:
            assert here.gradient[index] == pytest.approx(slope, rel=1e-6, abs=1e-9)
            assert here.hessian[index] == pytest.approx(curvature, rel=1e-4, abs=1e-6)


def test_a_wrong_solution_fails_the_second_look():
    objective = ReadoutObjective(LAW.points, Logistic(), 0.7, 1e-3)
    saddle = solve(objective)
    right = saddle.readout
    assert is_stationary(LAW, saddle.done, right)
    wrong = {
        "spread": (0.8 * right.spread, 0.0, math.nan),
        "along_query": (1.3 * right.along_query,),
        "along_rest": (1.3 * right.along_rest,),
        "bias": (right.bias + 0.3,),
        "log_chi": (right.log_chi + 0.2,),
    }
    for name, values in wrong.items():
        for value in values:
            assert not is_stationary(LAW, saddle.done, right._replace(**{name: value}))


def test_a_grid_too_coarse_is_noticed(monkeypatch):
    """Averages that are off by a tenth let the solver converge, but not pass the second look."""
    law = attention_law(SparseTokenProblem(10, 1, 4.0, 0.4), Softmax(), 0.7, 1.0, 4096)
    exact = ReadoutObjective(law.points, Logistic(), 0.7, 1e-3)

    def off(average, *arguments):
        return 1.1 * np.stack(average(arguments[0], *arguments[1:3]))

    monkeypatch.setattr("sparsetoken.theory.envelope_averages.interpolate", off)
    coarse = exact._replace(resolution=3.0)
    saddle = solve(coarse)
    assert saddle.converged
    assert not is_stationary(law, saddle.done, saddle.readout)
