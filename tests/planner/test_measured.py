"""What is measured on parts of a pilot, and read from a learning curve."""

import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import sparsetoken as st
from planner.examples import AUC, ERROR, RECALL
from sparsetoken.planner.measured import (
    HeldOut,
    cut_pilot,
    pilot_points,
    read_curve,
    train_on_parts,
)


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
    y, rng = np.arange(n) % 2, np.random.default_rng(0)
    cuts = [cut_pilot(y, groups, rng) for _ in range(2)]
    sequences = st.Sequences.from_list(list(X))
    observed = train_on_parts(Remembers(tests), sequences, y, cuts, groups=groups)
    assert observed.sizes.tolist() == [8, 16, 24, 32]
    assert len(tests) == 4 * 10
    for seen, tested in tests:
        assert not set(groups[seen.astype(int)]) & set(groups[tested.astype(int)])
        assert len(seen) + len(tested) == n
    times = np.isfinite(observed.wrong).sum(axis=1)
    assert np.all(times == times[:, :1])
    assert pilot_points(observed).errors == pytest.approx(
        np.full((2, 4), 0.5)
    )  # all scores are tied


def test_areas_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    labels = np.arange(12) % 2
    scores = rng.integers(0, 4, (1, 1, 12)).astype(float)
    measured = pilot_points(HeldOut(labels, np.array([6.0]), np.zeros((1, 1, 12)), scores))
    pairs = scores[0, 0, labels == 1][:, np.newaxis] - scores[0, 0, labels == 0]
    assert measured.errors[1] == pytest.approx([np.mean(pairs < 0) + 0.5 * np.mean(pairs == 0)])


def test_bars_are_how_tested_sequences_vary():
    """Against the deviation over many sets of test sequences, with training that does not vary."""
    rng = np.random.default_rng(0)
    values, bars = [], []
    for _ in range(300):
        labels = np.arange(120) % 2
        scores = rng.standard_normal(120) + 1.5 * labels - 0.75
        wrong = (scores > 0) != labels
        seen = HeldOut(labels, np.array([30.0]), wrong[None, None], scores[None, None])
        measured = pilot_points(seen, RECALL)
        assert measured.metrics == (ERROR, AUC, RECALL)
        values.append(measured.errors[:, 0])
        bars.append(measured.bars[:, 0])
    assert np.mean(bars, axis=0) == pytest.approx(np.std(values, axis=0), rel=0.15)
    expected = [metric.of_gaussians(1.5, 0.0, 0.5) for metric in (ERROR, AUC, RECALL)]
    error = np.std(values, axis=0) / np.sqrt(300)
    # The quantile of few negatives is placed on one of them: that moves the recall a little.
    assert np.all(np.abs(np.mean(values, axis=0) - expected) < 4 * error + [0, 0, 0.02])


EXPECTED = {"sizes": [10.0, 20.0], "errors": [0.5, 0.25], "aucs": [0.5, 0.75]}


@pytest.mark.parametrize(
    "text",
    [
        "n_samples,error,auc\n10,0.5,0.5\n20,0.25,0.75\n",
        'N_Samples, "accuracy", auc\n10, 0.5, 0.5\n20, 0.75, 0.75\n',
        "n_samples\taccuracy\tauc\n10\t0.5\t0.5\n\n20\t0.75\t0.75",
        'n_samples,error,auc,note\n10,0.5,0.5,"a, b"\n20,0.25,0.75,c',
    ],
)
def test_tables_as_people_have_them(text):
    assert read_curve(text) == EXPECTED


def test_gaps_and_test_samples():
    columns = read_curve("n_samples,error,recall,n_test\n10,0.5,,400\n10,0.4,0.1,300")
    assert columns["n_test"] == 300
    assert columns["errors"] == [0.5, 0.4]
    assert math.isnan(columns["recalls"][0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"must have columns n_samples and error \(or accuracy\), auc or recall, and a row"),
        ("10,0.5\n20,0.4", "must have columns n_samples .* got '10,0.5"),
        ("n_samples;error\n10;0.5", "commas or tabs between its columns"),
        ("n_samples,score\n10,0.5", "must have columns n_samples and .* got 'n_samples,score"),
        ("n_samples,error\n10,half", "must have numbers as error: could not convert .*'half'"),
    ],
)
def test_what_is_no_curve_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        read_curve(text)
