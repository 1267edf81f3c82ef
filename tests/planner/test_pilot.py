"""Plans from pilot data, and from learning curves alone."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import sparsetoken as st
from planner.examples import (
    CHEAP,
    ERROR,
    ERRORS,
    PROBLEM,
    SIZES,
    drawn,
    power_law,
)
from sparsetoken.planner.observe import measure, observe


def test_ranks_and_recalls_can_be_planned_for(weak):
    def planned(metric, fpr):
        options = {"metric": metric, "fpr": fpr, "estimator": CHEAP}
        return st.plan.from_pilot(*weak, error=0.25, **options)

    auc, recall, strict = planned("auc", 0.1), planned("recall", 0.1), planned("recall", 0.01)
    assert "The 80 samples of the pilot are enough for an AUC of 0.75" in auc.answer
    assert recall.answer.endswith("; the pilot has 80.")
    assert "a recall of 0.75 at 0.1 false positives" in recall.answer
    assert auc.n_samples < recall.n_samples
    assert "was not measured" not in recall.trust
    assert "1 − recall was not measured: it is inferred from the rest" in strict.trust
    assert strict.predict([80])[0, 1] > recall.predict([80])[0, 1]
    with pytest.raises(ValueError, match="metric must be 'error' with 4 labels in y, got 'auc'"):
        st.plan.from_pilot(weak[0], np.arange(80) % 4, error=0.2, metric="auc")


@pytest.mark.statistical
def test_predictions_come_true():
    """On the data's own law, for the mean over studies: eight in ten intervals have it."""
    _, _, truth = PROBLEM.sample(80, 20, random_state=0, return_truth=True)
    errors = []
    for seed in range(30):
        X, y = PROBLEM.sample(160, 20, random_state=[1, seed], direction=truth.direction)
        fresh = PROBLEM.sample(500, 20, random_state=[2, seed], direction=truth.direction)
        errors.append(1 - CHEAP.fit(X, y).score(*fresh))
    held, widths = [], []
    for seed in range(12):
        X, y = PROBLEM.sample(80, 20, random_state=[3, seed], direction=truth.direction)
        low, _, high = st.plan.from_pilot(X, y, error=0.12, estimator=CHEAP).predict([160])[0]
        held.append(low < np.mean(errors) < high)
        widths.append(high - low)
    assert sum(held) >= 7
    assert np.median(widths) < 1.25 * np.mean(errors)  # about 0.075: not by being wide


def test_observed_errors_do_not_depend_on_the_target(data, pilot):
    other = st.plan.from_pilot(*data, error=0.3, estimator=CHEAP)
    assert other.to_dict()["observed"] == pilot.to_dict()["observed"]
    assert other.n_samples < pilot.n_samples
    moved = st.plan.from_pilot(*data, error=0.3, estimator=CHEAP, random_state=1)
    assert moved.to_dict()["observed"] != pilot.to_dict()["observed"]


def test_progress_counts_the_trainings(data):
    said = []
    st.plan.from_pilot(*data, error=0.2, estimator=CHEAP, effort=0.5, progress=said.append)
    assert said[0] == "training 1 of 20 on parts of the pilot"
    assert len(said) == 21


def test_the_default_is_the_classifier_for_real_data():
    X, y = st.SparseTokenProblem(2, 2, 6.0).sample(16, 3, random_state=0)
    halves = np.argsort(np.argsort(y, kind="stable")) % 2  # two groups: two trainings
    plan = st.plan.from_pilot(X, y, error=0.3, effort=0.1, groups=halves, random_state=0)
    # The seed of the classifier is the second number that the seed of the plan gives.
    seeds = np.random.default_rng(0).integers(2**31, size=2).tolist()
    estimator = st.SparseTokenClassifier(random_state=seeds[1])
    sequences = st.Sequences.from_list(list(X))
    seen = observe(estimator, sequences, y, groups=halves, seeds=seeds[:1])
    assert plan.classifier == "SparseTokenClassifier"
    assert plan._posterior.measurements.shortfalls == pytest.approx(measure(seen).shortfalls)


def test_three_classes_by_errors_alone():
    X, _ = PROBLEM.sample(60, 5, random_state=0)
    y = np.arange(60) % 3
    X[y == 1, :, 0] += 4.0
    X[y == 2, :, 1] += 4.0
    plan = st.plan.from_pilot(X, y, error=0.2, estimator=NearestMean())
    assert plan._posterior.measurements.metrics == (ERROR,)
    assert plan._posterior.measurements.chance == pytest.approx(2 / 3)
    assert plan.interval[1] < 12
    assert plan.trust.startswith("12 samples reach the target already; fewer were not tried")


class NearestMean(ClassifierMixin, BaseEstimator):
    """The class whose mean token is nearest."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        means = np.array([x.mean(axis=0) for x in X])
        self.centers_ = np.array([means[y == c].mean(axis=0) for c in self.classes_])
        return self

    def predict(self, X):
        means = np.array([x.mean(axis=0) for x in X])
        far = np.linalg.norm(means[:, np.newaxis] - self.centers_, axis=2)
        return self.classes_[far.argmin(axis=1)]


def test_bad_arguments_of_a_pilot_are_named(data):
    X, y = data
    with pytest.raises(ValueError, match=r"y must have shape \(80,\), got \(79,\)"):
        st.plan.from_pilot(X, y[:-1], error=0.1)
    with pytest.raises(ValueError, match=r"groups must have shape \(80,\), one per sequence"):
        st.plan.from_pilot(X, y, error=0.1, groups=[0, 1])
    with pytest.raises(ValueError, match="y must have at least two labels, got 1"):
        st.plan.from_pilot(X, np.zeros(80), error=0.1)
    with pytest.raises(ValueError, match="y must have at least 4 samples of True, got 1"):
        st.plan.from_pilot(X, np.arange(80) == 0, error=0.01)
    with pytest.raises(ValueError, match=r"error must be a finite number in \(0, 1\]"):
        st.plan.from_pilot(X, y, error=0.0)
    with pytest.raises(ValueError, match=r"error must be below 0\.4.*commonest class, got 0\.6"):
        st.plan.from_pilot(X, y, error=0.6)
    with pytest.raises(ValueError, match="effort must be"):
        st.plan.from_pilot(X, y, error=0.1, effort=0.0)
    with pytest.raises(ValueError, match=r"parts to train on.*one class only"):
        st.plan.from_pilot(X, y, error=0.1, groups=y, estimator=CHEAP)
    with pytest.raises(ValueError, match="groups must be at least two"):
        st.plan.from_pilot(X, y, error=0.1, groups=np.zeros(80), estimator=CHEAP)


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
def test_bad_arguments_of_a_curve_are_named(change, message):
    arguments = {"sizes": SIZES, "errors": ERRORS, "n_test": 500, "error": 0.1, **change}
    with pytest.raises(ValueError, match=message):
        st.plan.from_curve(**arguments)
