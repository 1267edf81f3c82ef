"""A float with its error bar."""

import pickle

import numpy as np
import pytest

from sparsetoken.estimate import (
    ConvergenceWarning,
    Estimate,
    standard_error,
    warn_not_converged,
)


def test_is_a_float_with_facts():
    estimate = Estimate(3.5, 0.01, sharpness=2.0)
    assert estimate == 3.5
    assert type(estimate + 1) is float
    assert (estimate.uncertainty, estimate.converged, estimate.sharpness) == (0.01, True, 2.0)
    assert repr(estimate) == "Estimate(3.5 ± 0.01)"
    assert repr(Estimate(3.5, 0.01, False)) == "Estimate(3.5 ± 0.01, not converged)"
    copied = pickle.loads(pickle.dumps(estimate))
    assert (copied, vars(copied)) == (estimate, vars(estimate))


def test_standard_error_is_that_of_the_mean_of_batches():
    values = np.random.default_rng(0).standard_normal((5000, 8, 3))
    errors = np.array([standard_error(batches) for batches in values])
    assert errors.shape == (5000, 3)
    assert (errors**2).mean() == pytest.approx(values.mean(axis=1).var(), rel=0.05)


def test_what_did_not_converge_is_named():
    with pytest.warns(ConvergenceWarning, match="the risk did not converge"):
        warn_not_converged("the risk")
