"""Sizes of test sets, against published formulas and against simulation."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import sparsetoken as st

TRIALS = 4000


def auc(positive, negative):
    """Area of each row of scores."""
    scores = np.concatenate([positive, negative], axis=1)
    ranks = scores.argsort(axis=1).argsort(axis=1)[:, : positive.shape[1]]
    return (ranks.mean(axis=1) - (positive.shape[1] - 1) / 2) / negative.shape[1]


def recall(positive, negative, fpr):
    threshold = np.quantile(negative, 1 - fpr, axis=1, keepdims=True)
    return (positive > threshold).mean(axis=1)


def agrees(values, width, extra=0.0):
    """Whether the deviation of simulated tests gives the width, in standard errors."""
    simulated = 2 * 1.96 * np.std(values)
    return abs(simulated - width) < 4 * simulated / math.sqrt(2 * len(values)) + extra * width


@pytest.mark.parametrize("rate", [0.5, 0.1])
@pytest.mark.parametrize("value", [0.65, 0.8, 0.95])
def test_auc_is_that_of_riley(value, rate):
    """Their formula, solved by trying all numbers."""
    n = np.arange(10, 50_000)
    bracket = 1 + (n / 2 - 1) * ((1 - value) / (2 - value) + value / (1 + value))
    error = np.sqrt(value * (1 - value) * bracket / (n**2 * rate * (1 - rate)))
    expected = n[np.argmax(2 * 1.959964 * error <= 0.1)]
    size = st.plan.test_size("auc", value=value, width=0.1, positive_rate=rate)
    assert size.n_samples == pytest.approx(expected, rel=0.02)  # whole positives


def test_auc_of_equal_classes_is_that_of_hanley_and_mcneil():
    size = st.plan.test_size("auc", value=0.9, width=0.08)
    n, a = size.n_positive, 0.9
    q1, q2 = a / (2 - a), 2 * a**2 / (1 + a)
    variance = (a * (1 - a) + (n - 1) * (q1 - a**2 + q2 - a**2)) / n**2
    assert size.width == pytest.approx(2 * 1.959964 * math.sqrt(variance), rel=0.01)


@pytest.mark.parametrize("value", [0.75, 0.9])
def test_auc_agrees_with_simulation(value):
    size = st.plan.test_size("auc", value=value, width=0.12)
    rng = np.random.default_rng(0)
    distance = math.sqrt(2) * _quantile(value)
    positive = rng.standard_normal((TRIALS, size.n_positive)) + distance
    values = auc(positive, rng.standard_normal((TRIALS, size.n_negative)))
    assert agrees(values, size.width, extra=0.05)  # the formula is not for Gaussian scores


def _quantile(p):
    from scipy.special import ndtri

    return float(ndtri(p))


@pytest.mark.parametrize(("value", "fpr", "rate"), [(0.8, 0.01, 0.5), (0.6, 0.05, 0.2)])
def test_recall_agrees_with_simulation(value, fpr, rate):
    options = {"value": value, "fpr": fpr, "positive_rate": rate}
    size = st.plan.test_size("recall", **options, width=0.1)
    rng = np.random.default_rng(0)
    distance = _quantile(value) - _quantile(fpr)
    values = [
        recall(
            rng.standard_normal((50, size.n_positive)) + distance,
            rng.standard_normal((50, size.n_negative)),
            fpr,
        )
        for _ in range(TRIALS // 100)
    ]
    assert agrees(np.concatenate(values), size.width, extra=0.03)
    assert size.n_positive == pytest.approx(rate * size.n_samples, abs=1)


def test_accuracy_is_that_of_wilson():
    for metric in ("accuracy", "error"):
        size = st.plan.test_size(metric, value=0.9, width=0.05)
        n, p, z = size.n_samples, 0.9, 1.959964
        wilson = 2 * z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        assert size.width == pytest.approx(wilson)
        assert size.width <= 0.05
        assert n == pytest.approx(4 * z**2 * p * (1 - p) / 0.05**2, rel=0.02)
    low, high = size.interval
    assert high - low == pytest.approx(size.width)
    assert low < 0.9 < high
    covered = []
    rng = np.random.default_rng(0)
    for p in rng.binomial(n, 0.9, TRIALS) / n:
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        covered.append(abs(middle - 0.9) <= half)
    assert np.mean(covered) == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / TRIALS) + 0.01)


def test_one_sample_less_is_not_enough():
    size = st.plan.test_size("auc", value=0.8, width=0.1, positive_rate=0.3)
    assert size.width <= 0.1 < replace(size, n_positive=size.n_positive - 1).width


@pytest.mark.parametrize(("metric", "value"), [("auc", 0.99), ("auc", 0.01), ("recall", 0.005)])
def test_intervals_end_at_nothing_and_at_all(metric, value):
    size = st.plan.test_size(metric, value=value, width=0.1)
    low, high = size.interval
    assert 0.0 <= low < value < high <= 1.0
    assert (low, high) == pytest.approx(
        (max(value - size.width / 2, 0), min(value + size.width / 2, 1))
    )


def test_few_alarms_do_not_place_a_threshold():
    size = st.plan.test_size("recall", value=0.8, fpr=0.01, width=0.9)
    assert size.n_negative * 0.01 >= 5


def test_summary_json_picture_and_report():
    size = st.plan.test_size("recall", value=0.8, fpr=0.05, width=0.1)
    assert size.summary().startswith(size.answer)
    data = json.loads(json.dumps(size.to_dict()))
    assert data["n_samples"] == size.n_positive + size.n_negative
    assert data["interval"] == pytest.approx([0.75, 0.85], abs=0.001)
    assert size.plot().axes[0].get_xlabel() == "test samples"
    text = size.report(markdown=True)
    assert "## Assumptions" in text
    assert "quantile of the tested negatives" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "f1"}, "metric must be one of 'error', 'accuracy', 'auc', 'recall'"),
        ({"value": 1.0}, "value must be"),
        ({"width": 0.0}, "width must be"),
        ({"width": 1e-9}, "width must be larger"),
        ({"positive_rate": 0.0}, "positive_rate must be"),
        ({"level": 2}, "level must be"),
        ({"width": None}, "one of width and null must be given, got neither"),
        ({"null": 0.7}, "one of width and null must be given, got both"),
        ({"width": None, "null": 0.8}, "null must differ from value"),
        ({"width": None, "null": 0.7, "power": 1}, "power must be"),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        st.plan.test_size(**{"metric": "auc", "value": 0.8, "width": 0.1, **change})


@pytest.mark.parametrize(("value", "null"), [(0.85, 0.75), (0.7, 0.5)])
def test_power_of_a_test_of_the_auc_agrees_with_simulation(value, null):
    """Scores of two Gaussians; the test rejects where the area is far from the null value."""
    plan = st.plan.test_size("auc", value=value, null=null, power=0.8)
    fewer = st.plan.test_size("auc", value=value, null=null, power=0.7)
    assert fewer.n_samples < plan.n_samples
    assert fewer.power == pytest.approx(0.7, abs=0.01)
    rng, shape = np.random.default_rng(0), (TRIALS, plan.n_positive)
    positive = rng.standard_normal(shape) + math.sqrt(2) * _quantile(value)
    areas = auc(positive, rng.standard_normal((TRIALS, plan.n_negative)))
    bar = math.sqrt(plan._variance(null))
    found = np.mean(np.abs(areas - null) > 1.959964 * bar)
    assert found == pytest.approx(0.8, abs=0.03)  # the formula is not for Gaussian scores


def test_power_of_a_test_of_an_accuracy_is_that_of_textbooks():
    """n = (z₁√(p₀q₀) + z₂√(p₁q₁))²/(p₁ − p₀)²: 0.5 against 0.6 with 80 % power takes 194."""
    plan = st.plan.test_size("accuracy", value=0.6, null=0.5, power=0.8)
    assert plan.n_samples == 194
    assert "tells an accuracy of 0.6 from 0.5 with 80 % power" in plan.answer
    assert plan.to_dict()["curve"]["power"][2] == pytest.approx(plan.power)
    assert plan.plot().axes[0].get_ylabel() == "power"
