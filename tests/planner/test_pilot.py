"""Plans from pilot data."""

import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import sparsetoken as st
from sparsetoken.planner.curves import LearningCurves, extrapolate
from sparsetoken.planner.metric import get_metric
from sparsetoken.planner.observe import Observed, measure, observe
from sparsetoken.planner.tuned import PILOT

PROBLEM = st.SparseTokenProblem(n_tokens=4, n_signal=2, signal=3.0)
CHEAP = st.PooledClassifier(reg=0.1)
ERROR, AUC, RECALL = (get_metric(name, 0.1) for name in ("error", "auc", "recall"))


@pytest.fixture(scope="module")
def data():
    return PROBLEM.sample(80, 20, random_state=0)


@pytest.fixture(scope="module")
def pilot(data):
    return st.plan.from_pilot(*data, error=0.12, estimator=CHEAP)


@pytest.fixture(scope="module")
def weak():
    return st.SparseTokenProblem(4, 2, 3.0).sample(80, 60, random_state=0)


class Remembers(ClassifierMixin, BaseEstimator):
    """Knows which sequences it has seen, by their first number."""

    def __init__(self, tests=None):
        self.tests = tests

    def __sklearn_clone__(self):
        return Remembers(self.tests)

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = X.tokens[X.offsets[:-1], 0]
        return self

    def predict(self, X):
        tested = X.tokens[X.offsets[:-1], 0]
        self.tests.append((self.seen_, tested))
        return np.full(len(X), self.classes_[0])

    def decision_function(self, X):
        return np.zeros(len(X))


def test_every_sequence_is_tested_equally_often_and_groups_stay_together():
    n = 40
    X = np.zeros((n, 2, 3))
    X[:, :, 0] = np.arange(n)[:, np.newaxis]
    groups = np.arange(n) // 4
    tests = []
    found = observe(
        Remembers(tests),
        st.Sequences.from_list(list(X)),
        np.arange(n) % 2,
        groups=groups,
        seeds=(0, 1),
    )
    assert found.sizes.tolist() == [8, 16, 24, 32]
    assert len(tests) == 4 * 10
    for seen, tested in tests:
        assert not set(groups[seen.astype(int)]) & set(groups[tested.astype(int)])
        assert len(seen) + len(tested) == n
    times = np.isfinite(found.wrong).sum(axis=1)
    assert np.all(times == times[:, :1])
    assert measure(found).shortfalls == pytest.approx(np.full((2, 4), 0.5))  # all scores are tied


def test_areas_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    labels = np.arange(12) % 2
    scores = rng.integers(0, 4, (1, 1, 12)).astype(float)
    found = measure(Observed(labels, np.array([6.0]), np.zeros((1, 1, 12)), scores))
    pairs = scores[0, 0, labels == 1][:, np.newaxis] - scores[0, 0, labels == 0]
    assert found.shortfalls[1] == pytest.approx([np.mean(pairs < 0) + 0.5 * np.mean(pairs == 0)])


def test_bars_are_how_tested_sequences_vary():
    """Against the deviation over many sets of test sequences, with training that does not vary."""
    rng = np.random.default_rng(0)
    values, bars = [], []
    for _ in range(300):
        labels = np.arange(120) % 2
        scores = rng.standard_normal(120) + 1.5 * labels - 0.75
        wrong = (scores > 0) != labels
        seen = Observed(labels, np.array([30.0]), wrong[None, None], scores[None, None])
        found = measure(seen, RECALL)
        assert found.metrics == (ERROR, AUC, RECALL)
        values.append(found.shortfalls[:, 0])
        bars.append(found.bars[:, 0])
    assert np.mean(bars, axis=0) == pytest.approx(np.std(values, axis=0), rel=0.15)
    expected = [metric.of_gaussians(1.5, 0.0, 0.5) for metric in (ERROR, AUC, RECALL)]
    error = np.std(values, axis=0) / np.sqrt(300)
    # The quantile of few negatives is placed on one of them: that moves the recall a little.
    assert np.all(np.abs(np.mean(values, axis=0) - expected) < 4 * error + [0, 0, 0.02])


