"""Problems, pilots and learning curves that several tests plan with."""

import numpy as np

import sparsetoken as st
from sparsetoken.planner.metric import get_metric

ROUND_TRIP = 0.01  # of the target, as documented
EASY = {"dim": 100, "n_tokens": 10, "n_signal": 2, "signal": 4.0, "positive_rate": 0.4}
EASY |= {"model": "two-step"}
POOLED = {"dim": 50, "n_tokens": 4, "n_signal": 2, "signal": 3.0, "positive_rate": 0.4}
MIXED = st.Population(
    [st.SparseTokenProblem(4, 2, 3.0, 0.4), st.SparseTokenProblem(12, 2, 5.0, 0.4)],
    shares=[0.6, 0.4],
    label_errors=(0.05, 0.02),
)
PROBLEM = st.SparseTokenProblem(n_tokens=4, n_signal=2, signal=3.0)
CHEAP = st.PooledClassifier(reg=0.1)
ERROR, AUC, RECALL = (get_metric(name, 0.1) for name in ("error", "auc", "recall"))
SIZES = [20, 40, 80, 160, 320]
ERRORS = [0.38, 0.3, 0.22, 0.17, 0.13]


def power_law(n):
    return 0.03 + 1.2 * np.asarray(n, dtype=float) ** -0.5


def drawn(errors, rng, n_test=500, noise=0.01):
    """Errors of tests and of draws of training samples around a curve."""
    angle = np.arcsin(np.sqrt(errors)) + noise * rng.standard_normal(np.shape(errors))
    return rng.binomial(n_test, np.sin(angle) ** 2) / n_test
