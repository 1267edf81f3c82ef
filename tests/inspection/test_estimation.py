import math
import tracemalloc

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.inspection.estimation import PilotWarning, jackknife_moments

PROBLEM = st.SparseTokenProblem(n_tokens=8, n_signal=2, signal=4.0, positive_rate=0.4)


def test_moments_are_sums_over_distinct_samples():
    """The closed form against the triple sum itself."""
    rng = np.random.default_rng(0)
    positive = np.array([True, True, True, False, False, True, True, True])
    samples = [
        rng.standard_normal((length, 3)) + 2.0 * shifted
        for length, shifted in zip((2, 4, 3, 5, 1, 3, 2, 1), positive, strict=True)
    ]
    weight = np.where(positive, 1 / positive.sum(), -1 / (~positive).sum())
    mean = [s.mean(axis=0) for s in samples]
    second = [s.T @ s / len(s) for s in samples]
    n = range(len(samples))
    pairs = sum(weight[i] * weight[j] * mean[i] @ mean[j] for i in n for j in n if i != j)
    third = np.where(positive, 1 / (positive.sum() - 2), -1 / (~positive).sum())

    def triples(second):
        return sum(
            weight[i] * weight[j] * third[k] * mean[i] @ second[k] @ mean[j]
            for i in n
            for j in n
            for k in n
            if len({i, j, k}) == 3
        )

    lengths = np.array([len(sample) for sample in samples])
    groups = np.array([0, 1, 0, 0, 1, 1, 0, 1])
    moments = jackknife_moments(np.concatenate(samples), lengths, positive, groups)
    mean_square, of_tokens, of_means = (moment[0] for moment in moments)
    distinct = 1 - 1 / positive.sum()
    assert mean_square == pytest.approx(pairs / distinct)
    squares = [np.outer(m, m) for m in mean]
    for moment, matrices in ((of_tokens, second), (of_means, squares)):
        trace = sum(weight[k] * np.trace(matrices[k]) for k in n)
        assert moment == pytest.approx((triples(matrices) / pairs - trace / 3) / (1 - 1 / 3))


@pytest.mark.parametrize("dim", [3, 200])
def test_the_jackknife_leaves_out_a_group(dim):
    """Against the moments of the other groups alone, with more and with fewer tokens than d."""
    rng = np.random.default_rng(1)
    positive, groups = np.arange(21) < 12, np.arange(21) % 3
    tokens, lengths = rng.standard_normal((21, 4, dim)), np.full(21, 4)
    tokens[positive] += 1.5
    rest = groups != 1
    moments = jackknife_moments(tokens.reshape(-1, dim), lengths, positive, groups)
    others = jackknife_moments(
        tokens[rest].reshape(-1, dim), lengths[rest], positive[rest], groups[rest] // 2
    )
    for moment, alone in zip(moments, others, strict=True):
        assert moment[2] == pytest.approx(alone[0])


def test_the_stated_intervals_cover():
    signal, n_signal = [], []
    for seed in range(60):
        X, y = PROBLEM.sample(150, 40, random_state=seed)
        pilot = st.estimate_problem(X, y)
        bars = pilot.standard_errors
        signal.append((pilot.signal - 4.0) / bars["signal"])
        n_signal.append((pilot.n_signal - 2.0) / bars["n_signal"])
    for scores in (signal, n_signal):
        covered = np.mean(np.abs(scores) < 1.96)
        assert 0.85 <= covered <= 1.0  # 0.95 nominal; three binomial errors are 0.085
        assert 0.6 < np.std(scores) < 1.5
        assert abs(np.mean(scores)) < 0.8


def test_scale_shift_and_correlation_of_the_tokens_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = PROBLEM.sample(400, 10, random_state=1)
    plain = st.estimate_problem(X, y)
    assert plain.problem.n_signal == 2
    mixing = np.diag(np.linspace(0.5, 3.0, 10)) @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
    mixed = st.estimate_problem(X @ mixing + 7.0, y)
    assert mixed.signal == pytest.approx(plain.signal, rel=0.05)
    assert mixed.n_signal == pytest.approx(plain.n_signal, rel=0.1)


def test_strengths_that_vary_are_found_and_equal_ones_are_not():
    strengths = ("lognormal", 4.0 / math.sqrt(1.5), math.sqrt(math.log(1.5)))  # mean 4, spread 0.5
    varied = st.Population.spread(PROBLEM, signal=strengths)
    lengths = np.random.default_rng(0).integers(0, 8, 300)
    equal, estimates = [], []
    for seed in range(20):
        X, y = PROBLEM.sample(300, 20, random_state=seed)
        more = np.random.default_rng(seed).standard_normal((300, 8, 20))
        ragged = [np.concatenate([x, m[:n]]) for x, m, n in zip(X, more, lengths, strict=True)]
        equal += [st.estimate_problem(X, y).spread, st.estimate_problem(ragged, y).spread]
        estimates.append(st.estimate_problem(*varied.sample(300, 20, random_state=seed)))
    assert np.count_nonzero(equal) <= 3  # one in 40 of either is found by chance
    assert np.count_nonzero([pilot.spread for pilot in estimates]) >= 18
    for name, true in (("spread", 0.5), ("signal", 4.0), ("n_signal", 2.0)):
        values = [getattr(pilot, name) for pilot in estimates]
        assert abs(np.mean(values) - true) < 4 * np.std(values) / math.sqrt(20), name
    pilot = next(pilot for pilot in estimates if pilot.spread)
    kinds, weights = pilot.problem.kinds, pilot.problem.shares
    mean = sum(weight * kind.signal for kind, weight in zip(kinds, weights, strict=True))
    square = sum(weight * kind.signal**2 for kind, weight in zip(kinds, weights, strict=True))
    assert square / mean**2 - 1 == pytest.approx(pilot.spread, rel=0.01)
    assert "spread=" in repr(pilot)
    assert st.plan(problem=pilot.problem, dim=20, n_samples=80, model="pooled").error < 0.4


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
    assert abs(pilot.problem.signal - 4.0) < 4 * pilot.standard_errors["problem.signal"]
    assert "±" in repr(pilot)


def test_wide_tokens_need_no_matrix_for_each_group():
    """At d = 1,500 matrices for 20 groups would be 0.36 GB for each class and moment."""
    X, y = st.SparseTokenProblem(3, 3, 20.0).sample(60, 1500, random_state=0)
    tracemalloc.start()
    try:
        pilot = st.estimate_problem(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert pilot.reliable
    assert peak < 0.15e9


def test_a_pilot_without_signal_warns():
    X, y = st.SparseTokenProblem(5, 1, 0.0).sample(60, 30, random_state=5)
    with pytest.warns(PilotWarning, match="cannot tell the signal from noise"):
        pilot = st.estimate_problem(X, y)
    assert not pilot.reliable
    assert all(math.isfinite(bar) for bar in pilot.standard_errors.values())


def test_bad_pilots_name_the_argument():
    X, y = PROBLEM.sample(40, 5, random_state=0)
    with pytest.raises(ValueError, match="y must have shape"):
        st.estimate_problem(X, y[:-1])
    with pytest.raises(ValueError, match="y must have at least two labels, got 1"):
        st.estimate_problem(X, np.zeros_like(y))
    with pytest.raises(ValueError, match="at least 4 samples of True, got 1"):
        st.estimate_problem(X, np.arange(len(y)) == 0)
