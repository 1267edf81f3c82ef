"""Plans from pilot data, and from learning curves alone."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import sparsetoken as st
from planner.examples import CHEAP, ERROR, ERRORS, PROBLEM, SIZES, drawn, power_law


class TakesGroups(ClassifierMixin, BaseEstimator):
    """Keeps the groups that it is fitted with."""

    def __init__(self, fits=None):
        self.fits = fits

    def __sklearn_clone__(self):
        return TakesGroups(self.fits)

    def fit(self, X, y, groups=None):
        self.classes_ = np.unique(y)
        self.fits.append(groups)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def decision_function(self, X):
        return np.zeros(len(X))


def test_groups_reach_every_fit_that_takes_them(data):
    X, y = data
    groups = np.arange(80) // 4
    fits = []
    st.plan.from_pilot(X, y, error=0.1, estimator=TakesGroups(fits), groups=groups, effort=0.5)
    assert len(fits) == 20
    for codes in fits:
        assert np.all(np.bincount(codes)[np.unique(codes)] == 4)  # whole groups, a label each
    without = []
    st.plan.from_pilot(X, y, error=0.1, estimator=TakesGroups(without), effort=0.5)
    assert without == [None] * 20


def test_ranks_and_recalls_can_be_planned_for(weak):
    def planned(metric, fpr):
        options = {"metric": metric, "fpr": fpr, "estimator": CHEAP}
        return st.plan.from_pilot(*weak, error=0.25, **options)

    auc, recall, strict = planned("auc", 0.1), planned("recall", 0.1), planned("recall", 0.01)
    assert "The 80 sequences of this pilot are enough for an AUC of 0.75" in auc.answer
    assert "a recall of 0.75 at 10 % false positives" in recall.answer
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


TABLE, LABELS = make_classification(60, 6, n_clusters_per_class=1, random_state=0)
WORDS = [f"{'good' if label else 'bad'} {i} words" for i, label in enumerate(LABELS)]
TABLES = {
    "array": (TABLE, LogisticRegression()),
    "frame": (pd.DataFrame(TABLE), LogisticRegression()),
    "sparse": (csr_array(TABLE), LogisticRegression()),
    "coordinates": (coo_array(TABLE), LogisticRegression()),
    "list": (WORDS, make_pipeline(CountVectorizer(), LogisticRegression())),
    "search": (TABLE, GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)),
}


@pytest.mark.parametrize("name", TABLES)
def test_any_classifier_and_any_table(name):
    X, classifier = TABLES[name]
    plan = st.plan.from_pilot(X, LABELS, error=0.15, estimator=classifier, effort=0.5)
    assert plan.classifier == type(classifier).__name__
    assert plan.unit == "samples"
    assert [len(plan.points.metrics), plan.points.errors[0, -1] < 0.3] == [2, True]
    same = st.plan.from_pilot(TABLE, LABELS, error=0.15, estimator=TABLES["array"][1], effort=0.5)
    if name in ("frame", "sparse", "coordinates"):
        assert plan.points.errors == pytest.approx(same.points.errors)


def test_a_classifier_without_scores_is_judged_by_errors():
    X = TABLE.reshape(60, 1, 6)
    plan = st.plan.from_pilot(X, LABELS, error=0.15, estimator=NearestMean(), effort=0.5)
    assert plan.points.metrics == (ERROR,)
    assert plan.unit == "sequences"


def test_the_more_sure_the_more_samples():
    plan = st.plan.from_curve(SIZES, ERRORS, n_test=5000, error=0.12)
    assert plan.assured(0.5) == plan.n_samples
    sizes = [plan.assured(p) for p in (0.2, 0.5, 0.7)]
    assert sizes == sorted(set(sizes))
    assert plan.probability(plan.assured(0.7)) == pytest.approx(0.7, abs=0.02)
    assert plan.assured(0.999) is None
    with pytest.raises(ValueError, match="probability must be"):
        plan.assured(1.0)
    with pytest.raises(ValueError, match=r"n_samples must be a finite number in \[1, inf\), got 0"):
        plan.probability(0)


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
    assert plan.classifier == "SparseTokenClassifier"
    assert plan.unit == "sequences"
    assert "labelled sequences" in plan.answer or "sequences of this pilot" in plan.answer


def test_three_classes_by_errors_alone():
    X, _ = PROBLEM.sample(60, 5, random_state=0)
    y = np.arange(60) % 3
    X[y == 1, :, 0] += 4.0
    X[y == 2, :, 1] += 4.0
    plan = st.plan.from_pilot(X, y, error=0.2, estimator=NearestMean())
    assert plan.points.metrics == (ERROR,)
    assert plan.points.chance == pytest.approx(2 / 3)
    assert plan.interval[1] < 12
    assert "are enough for a 20 % test error" in plan.answer


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
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        st.plan.from_pilot(X, y, error=0.1, random_state="0")
    for missing in (None, np.nan):
        for labels in (y.astype(float), np.array(["well", "ill"], object)[y], y.astype(object)):
            labels[3] = missing
            with pytest.raises(ValueError, match="y must have labels of one kind, with none miss"):
                st.plan.from_pilot(X, labels, error=0.1)
    for estimator, message in (
        (LogisticRegression, "estimator must be an object, got the class LogisticRegression"),
        (LinearRegression(), r"estimator must be a classifier, got LinearRegression\(\)"),
        (0.1, "estimator must be a classifier, got 0.1"),
    ):
        with pytest.raises(ValueError, match=message):
            st.plan.from_pilot(X, y, error=0.1, estimator=estimator)
    for groups in (y, np.zeros(80)):
        with pytest.raises(ValueError, match="groups must be at least two for every class"):
            st.plan.from_pilot(X, y, error=0.1, groups=groups, estimator=CHEAP)


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
    assert "an AUC of 0.97" in ranks.answer
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
        ({"aucs": [*ERRORS[1:], 80]}, r"aucs must be in \[0, 1\], got \[0.3, .* 80\]"),
        ({"recalls": ["high"] * 5}, "recalls must be numbers, got"),
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
    with pytest.raises(ValueError, match="sizes must be a row of numbers of samples >= 1"):
        pilot.predict([0.0])
    with pytest.raises(ValueError, match="sizes must be numbers, got 'many'"):
        pilot.predict("many")
    assert pilot.predict(high) == pytest.approx(pilot.predict([high]))


def test_the_answer_is_where_the_prediction_meets_the_target(plan):
    low, high = plan.interval or (plan.needed[0], np.inf)
    assert plan.n_samples > 320
    assert low < plan.n_samples < high
    assert plan.predict([plan.n_samples])[0, 1] == pytest.approx(0.1, rel=0.05)
    lower, median, upper = plan.predict([320, 640, 1280]).T
    assert np.all((lower < median) & (median < upper))
    assert np.all(np.diff(median) < 0)
    assert lower[0] < 0.13 < upper[0]
    assert np.all(np.diff(np.log(upper / lower)) > 0)  # the further, the less certain


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
        assert odd.trust.startswith("Little: on this pilot the classifier does not clearly beat")
    odd.plot()


def test_summary_json_and_picture(pilot):
    text = pilot.summary()
    words = (pilot.answer, "80 % interval", "Trust:", "held out", "expected")
    places = [text.index(word) for word in words]
    assert places == sorted(places)
    data = json.loads(json.dumps(pilot.to_dict()))
    assert data["interval"] == list(pilot.interval)
    (ax,) = pilot.plot().axes
    assert ax.lines[0].get_ydata().tolist() == list(pilot.curve.median)
    assert repr(pilot) == f"PilotPlan({pilot.answer.rstrip('.')})"


def test_report_has_what_a_protocol_needs(pilot):
    for markdown in (False, True):
        text = pilot.report(markdown=markdown)
        assert pilot.answer in text
        assert f"sparsetoken {st.__version__}" in text
        places = [text.index(w) for w in (pilot.answer, "Assumptions", "rests", "Software")]
        assert places == sorted(places)
        assert "PooledClassifier" in text
        assert ("| sequences |" in text) is markdown
    assert "80 % interval" in text


def test_summary_json_picture_and_report(plan):
    text = plan.summary()
    assert text.startswith(plan.answer)
    assert "measured on 500 test samples at 5 sizes" in text
    data = json.loads(json.dumps(plan.to_dict()))
    assert data["source"] == "learning curve"
    assert [row["error"] for row in data["observed"]] == ERRORS
    assert plan.plot().axes[0].get_ylabel() == "test error"
    assert plan.answer in plan.report(markdown=True)


def test_a_curve_that_cannot_reach_the_target_is_drawn():
    flat = st.plan.from_curve([10, 20, 40], [0.5, 0.51, 0.5], n_test=100, error=0.01)
    assert flat.n_samples is None
    assert flat.curve.n_samples[-1] == 400
    assert flat.to_dict()["interval"] is None
