import numpy as np
import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.law import Readout, linear_law
from sparsetoken.losses import Hinge, Logistic, Square
from sparsetoken.pooling import Softmax
from sparsetoken.theory.features import attention_law
from sparsetoken.theory.readout.saddle import ReadoutObjective
from sparsetoken.theory.readout.solver import (
    continue_from_strong_ridge,
    descend,
    newton,
    solve,
    solve_scaled,
)

LAW = attention_law(SparseTokenProblem(10, 1, 4.0, 0.4), Softmax(), 0.7, 1.0, 512)


each_loss = pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)


@each_loss
@pytest.mark.parametrize(("alpha", "reg"), [(0.5, 1e-6), (2.0, 1e-2), (30.0, 1e-4), (1.0, 100.0)])
def test_all_methods_find_the_same_point(loss, alpha, reg):
    objective = ReadoutObjective(LAW.points, loss, alpha, reg)
    best = solve(objective)
    assert best.converged
    found = [continue_from_strong_ridge(objective)]
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


def test_a_system_that_is_not_finite_has_no_solution():
    assert np.isnan(solve_scaled(np.full((2, 2), np.nan), np.ones(2))).all()
