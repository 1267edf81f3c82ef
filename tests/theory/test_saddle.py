import math

import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.law import Readout
from sparsetoken.losses import Hinge, Logistic, Square
from sparsetoken.pooling import Softmax
from sparsetoken.theory.points import attention_law
from sparsetoken.theory.saddle import ReadoutObjective, evaluate

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
    names = Readout._fields[:size] + (("log_chi",) if math.isfinite(alpha) else ())
    step = 1e-5
    for index, name in enumerate(names):
        plus, minus = (
            evaluate(objective, readout._replace(**{name: getattr(readout, name) + sign * step}))[0]
            for sign in (1, -1)
        )
        slope = (plus.value - minus.value) / (2 * step)
        curvature = (plus.gradient - minus.gradient) / (2 * step)
        if name == "log_chi":
            assert here.step_gradient == pytest.approx(slope, rel=1e-6, abs=1e-9)
            assert here.cross == pytest.approx(curvature, rel=1e-4, abs=1e-6)
            second = (plus.step_gradient - minus.step_gradient) / (2 * step)
            assert here.step_hessian == pytest.approx(second, rel=1e-4, abs=1e-6)
            excess = (plus.excess - minus.excess) / (2 * step)
            assert here.excess_slope == pytest.approx(excess, rel=1e-4)
        else:
            assert here.gradient[index] == pytest.approx(slope, rel=1e-6, abs=1e-9)
            assert here.hessian[index] == pytest.approx(curvature, rel=1e-4, abs=1e-6)
