"""What the iteration learns: as much as anything can."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.estimators import posterior_iteration
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.sequences.data import MemoryData

# "long": from the mean alone the iteration does not find it.
PROBLEMS = {
    "one token": (st.SparseTokenProblem(20, signal=6.0), 60, 60),
    "few samples": (st.SparseTokenProblem(10, signal=5.0), 50, 100),
    "long": (st.SparseTokenProblem(100, signal=5.0), 60, 80),
    "three tokens": (st.SparseTokenProblem(20, n_signal=3, signal=4.0), 120, 60),
    "rare": (st.SparseTokenProblem(12, signal=5.0, positive_rate=0.25), 150, 60),
}


@pytest.mark.parametrize(
    "name",
    ["one token", *(pytest.param(n, marks=pytest.mark.statistical) for n in list(PROBLEMS)[1:])],
)
def test_learns_as_well_as_anything_can(name):
    problem, n_samples, dim = PROBLEMS[name]
    floor = st.theory.optimal(problem, alpha=n_samples / dim).test_error
    errors = []
    for draw in range(4):
        X, y, truth = problem.sample(n_samples, dim, random_state=draw, return_truth=True)
        new, labels = problem.sample(1500, dim, random_state=100 + draw, direction=truth.direction)
        clf = st.BayesAttentionClassifier(random_state=0).fit(X, y)
        errors.append(1.0 - clf.score(new, labels))
    assert np.mean(errors) < 1.15 * floor + 3.0 * np.std(errors, ddof=1) / 2.0


def test_more_samples_refine_the_direction():
    """What a fit to some of the samples learned goes on with all of them."""
    problem = st.SparseTokenProblem(10, signal=4.0)
    X, y, truth = problem.sample(400, 60, random_state=0, return_truth=True)
    clf = st.BayesAttentionClassifier(random_state=0).fit(X[:60], y[:60])
    member = clf.stack_.members[0]
    data = MemoryData(st.Sequences(X.reshape(-1, 60), np.arange(401) * 10))
    before = _cosine(member.directions[0, 0, 0], truth.direction)
    weights = np.full(400, 1 / 400)
    member.refine(TrainingSamples(data, y, weights, [], np.arange(400), 0))
    everything = st.BayesAttentionClassifier(random_state=0).fit(X, y)
    after = _cosine(member.directions[0, 0, 0], truth.direction)
    assert after > before + 0.02
    assert after == pytest.approx(
        _cosine(everything.stack_.members[0].directions[0, 0, 0], truth.direction), abs=0.01
    )


def _cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


def test_a_strength_does_not_die_out_where_features_are_many(monkeypatch):
    """A tenth of a sample a feature: the signal is found only while its strength is held."""
    problem = st.SparseTokenProblem(100, signal=7.0)
    X, y, truth = problem.sample(100, 1024, random_state=2, return_truth=True, dtype=np.float32)
    data = MemoryData(st.Sequences(X.reshape(-1, 1024), np.arange(101) * 100))
    training = TrainingSamples(data, y, np.full(100, 0.01), [], np.arange(100), 0)
    cosines = []
    for scarce in (0.0, posterior_iteration._SCARCE):
        monkeypatch.setattr(posterior_iteration, "_SCARCE", scarce)
        iteration = posterior_iteration.Iteration(training, training.fit_weights, y > 0, False)
        directions, _ = iteration.in_data(iteration.solve())
        cosines.append(_cosine(directions[0], truth.direction))
    assert cosines[0] < 0.5
    assert cosines[1] > 0.7
