import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from sparsetoken.estimators.minimize import minimize_many


def test_each_objective_reaches_its_own_minimum():
    """Quadratics of very different scale and the valley of Rosenbrock, together."""
    rng = np.random.default_rng(0)
    scales, centers = np.geomspace(1e-3, 1e3, 5)[:, np.newaxis], rng.standard_normal((5, 4))
    curvature = np.array([1.0, 3.0, 10.0, 30.0])
    asked = []

    def objective(points, which):
        asked.append(len(which))
        values, gradients = np.empty(len(which)), np.empty((len(which), 4))
        for row, k in enumerate(which):
            if k == 5:
                values[row], gradients[row] = rosen(points[row]), rosen_der(points[row])
            else:
                away = points[row] - centers[k]
                values[row] = scales[k, 0] * (1.0 + curvature @ away**2)
                gradients[row] = 2.0 * scales[k] * curvature * away
        return values, gradients

    found = minimize_many(objective, np.zeros((6, 4)), 300, 1e-12)
    assert found[:5] == pytest.approx(centers, abs=1e-4)
    assert found[5] == pytest.approx(np.ones(4), abs=1e-3)
    assert asked[0] == 6
    assert asked[-1] == 1  # those that are finished are left alone
    reference = minimize(rosen, np.zeros(4), jac=rosen_der, method="L-BFGS-B")
    assert len(asked) < 3 * reference.nfev


def test_steps_and_starts():
    def objective(points, which):
        return (points**2).sum(axis=1), 2.0 * points

    start = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert np.array_equal(minimize_many(objective, start, 5, 1e-9)[0], [0.0, 0.0])
    one = minimize_many(objective, start, 1, 0.0)
    assert one[1] == pytest.approx([2.4, 3.2])  # the first step has length one


def test_a_step_into_infinity_is_taken_back():
    def objective(points, which):
        with np.errstate(all="ignore"):
            values = -np.log(1.0 - points[:, 0] ** 2) + 0.1 * points[:, 0]
            return values, (2.0 * points / (1.0 - points**2) + 0.1)

    found = minimize_many(objective, np.array([[0.9]]), 100, 1e-12)
    assert found[0, 0] == pytest.approx(-0.05, abs=1e-3)
