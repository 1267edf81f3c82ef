"""New samples at every step, and one sample at a time."""

import numpy as np

from sparsetoken import SparseTokenProblem
from sparsetoken.theory import training
from theory.open.dense_descent import NAMES


def test_online_is_the_limit_of_many_small_fresh_batches():
    """A batch of α/k samples per dimension with rates times α/k is k-th of the way; k → ∞."""
    problem, options = SparseTokenProblem(5, 1, 3.0), {"n_points": 4096}
    rates = {"lr_query": 3.0, "lr_readout": 1.0, "lr_bias": 1.0}
    online = training(problem, steps=1, alpha=1.0, batches="online", **rates, **options)

    def gap(k):
        small = {name: rate / k for name, rate in rates.items()}
        t = training(problem, steps=k, alpha=1.0 / k, **small, **options)
        return np.array([getattr(t, n)[-1] - getattr(online, n)[-1] for n in NAMES])

    coarse, fine = gap(20), gap(40)
    assert np.abs(fine).max() < 0.1
    assert np.abs(2 * fine - coarse).max() < 0.1 * np.abs(coarse).max()  # first order in 1/k
