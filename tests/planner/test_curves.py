"""Plans from learning curves alone."""

import json

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.planner.curves import LearningCurves
from sparsetoken.planner.metric import get_metric
from sparsetoken.planner.tuned import CURVE

SIZES = [20, 40, 80, 160, 320]
ERRORS = [0.38, 0.3, 0.22, 0.17, 0.13]


@pytest.fixture(scope="module")
def plan():
    return st.plan.from_curve(SIZES, ERRORS, n_test=500, error=0.1)


def power_law(n):
    return 0.03 + 1.2 * np.asarray(n, dtype=float) ** -0.5


def drawn(errors, rng, n_test=500, noise=0.01):
    """Errors of tests and of draws of training samples around a curve."""
    angle = np.arcsin(np.sqrt(errors)) + noise * rng.standard_normal(np.shape(errors))
    return rng.binomial(n_test, np.sin(angle) ** 2) / n_test


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


def test_power_laws_are_predicted_by_intervals_that_hold():
    """Of a family that is not ours, with test noise: eight in ten, and not by being wide."""
    rng = np.random.default_rng(0)
    sizes, ahead = np.geomspace(10, 200, 9).round(), np.array([400.0, 800.0])
    held, off = [], []
    for _ in range(20):
        errors = drawn(power_law(sizes), rng)
        table = st.plan.from_curve(sizes, errors, n_test=500, error=0.05).predict(ahead)
        held.append((table[:, 0] <= power_law(ahead)) & (power_law(ahead) <= table[:, 2]))
        off.append(np.abs(np.log(table[:, 1] / power_law(ahead))))
    assert np.mean(held) > 0.7
    assert np.median(off) < 0.2  # the error falls by a third to 400, by half to 800


def test_curves_of_the_family_are_predicted():
    rng = np.random.default_rng(1)
    sizes, error = np.geomspace(5, 100, 10).round(), get_metric("error")
    held = []
    for _ in range(20):
        curves = LearningCurves(rng.standard_normal((1, 8)), 0.5, CURVE)
        errors = drawn(curves.shortfall(error, sizes / 100)[0], rng)
        true = curves.shortfall(error, np.array([2.0, 4.0]))[0]
        table = st.plan.from_curve(sizes, errors, n_test=500, error=0.01).predict([200, 400])
        held.append((table[:, 0] <= true) & (true <= table[:, 2]))
    # 80 % nominal; 20 curves are three binomial errors of 27 %. The misfit that is allowed for
    # makes it more.
    assert np.mean(held) > 0.6


def test_tests_of_few_samples_say_less():
    plans = [st.plan.from_curve(SIZES, ERRORS, n_test=n, error=0.1) for n in (50, 5000)]
    widths = [np.diff(plan.predict([640])[0, [0, 2]])[0] for plan in plans]
    assert widths[0] > 1.2 * widths[1]


def test_repeats_say_more_than_one_draw_and_less_than_as_many_sizes():
    rng = np.random.default_rng(0)
    sizes = np.array([20, 40, 80, 160, 320])
    errors = drawn(power_law(sizes)[:, np.newaxis].repeat(6, axis=1), rng, 2000, noise=0.06)
    once = st.plan.from_curve(sizes, errors[:, 0], n_test=2000, error=0.06)
    often = st.plan.from_curve(sizes, errors, n_test=2000, error=0.06)
    widths = [np.diff(plan.predict([640])[0, [0, 2]])[0] for plan in (once, often)]
    assert widths[1] < widths[0]
    flat = st.plan.from_curve(np.repeat(sizes, 6), errors.ravel(), n_test=2000, error=0.06)
    assert flat.predict([640]) == pytest.approx(often.predict([640]))
    holes = np.column_stack([errors, np.full(5, np.nan)])
    left_out = st.plan.from_curve(sizes, holes, n_test=2000, error=0.06)
    assert left_out.predict([640]) == pytest.approx(often.predict([640]))


def test_ranks_alone_and_with_errors():
    aucs = [0.66, 0.77, 0.86, 0.91, 0.945]
    ranks = st.plan.from_curve(SIZES, aucs=aucs, n_test=500, error=0.03, metric="auc")
    assert "for an AUC of 0.97" in ranks.answer
    assert ranks.predict([320])[0, 1] == pytest.approx(0.055, abs=0.015)
    both = st.plan.from_curve(SIZES, ERRORS, aucs=aucs, n_test=500, error=0.1)
    alone = st.plan.from_curve(SIZES, aucs=aucs, n_test=500, error=0.1)
    width = [np.diff(plan.predict([640])[0, [0, 2]])[0] for plan in (both, alone)]
    assert width[0] < width[1]
    assert "test error was not measured" in alone.trust
    recalls = [0.02, 0.06, 0.15, 0.3, 0.45]
    options = {"metric": "recall", "fpr": 0.01, "n_test": 500, "error": 0.4}
    inferred = st.plan.from_curve(SIZES, ERRORS, aucs=aucs, **options)
    measured = st.plan.from_curve(SIZES, ERRORS, aucs=aucs, recalls=recalls, **options)
    assert "was not measured" in inferred.trust
    assert "was not measured" not in measured.trust
    assert measured.predict([320])[0, 1] == pytest.approx(0.55, abs=0.1)


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"errors": None}, "errors, aucs or recalls must be given"),
        ({"errors": ERRORS[:-1]}, "errors must have a row for each of the 5 sizes"),
        ({"errors": [1.2, *ERRORS[1:]]}, r"errors must be in \[0, 1\], got \[1.2"),
        ({"errors": ["low"] * 5}, "errors must be numbers, got"),
        ({"sizes": {"a": 1}}, "sizes must be numbers, got"),
        ({"sizes": [0, *SIZES[1:]]}, "sizes must be a row of numbers of samples >= 1"),
        ({"sizes": [20] * 5}, "sizes must have two different ones"),
        ({"n_test": 0}, "n_test must be an integer >= 2, got 0"),
        ({"error": 0.6}, "error must be below 0.5"),
        ({"error": 0.6, "metric": "auc"}, "error must be below 0.5"),
        ({"chance": 0.0}, "chance must be"),
        ({"metric": "f1"}, "metric must be one of"),
    ],
)
def test_bad_arguments_are_named(change, message):
    given = {"sizes": SIZES, "errors": ERRORS, "n_test": 500, "error": 0.1, **change}
    with pytest.raises(ValueError, match=message):
        st.plan.from_curve(**given)
