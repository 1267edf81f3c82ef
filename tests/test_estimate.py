"""A float with its error bar."""

import copy
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
    for copied in (pickle.loads(pickle.dumps(estimate)), copy.deepcopy(estimate)):
        assert (copied, vars(copied)) == (estimate, vars(estimate))


def test_error_bars_of_batches_are_computed_when_asked_for():
    asked = []

    def batches():
        asked.append(True)
        return [1.0, 2.0, 3.0]

    estimate = Estimate.from_batches(2.0, batches, beside=0.5, converged=False)
    assert estimate == 2.0
    assert not asked
    assert estimate.uncertainty == pytest.approx(np.hypot(1.0 / np.sqrt(3.0), 0.5))
    assert estimate.uncertainty == pickle.loads(pickle.dumps(estimate)).uncertainty
    assert len(asked) == 1
    assert not estimate.converged
    one = Estimate.from_batches(2.0, [2.0], beside=1e-8)  # from one batch nothing can be told
    assert one.uncertainty == 1e-8


def test_standard_error_is_that_of_the_mean_of_batches():
    values = np.random.default_rng(0).standard_normal((5000, 8, 3))
    errors = np.array([standard_error(batches) for batches in values])
    assert errors.shape == (5000, 3)
    assert (errors**2).mean() == pytest.approx(values.mean(axis=1).var(), rel=0.05)


def test_what_did_not_converge_is_named():
    with pytest.warns(ConvergenceWarning, match="the risk did not converge"):
        warn_not_converged("the risk")
