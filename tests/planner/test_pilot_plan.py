"""What a plan from measured performance says."""

import json

import numpy as np
import pytest

import sparsetoken as st
from planner.examples import (
    CHEAP,
    ERRORS,
    PROBLEM,
    SIZES,
    drawn,
    power_law,
)


@pytest.fixture(scope="module")
def plan():
    return st.plan.from_curve(SIZES, ERRORS, n_test=500, error=0.1)


def test_answer_interval_and_predictions_agree(weak):
    pilot = st.plan.from_pilot(*weak, error=0.2, estimator=CHEAP)
    low, high = pilot.interval
    assert low <= pilot.n_samples <= high
    lower, median, upper = pilot.predict([low, pilot.n_samples, high]).T
    assert lower[0] == pytest.approx(0.2, rel=0.1)
    assert median[1] == pytest.approx(0.2, rel=0.1)
    assert upper[2] == pytest.approx(0.2, rel=0.1)
    assert np.all((lower <= median) & (median <= upper))
    assert np.all(np.diff(pilot.curve.median) <= 0)
    with pytest.raises(ValueError, match="sizes must be numbers of samples >= 1"):
        pilot.predict([0.0])


def test_the_answer_is_where_the_prediction_meets_the_target(plan):
    low, high = plan.interval or (plan._needed[0], np.inf)
    assert plan.n_samples > 320
    assert low < plan.n_samples < high
    assert plan.predict([plan.n_samples])[0, 1] == pytest.approx(0.1, rel=0.05)
    lower, median, upper = plan.predict([320, 640, 1280]).T
    assert np.all((lower < median) & (median < upper))
    assert np.all(np.diff(median) < 0)
    assert lower[0] < 0.13 < upper[0]
    assert np.all(np.diff(np.log(upper / lower)) > 0)  # the further, the less certain


def test_a_rare_class_is_counted():
    X, y = st.SparseTokenProblem(4, 2, 2.0, 0.15).sample(80, 60, random_state=0)
    plan = st.plan.from_pilot(X, y, error=0.1, metric="auc", estimator=CHEAP)
    more = plan.n_samples - 80
    assert more > 0
    assert plan.more[1] == pytest.approx(more * y.mean(), abs=1)
    assert f"{more} more, {plan.more[1]} of them of the rare class 1" in plan.answer


def pilot_without_signal():
    return st.SparseTokenProblem(5, 1, 0.0).sample(60, 10, random_state=0)


def rare():
    X, _ = PROBLEM.sample(60, 5, random_state=0)
    y = np.arange(60) < 5
    X[y, 0] += 6.0
    return X, y


ODD = {
    "no signal": pilot_without_signal(),
    "four of each class": (PROBLEM.sample(8, 5, random_state=0)[0], np.arange(8) % 2),
    "a rare class": rare(),
    "one token each": (PROBLEM.sample(40, 5, random_state=0)[0][:, :1], np.arange(40) % 2),
    "identical sequences": (np.ones((20, 3, 4)), np.arange(20) % 2),
    "a constant feature": (
        PROBLEM.sample(40, 5, random_state=0)[0] * [1, 1, 0, 1, 1],
        np.arange(40) % 2,
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_no_pilot_breaks_it(name):
    odd = st.plan.from_pilot(*ODD[name], error=0.05, estimator=CHEAP)
    assert odd.trust
    assert odd.answer in odd.summary()
    assert np.all(np.isfinite(odd.predict([100])))
    if name in ("no signal", "identical sequences"):
        assert odd.interval is None
        assert odd.trust.startswith("Little: on the pilot the classifier does not clearly beat")
    odd.plot()


def test_a_curve_that_bends_the_wrong_way_is_said_to():
    peaked = [0.4, 0.3, 0.2, 0.1, 0.12, 0.15, 0.2, 0.22]
    sizes = np.geomspace(10, 400, 8).round()
    plan = st.plan.from_curve(sizes, peaked, n_test=500, error=0.05)
    assert plan.rises == (49, 400)
    assert "the measured error clearly rises between 49 and 400 samples" in plan.trust
    assert plan.trust in plan.report()
    assert plan.to_dict()["rises"] == [49, 400]
    rng = np.random.default_rng(0)
    smooth = power_law(np.geomspace(10, 400, 12))
    rises = [
        st.plan.from_curve(
            np.geomspace(10, 400, 12), drawn(smooth, rng, noise=0.0), n_test=500, error=0.05
        ).rises
        for _ in range(10)
    ]
    assert rises == [None] * 10  # noise alone is not


def test_summary_json_and_picture(pilot):
    text = pilot.summary()
    words = (pilot.answer, "80 % interval", "Trust:", "held out", "expected")
    places = [text.index(word) for word in words]
    assert places == sorted(places)
    data = json.loads(json.dumps(pilot.to_dict()))
    assert data["interval"] == list(pilot.interval)
    (ax,) = pilot.plot().axes
    assert ax.lines[0].get_ydata().tolist() == list(pilot.curve.median)
    assert repr(pilot) == f"PilotPlan({pilot.answer})"


def test_report_has_what_a_protocol_needs(pilot):
    for markdown in (False, True):
        text = pilot.report(markdown=markdown)
        assert pilot.answer in text
        assert f"sparsetoken {st.__version__}" in text
        places = [text.index(w) for w in ("Question", "Assumptions", "Answer", "rests", "Software")]
        assert places == sorted(places)
        assert "PooledClassifier" in text
        assert ("| samples |" in text) is markdown
    assert "80 % interval" in text
    assert "rises" not in text  # only what the numbers support


def test_summary_json_picture_and_report(plan):
    text = plan.summary()
    assert text.startswith(plan.answer)
    assert "measured on 500 test samples at 5 sizes" in text
    data = json.loads(json.dumps(plan.to_dict()))
    assert data["source"] == "curve"
    assert data["more"] is None
    assert [row["error"] for row in data["observed"]] == ERRORS
    assert plan.plot().axes[0].get_ylabel() == "test error"
    assert plan.answer in plan.report(markdown=True)