def test_curves_are_those_of_their_gaussians():
    """The closed forms against drawn scores, the error with every threshold tried."""
    rng = np.random.default_rng(0)
    size = np.array([1.0])
    for rate in (0.5, 0.2):
        curves = LearningCurves(rng.standard_normal((4, 8)), rate, PILOT)
        curves.ranking = curves.tail = 0.0
        found = [curves.shortfall(metric, size)[:, 0] for metric in (ERROR, AUC, RECALL)]
        distances, silents = curves.distance(size)[:, 0], curves.silent[:, 0]
        for error, auc, recall, distance, silent in zip(*found, distances, silents, strict=True):
            n = 200_000
            positive = rng.random(n) < rate
            speaks = positive & (rng.random(n) >= silent)
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


def test_intervals_cover_curves_of_the_family():
    """Errors drawn from curves of the prior, by the noise that is assumed.

    Of 40 curves an interval of 90 % holds 36 and one of 50 % holds 20, with standard deviations of
    1.9 and 3.2: too narrow ones fail, and too wide ones.
    """
    rng = np.random.default_rng(0)
    sizes = np.array([24.0, 48.0, 72.0, 96.0])
    held = []
    for _ in range(40):
        curves = LearningCurves(rng.standard_normal((1, 8)), 0.5, PILOT)
        true = curves.shortfall(ERROR, np.append(sizes / 120, 4.0))[0]
        wrong = rng.random((4, 1, 120)) < true[:4, np.newaxis, np.newaxis]
        seen = Observed(np.arange(120) % 2, sizes, wrong.astype(float), rng.random((4, 1, 120)))
        posterior = extrapolate(_errors_alone(measure(seen)))
        (levels,) = posterior.quantiles(ERROR, [480.0], (0.05, 0.25, 0.75, 0.95))
        held.append([levels[0] <= true[4] <= levels[3], levels[1] <= true[4] <= levels[2]])
    wide, narrow = np.sum(held, axis=0)
    assert wide >= 31
    assert 10 <= narrow <= 30


def _errors_alone(measured):
    k = measured.sizes.size
    return measured._replace(
        metrics=measured.metrics[:1],
        shortfalls=measured.shortfalls[:1],
        bars=measured.bars[:1],
        fixed=measured.fixed[:k, :k],
    )


def test_no_error_seen_is_neither_a_proof_nor_half_an_error():
    labels = np.arange(80) % 2
    right = np.zeros((4, 1, 80))
    seen = Observed(labels, np.array([16.0, 32.0, 48.0, 64.0]), right, right + labels)
    found = extrapolate(measure(seen))
    ((_, median, upper),) = found.quantiles(ERROR, np.array([160.0]), (0.1, 0.5, 0.9))
    assert median < 0.25 / 80 < upper


class TakesGroups(ClassifierMixin, BaseEstimator):
    """Keeps the groups that it is fitted with."""

    def __init__(self, given=None):
        self.given = given

    def __sklearn_clone__(self):
        return TakesGroups(self.given)

    def fit(self, X, y, groups=None):
        self.classes_ = np.unique(y)
        self.given.append(groups)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def decision_function(self, X):
        return np.zeros(len(X))


def test_groups_reach_every_fit_that_takes_them(data):
    X, y = data
    groups = np.arange(80) // 4
    given = []
    st.plan.from_pilot(X, y, error=0.1, estimator=TakesGroups(given), groups=groups, effort=0.5)
    assert len(given) == 20
    for some in given:
        assert np.all(np.bincount(some)[np.unique(some)] == 4)  # whole groups, a label each
    without = []
    st.plan.from_pilot(X, y, error=0.1, estimator=TakesGroups(without), effort=0.5)
    assert without == [None] * 20


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


