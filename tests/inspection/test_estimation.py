import math

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.inspection.estimation import PilotWarning

PROBLEM = st.SparseTokenProblem(n_tokens=8, n_signal=2, signal=4.0, positive_rate=0.4)
KINDS = st.SparseTokenProblem(n_tokens=8, n_signal=2, signal=4.0, positive_rate=0.4, n_kinds=2)
LONG = st.SparseTokenProblem(n_tokens=20, signal=5.5)


@pytest.mark.parametrize(
    ("problem", "n_samples", "dim", "n_draws"),
    [
        (PROBLEM, 150, 40, 10),
        (KINDS, 240, 60, 10),
        pytest.param(LONG, 314, 300, 20, marks=pytest.mark.statistical),
        pytest.param(PROBLEM, 150, 40, 60, marks=pytest.mark.statistical),
        pytest.param(KINDS, 240, 60, 60, marks=pytest.mark.statistical),
    ],
)
def test_the_truth_is_within_the_stated_errors(problem, n_samples, dim, n_draws):
    scores, right, relative, holds, kinds = [], [], [], [], []
    for seed in range(n_draws):
        pilot = st.estimate_problem(*problem.sample(n_samples, dim, random_state=seed))
        scores.append((pilot.signal - problem.signal) / pilot.standard_errors["signal"])
        relative.append(pilot.signal / problem.signal - 1.0)
        right.append(pilot.n_signal == problem.n_signal)
        kinds.append(pilot.problem.n_kinds == problem.n_kinds)
        holds.append(pilot.holds)
    assert np.mean(np.abs(scores) < 2.0) >= 0.85 - 3 * math.sqrt(0.05 * 0.95 / n_draws)
    assert np.median(np.abs(relative)) < 0.05
    assert np.mean(right) >= 0.8
    assert np.mean(kinds) >= 0.8
    assert np.mean(holds) >= 0.8


def test_scale_shift_and_correlation_of_the_tokens_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = PROBLEM.sample(400, 10, random_state=1)
    plain = st.estimate_problem(X, y)
    assert plain.problem.n_signal == 2
    mixing = np.diag(np.linspace(0.5, 3.0, 10)) @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
    mixed = st.estimate_problem(X @ mixing + 7.0, y)
    assert mixed.signal == pytest.approx(plain.signal, rel=0.1)
    assert mixed.n_signal == plain.n_signal


def test_ragged_sequences_and_any_labels():
    X, y = PROBLEM.sample(300, 10, random_state=2)
    noise = np.random.default_rng(3).standard_normal((300, 2, 10))
    ragged = [
        np.concatenate([x, extra[: i % 3]])
        for i, (x, extra) in enumerate(zip(X, noise, strict=True))
    ]
    pilot = st.estimate_problem(ragged, np.where(y == 1, "yes", "no"))
    assert pilot.problem.n_tokens == 9
    assert pilot.problem.n_signal == 2
    assert pilot.positive_rate == y.mean()
    assert abs(pilot.signal - 4.0) < 4 * pilot.standard_errors["signal"]
    assert "±" in repr(pilot)


def test_unlabelled_sequences_help():
    X, y = LONG.sample(330, 60, random_state=0)
    few = y.copy()
    few[30:] = -1
    with_them, without = st.estimate_problem(X, few), st.estimate_problem(X[:30], y[:30])
    assert with_them.n_samples == without.n_samples == 30
    assert with_them.standard_errors["signal"] < without.standard_errors["signal"]
    assert abs(with_them.signal - 5.5) < 0.6


def test_a_pilot_without_signal_gives_no_number():
    X, y = st.SparseTokenProblem(5, 1, 0.0).sample(60, 30, random_state=5)
    with pytest.warns(PilotWarning, match="cannot tell the signal from noise"):
        pilot = st.estimate_problem(X, y)
    assert not pilot.reliable
    assert not pilot.holds
    assert math.isnan(pilot.signal)
    assert math.isnan(pilot.n_kinds)
    assert "reliable=False" in repr(pilot)
    with pytest.raises(ValueError, match="a larger pilot would help"):
        _ = pilot.problem


def test_bags_that_are_not_of_the_model_are_told():
    rng = np.random.default_rng(0)
    X, y = PROBLEM.sample(300, 20, random_state=0)
    shared = X + 2.0 * rng.standard_normal((300, 1, 20))  # what all tokens of a sequence share
    assert not st.estimate_problem(shared, y).holds


def test_bad_pilots_name_the_argument():
    X, y = PROBLEM.sample(40, 5, random_state=0)
    with pytest.raises(ValueError, match="y must have shape"):
        st.estimate_problem(X, y[:-1])
    with pytest.raises(ValueError, match="y must have two labels, got 1"):
        st.estimate_problem(X, np.zeros_like(y))
    with pytest.raises(ValueError, match="at least 4 samples of True, got 1"):
        st.estimate_problem(X, np.arange(len(y)) == 0)
