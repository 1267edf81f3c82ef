import math

import numpy as np

from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.pooling import Softmax
from sparsetoken.theory.points import attention_law
from sparsetoken.theory.saddle import ReadoutObjective
from sparsetoken.theory.solver import solve
from sparsetoken.theory.verification import is_stationary

LAW = attention_law(SparseTokenProblem(10, 1, 4.0, 0.4), Softmax(), 0.7, 1.0, 512)


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
        "log_chi": (right.log_chi + 0.2,),
    }
    for name, values in wrong.items():
        for value in values:
            assert not is_stationary(LAW, objective, right._replace(**{name: value}), found)


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