def test_a_rare_class_is_counted():
    X, y = st.SparseTokenProblem(4, 2, 2.0, 0.15).sample(80, 60, random_state=0)
    plan = st.plan.from_pilot(X, y, error=0.1, metric="auc", estimator=CHEAP)
    more = plan.n_samples - 80
    assert more > 0
    assert plan.more[1] == pytest.approx(more * y.mean(), abs=1)
    assert f"{more} more, {plan.more[1]} of them of the rare class 1" in plan.answer


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


def test_progress_counts_the_trainings(data):
    said = []
    st.plan.from_pilot(*data, error=0.2, estimator=CHEAP, effort=0.5, progress=said.append)
    assert said[0] == "training 1 of 20 on parts of the pilot"
    assert len(said) == 21


def test_needles_stay_at_chance_and_then_fall():
    """Errors at chance in the pilot leave it open whether they will fall."""
    labels = np.arange(80) % 2
    rng = np.random.default_rng(0)
    wrong = (rng.random((4, 10, 80)) < 0.5).astype(float)
    seen = Observed(labels, np.array([16.0, 32.0, 48.0, 64.0]), wrong, rng.random((4, 10, 80)))
    found = extrapolate(measure(seen)).quantiles(ERROR, np.array([320.0]), (0.1, 0.5, 0.9))
    low, median, high = found[0]
    assert low < 0.25 < median < high
    assert high > 0.4


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
    found = st.plan.from_pilot(*ODD[name], error=0.05, estimator=CHEAP)
    assert found.trust
    assert found.answer in found.summary()
    assert np.all(np.isfinite(found.predict([100])))
    if name in ("no signal", "identical sequences"):
        assert found.interval is None
        assert found.trust.startswith("Little: on the pilot the classifier does not clearly beat")
    found.plot()


def test_the_default_is_the_classifier_for_real_data():
    X, y = st.SparseTokenProblem(2, 2, 6.0).sample(16, 3, random_state=0)
    halves = np.argsort(np.argsort(y, kind="stable")) % 2  # two groups: two trainings
    found = st.plan.from_pilot(X, y, error=0.3, effort=0.1, groups=halves, random_state=0)
    # The seed of the classifier is the second number that the seed of the plan gives.
    seeds = np.random.default_rng(0).integers(2**31, size=2).tolist()
    estimator = st.SparseTokenClassifier(random_state=seeds[1])
    sequences = st.Sequences.from_list(list(X))
    seen = observe(estimator, sequences, y, groups=halves, seeds=seeds[:1])
    assert found.classifier == "SparseTokenClassifier"
    assert found._posterior.measurements.shortfalls == pytest.approx(measure(seen).shortfalls)


def test_three_classes_by_errors_alone():
    X, _ = PROBLEM.sample(60, 5, random_state=0)
    y = np.arange(60) % 3
    X[y == 1, :, 0] += 4.0
    X[y == 2, :, 1] += 4.0
    found = st.plan.from_pilot(X, y, error=0.2, estimator=NearestMean())
    assert found._posterior.measurements.metrics == (ERROR,)
    assert found._posterior.measurements.chance == pytest.approx(2 / 3)
    assert found.interval[1] < 12
    assert found.trust.startswith("12 samples reach the target already; fewer were not tried")


class NearestMean(ClassifierMixin, BaseEstimator):
    """The class whose mean token is nearest."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        means = np.array([x.mean(axis=0) for x in X])
        self.centres_ = np.array([means[y == c].mean(axis=0) for c in self.classes_])
        return self

    def predict(self, X):
        means = np.array([x.mean(axis=0) for x in X])
        far = np.linalg.norm(means[:, np.newaxis] - self.centres_, axis=2)
        return self.classes_[far.argmin(axis=1)]


def test_bad_arguments_are_named(data):
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
