"""The metrics that can be planned for."""

import numpy as np
import pytest

import sparsetoken as st
from planner.examples import (
    AUC,
    ERROR,
    RECALL,
    ROUND_TRIP,
)
from sparsetoken.planner.curves import PILOT, LearningCurves


def test_auc_of_rare_positives():
    rare = {"dim": 500, "n_tokens": 5, "signal": 3.0, "positive_rate": 0.1, "metric": "auc"}
    plan = st.plan(**rare, error=0.05, model="pooled", n_signal=2)
    assert plan.limit_error == plan.error == pytest.approx(0.05, rel=ROUND_TRIP)
    assert "AUC of 0.95" in plan.answer
    assert "bayes" not in plan.alternatives


@pytest.mark.statistical
def test_recall_at_a_false_positive_rate():
    asked = {"dim": 200, "n_tokens": 4, "n_signal": 2, "signal": 4.5, "model": "pooled"}
    plan = st.plan(**asked, error=0.1, metric="recall", fpr=0.05)
    assert 1 - plan.error == pytest.approx(0.9, abs=0.01)
    assert 0.05 < plan.limit_error < plan.error  # 31 samples: chance costs some
    assert "a recall of 0.9 at 5 % false positives" in plan.answer
    stricter = st.plan(**asked, error=0.1, metric="recall", fpr=0.01)
    assert stricter.n_samples > plan.n_samples


def test_curves_are_those_of_their_gaussians():
    """The closed forms against drawn scores, the error with every threshold tried."""
    rng = np.random.default_rng(0)
    size = np.array([1.0])
    for rate in (0.5, 0.2):
        curves = LearningCurves(rng.standard_normal((4, 8)), rate, PILOT)
        curves.ranking = curves.tail = 0.0
        errors = [curves.error(metric, size)[:, 0] for metric in (ERROR, AUC, RECALL)]
        distances, free = curves.distance(size)[:, 0], curves.signal_free[:, 0]
        for error, auc, recall, distance, signal_free in zip(*errors, distances, free, strict=True):
            n = 200_000
            positive = rng.random(n) < rate
            speaks = positive & (rng.random(n) >= signal_free)
            scores = rng.standard_normal(n) + distance * speaks
            order = np.argsort(scores)
            below = np.concatenate([[0], np.cumsum(positive[order])])
            wrong = below + (n - positive.sum()) - (np.arange(n + 1) - below)
            assert error == pytest.approx(wrong.min() / n, abs=0.004)
            ranks = np.empty(n)
            ranks[order] = np.arange(n)
            pairs = ranks[positive].mean() - (positive.sum() - 1) / 2
            assert 1 - auc == pytest.approx(pairs / np.sum(~positive), abs=0.006)
            threshold = np.quantile(scores[~positive], 0.9)
            assert 1 - recall == pytest.approx(np.mean(scores[positive] > threshold), abs=0.008)
