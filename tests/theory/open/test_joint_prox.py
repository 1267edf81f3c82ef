"""The fit of one sample to query and readout."""

import numpy as np
import pytest

from sparsetoken.losses import Logistic, Square
from sparsetoken.theory.open.joint_prox import Objective, evaluate, minimize, responses


@pytest.mark.parametrize("loss", [Logistic(), Square()], ids=repr)
def test_fit_of_one_sample(loss):
    rng = np.random.default_rng(0)
    prior = rng.standard_normal((30, 2, 4))
    objective = Objective(prior, np.array([[1.5, 0.3], [0.3, 0.8]]), -1.0, 0.2, 1.3, loss)
    h = minimize(objective, prior)
    place, response = responses(objective, h)
    assert np.abs(place.gradient).max() < 1e-8
    assert np.linalg.eigvalsh(place.hessian).min() > 0  # minima, not saddles
    # Derivatives against differences.
    step = 1e-6 * rng.standard_normal(h.shape)
    there, back = (evaluate(objective, h + 0.3 + s) for s in (step, -step))
    here = evaluate(objective, h + 0.3)
    assert there.value - back.value == pytest.approx(
        2 * np.einsum("nkl,nkl->n", here.gradient, step), rel=1e-4, abs=1e-12
    )
    change = (there.gradient - back.gradient).reshape(30, -1)
    expected = 2 * np.einsum("nij,nj->ni", here.hessian, step.reshape(30, -1))
    assert change == pytest.approx(expected, rel=1e-4, abs=1e-11)
    near = (objective._replace(prior=prior + s) for s in (step, -step))
    moved = [evaluate(one, minimize(one, h)).influence for one in near]
    expected = 2 * np.einsum("nklij,nij->nkl", response, step)
    assert moved[0] - moved[1] == pytest.approx(expected, rel=1e-3, abs=1e-9)
