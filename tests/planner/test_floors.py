"""What cannot be reached, and what no learner does with fewer samples."""

import re

import pytest

import sparsetoken as st
from planner.examples import (
    POOLED,
)
from sparsetoken.planner import UnreachableError


def test_impossible_requests_say_why_and_what_would_help():
    hopeless = {"dim": 100, "n_tokens": 50, "signal": 6.0}
    with pytest.raises(
        UnreachableError, match=r"floor is 0\.336 at any sample size.*two-step reaches it"
    ):
        st.plan(**hopeless, error=0.05, model="pooled")
    with pytest.raises(UnreachableError, match=r"Bayes floor 0\.00[0-9]+.*signal above"):
        st.plan(**hopeless, error=0.002)
    with pytest.raises(
        UnreachableError, match=r"even at n_tokens 2, the easiest.*more samples would help"
    ):
        st.plan(n_samples=20, dim=500, n_signal=2, signal=0.5, error=0.01, model="pooled")
    with pytest.raises(UnreachableError, match=r"met by pooled even at dim 5e\+06, the hardest"):
        st.plan(n_samples=50, n_tokens=1, n_signal=1, signal=1e4, error=0.4, model="pooled")
    with pytest.raises(UnreachableError, match=r"at any positive_rate from 0\.5 to 0\.5"):
        st.plan(
            n_samples=20,
            dim=500,
            n_tokens=5,
            signal=1.0,
            positive_rate=None,
            error=0.1,
            metric="auc",
            model="pooled",
        )
    with pytest.raises(UnreachableError, match="always predicting the commoner class"):
        st.plan(
            n_samples=200,
            dim=500,
            n_tokens=5,
            signal=1.0,
            positive_rate=None,
            error=0.1,
            model="pooled",
        )


def test_a_floor_is_told_from_bayes_by_error_bars():
    """Attention with the best weights is next to Bayes: their order within error bars is noise."""
    with pytest.raises(UnreachableError) as failure:
        st.plan(dim=50, n_tokens=30, signal=1.5, error=0.4)
    text = str(failure.value)
    floors = re.search(
        r"floor is ([0-9.]+) at any.*Bayes floor ([0-9.]+) \(two-step reaches it\)", text
    )
    assert floors, text


@pytest.mark.parametrize("metric", ["error", "auc", "recall"])
def test_no_learner_does_with_fewer(metric):
    plan = st.plan(**POOLED, n_samples=200, metric=metric, model="pooled")
    least = plan.least_samples
    assert 1 < least < 200

    def shortfall(n_samples):
        best = st.theory.optimal(plan.problem, n_samples / POOLED["dim"])
        reached = {"error": best.test_error, "auc": 1 - best.auc, "recall": 1 - best.recall(0.01)}
        return reached[metric]

    assert shortfall(least) <= plan.error < shortfall(least - 1)
    assert plan.alternatives["optimal"] == pytest.approx(shortfall(200))
    sentence = (
        f"with fewer than {least} labelled sequences; pooled takes {200 / least:.2g} times as many."
    )
    assert plan.floor.endswith(sentence)
    for text in (plan.summary(), plan.report(), plan.to_dict()["floor"]):
        assert plan.floor in text
    assert plan.to_dict()["least_samples"] == least
