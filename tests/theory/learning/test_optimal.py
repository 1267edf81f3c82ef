"""Optimal learning: values known otherwise, identities, bounds, and message passing."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import ndtr
from statistical import Z_LIMIT, quick_first

from populations import STRENGTHS
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.sampling import sample_posterior_mean
from sparsetoken.theory import (
    learning_thresholds,
    optimal,
    oracle_error,
    risk,
    training,
    two_step_risk,
)
from sparsetoken.theory.learning.information import information_curve
from theory.learned import LONG, PROBLEMS, RUNS, learn


@pytest.mark.parametrize(
    ("n_tokens", "signal", "rate", "alpha", "cosine"),
    [
        (10, 5.0, 0.5, 0.5, 0.9281),
        (10, 5.0, 0.5, 2.0, 0.9805),
        (20, 6.0, 0.5, 2.0, 0.9864),
        (10, 3.0, 0.5, 2.0, 0.9381),
        (50, 6.0, 0.3, 2.0, 0.9776),
    ],
)
def test_checked_cosines(n_tokens, signal, rate, alpha, cosine):
    found = optimal(SparseTokenProblem(n_tokens, 1, signal, rate), alpha)
    assert found.cosine == pytest.approx(cosine, abs=1e-4)


def test_checked_values_with_groups_of_priors():
    problem = SparseTokenProblem(10, 1, 5.0)
    assert optimal(problem, 0.2, unlabelled=1.0).cosine == pytest.approx(0.9673, abs=1e-4)
    assert optimal(problem, 0.2).cosine == pytest.approx(0.8432, abs=1e-4)
    doubtful = Population([SparseTokenProblem(10, 1, 4.0)], label_errors=(0.1, 0.1))
    assert optimal(doubtful, 0.5).cosine == pytest.approx(0.8826, abs=5e-4)


def test_hard_phase_of_long_sequences():
    thresholds = learning_thresholds(LONG)
    assert thresholds.hard
    assert thresholds.information == pytest.approx(0.305, abs=0.003)
    assert 5.9 < thresholds.iteration < 6.4
    assert thresholds.iteration == pytest.approx(5000 / (math.e * 0.5 * 5.0**4), rel=0.1)
    edges = thresholds.information, thresholds.iteration
    for factor, alpha in itertools.product((0.999, 1.001), edges):
        assert optimal(LONG, factor * alpha).hard == (edges[0] < factor * alpha < edges[1])
    stuck, escaped = optimal(LONG, 6.0), optimal(LONG, 6.5)
    assert stuck.from_nothing.overlap == pytest.approx(0.034, abs=0.003)
    assert escaped.overlap == pytest.approx(0.986, abs=1e-3)
    assert stuck.hard
    assert not escaped.hard
    assert stuck.informed.free_entropy > stuck.from_nothing.free_entropy


def test_law_of_escape_for_longer_and_longer_sequences():
    ratios = []
    for n_tokens in (10_000, 100_000):
        found = learning_thresholds(SparseTokenProblem(n_tokens, 1, 7.0)).iteration
        ratios.append(found * math.e * 0.5 * 7.0**4 / n_tokens)
    assert 1.0 < ratios[1] <= ratios[0] < 1.1


def test_no_signal_nothing_learned():
    for alpha in (2.0, math.inf):
        nothing = optimal(SparseTokenProblem(10, 1, 0.0, 0.3), alpha)
        assert nothing.overlap == 0.0
        assert nothing.test_error == pytest.approx(0.3)


def test_kinds_that_teach_nothing():
    """Kinds without positives, and without signal, among others."""
    strong = SparseTokenProblem(6, 1, 4.0)
    kinds = [strong, SparseTokenProblem(6, 2, 4.0, 0.0), SparseTokenProblem(9, 1, 0.0)]
    found = learn(Population(kinds, shares=[0.5, 0.25, 0.25]), 2.0)
    alone = optimal(strong, 1.0)
    assert found.overlap == pytest.approx(alone.overlap, rel=1e-5)
    assert learning_thresholds(Population(kinds), n_points=512).iteration > 0.0


def test_strong_signals():
    for signal in (30.0, 1e3, 1e8):
        found = optimal(SparseTokenProblem(10, 1, signal), 1.0)
        assert found.overlap == pytest.approx(1.0 - 2.0 / signal**2, abs=1e-2 / signal)
        assert found.test_error < 1e-9
        assert found.auc == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("problem", "signal"), [
    (SparseTokenProblem(1, 1, 2.0, 0.3), 2.0),
    (SparseTokenProblem(9, 9, 0.5, 0.3), 1.5),  # as good as one token
])  # fmt: skip
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_one_token_closed_form(problem, signal, alpha):
    """Positives are Gaussian around the signal: M/(1 − M) = αρ̄θ², and two Gaussians remain."""
    found = optimal(problem, alpha)
    learned = alpha * 0.3 * signal**2
    assert found.overlap == pytest.approx(learned / (1.0 + learned), rel=1e-6)
    assert found.free_entropy == pytest.approx(0.5 * (learned - math.log1p(learned)), rel=1e-5)
    kappa = signal * found.cosine
    threshold = 0.5 * kappa + math.log(0.7 / 0.3) / kappa
    error = 0.3 * ndtr(threshold - kappa) + 0.7 * ndtr(-threshold)
    assert found.test_error == pytest.approx(error, rel=1e-5)
    assert found.auc == pytest.approx(ndtr(kappa / math.sqrt(2.0)), rel=1e-5)
    quantile = 2.3263478740408408
    assert found.recall(0.01) == pytest.approx(ndtr(kappa - quantile), rel=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_limits_of_samples(name):
    problem = PROBLEMS[name]
    none = learn(problem, 0.0)
    assert none.overlap == 0.0
    rate = problem.positive_rate
    lengths = {kind.n_tokens for kind in problem.kinds}
    if len(lengths) == 1:  # otherwise the length alone tells something
        assert none.test_error == pytest.approx(min(rate, 1.0 - rate), abs=1e-9)
        assert none.auc == pytest.approx(0.5, abs=1e-9)
    else:
        assert none.test_error <= min(rate, 1.0 - rate) + 1e-9
        assert none.auc >= 0.5 - 1e-9
    known, bayes = learn(problem, math.inf), oracle_error(problem, "bayes")
    assert known.overlap == 1.0
    bar = math.hypot(known.uncertainty, bayes.uncertainty)
    assert abs(known.test_error - bayes) <= Z_LIMIT * bar
    nearly = learn(problem, 1e6)
    assert nearly.test_error == pytest.approx(known.test_error, rel=2e-3)


@pytest.mark.parametrize("name", quick_first(PROBLEMS))
def test_more_samples_help(name):
    problem = PROBLEMS[name]
    curve = optimal(problem, [0.05, 0.4, 1.0, 4.0, 30.0], n_points=512)
    bayes = oracle_error(problem, "bayes")
    for less, more in itertools.pairwise(curve):
        assert more.overlap > less.overlap
        bar = math.hypot(more.uncertainty, less.uncertainty)
        assert more.test_error <= less.test_error + 2.0 * bar
        assert more.auc >= less.auc - 2.0 * more.auc.uncertainty
    assert curve[-1].test_error >= bayes - Z_LIMIT * math.hypot(bar, bayes.uncertainty)
    for alpha in (0.1, 1.0):
        overlaps = [learn(problem, alpha, unlabelled).overlap for unlabelled in (0.0, 0.3, 3.0)]
        assert overlaps == sorted(overlaps)
        assert learn(problem, 0.0, alpha).overlap <= overlaps[0]


@pytest.mark.parametrize("name", ["one token", "several", "runs"])
def test_labels_that_say_nothing_are_no_labels(name):
    problem = PROBLEMS[name]
    coin = Population([problem], label_errors=(0.5, 0.5))
    for alpha in (0.5, 3.0):
        learned, unlabelled = learn(coin, alpha), learn(problem, 0.0, alpha)
        assert learned.overlap == pytest.approx(unlabelled.overlap, rel=1e-5)
        assert abs(learned.test_error - 0.5) <= Z_LIMIT * learned.uncertainty


def test_swapped_labels_teach_as_much():
    problem = PROBLEMS["one token"]
    swapped = Population([problem], label_errors=(1.0, 1.0))
    right, wrong = optimal(problem, 1.0), optimal(swapped, 1.0)
    assert wrong.overlap == pytest.approx(right.overlap, rel=1e-6)
    bar = math.hypot(wrong.uncertainty, right.uncertainty)
    assert abs(wrong.test_error - right.test_error) < Z_LIMIT * bar


def test_weak_signals_and_unlike_classes():
    """Where the best rule is nearly always to call the common class."""
    found = optimal(SparseTokenProblem(4, 1, 0.525, 0.219), 4.93)
    pooled = risk(SparseTokenProblem(4, 1, 0.525, 0.219), "pooled", alpha=4.93, reg="best")
    assert found.test_error == pytest.approx(0.219, abs=1e-8)
    assert found.test_error <= pooled.test_error + 3e-8


@pytest.mark.parametrize("name", quick_first(["several", "one token", "strengths", "two lengths"]))
def test_recalls_and_area_agree(name):
    found = learn(PROBLEMS[name], 1.0)
    fpr = np.linspace(0.0, 1.0, 101)
    recall = np.array([0.0, *(found.recall(rate) for rate in fpr[1:-1]), 1.0])
    assert np.all(np.diff(recall) >= -1e-12)
    assert found.auc == pytest.approx(float(trapezoid(recall, fpr)), abs=0.01)


SETTINGS = [
    (SparseTokenProblem(4, 1, 3.0, 0.3), 1.5),
    (SparseTokenProblem(12, 3, 2.0, 0.5), 3.0),
    (STRENGTHS, 2.0),
]


@pytest.mark.parametrize(
    ("problem", "alpha"), quick_first(SETTINGS), ids=["one", "several", "strengths"]
)
def test_nothing_learns_better(problem, alpha):
    best = learn(problem, alpha)
    half = alpha / 2.0
    rivals = [
        two_step_risk(problem, alpha0=half, alpha1=half, reg="best", n_points=1024),
        risk(problem, "pooled", alpha=alpha, reg="best"),
    ]
    if isinstance(problem, SparseTokenProblem):
        rivals.append(risk(problem, "vectorized", alpha=alpha, reg="best"))
    for rival in rivals:
        bar = math.hypot(best.uncertainty, rival.uncertainty)
        assert best.test_error <= rival.test_error + 3.0 * bar
    assert best.cosine >= rivals[0].cosine
    if isinstance(problem, SparseTokenProblem):
        steps = training(problem, steps=3, alpha=alpha / 3.0, batches="fresh", n_points=1024)
        assert best.test_error <= steps.test_error.min() + 0.01


@pytest.mark.parametrize(
    ("problem", "alpha", "unlabelled"),
    quick_first(
        [
            (SparseTokenProblem(10, 1, 4.0), 1.0, 0.0),
            (SparseTokenProblem(6, 2, 3.0), 0.5, 0.5),
            (Population([RUNS], label_errors=(0.1, 0.05)), 2.0, 0.0),
        ]
    ),
    ids=["labelled", "unlabelled too", "runs, labels in doubt"],
)
@pytest.mark.parametrize("dim", quick_first([150, 400]))
def test_message_passing_agrees(problem, alpha, unlabelled, dim):
    expected = optimal(problem, alpha, unlabelled, n_points=2048)
    learned = [
        sample_posterior_mean(
            problem,
            round(alpha * dim),
            dim,
            n_unlabelled=round(unlabelled * dim),
            random_state=[dim, trial],
        )
        for trial in range(16)
    ]
    cosines = np.array([one.cosine for one in learned])
    bar = cosines.std(ddof=1) / 4.0
    allowed = Z_LIMIT * math.hypot(bar, expected.cosine.uncertainty) + 0.5 / dim  # finite size
    assert abs(cosines.mean() - expected.cosine) < allowed
    errors = np.array([one.test_error(4000, random_state=i) for i, one in enumerate(learned)])
    bar = math.hypot(errors.std(ddof=1) / 4.0, expected.uncertainty)
    assert abs(errors.mean() - expected.test_error) < Z_LIMIT * bar + 0.5 / dim


def test_long_sequences_with_many_signal_tokens():
    """As if all tokens were pooled: Gaussian, where the signal is spread over many tokens."""
    problem = SparseTokenProblem(2_000, 1_000, 0.04)
    found = optimal(problem, 1.0, n_points=256)
    assert found.test_error >= 0.0
    pooled = optimal(SparseTokenProblem(1, 1, problem.snr), 1.0)
    assert found.overlap == pytest.approx(pooled.overlap, rel=0.02)
    bar = 3.0 * found.uncertainty
    assert found.test_error == pytest.approx(pooled.test_error, rel=0.02, abs=bar)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"alpha": 1e12}, "alpha"),
        ({"unlabelled": -1.0}, "unlabelled"),
        ({"unlabelled": "many"}, "unlabelled"),
        ({"n_points": 10}, "n_points"),
        ({"problem": "easy"}, "problem"),
        ({"problem": SparseTokenProblem(5, 1, 3.0, 0.0)}, "positive_rate"),
    ],
)
def test_bad_argument_is_named(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        optimal(**{"problem": SparseTokenProblem(5, 1, 3.0)} | arguments)


def test_a_bad_rate_is_named():
    with pytest.raises(ValueError, match=r"^fpr must"):
        optimal(SparseTokenProblem(5, 1, 3.0)).recall(0.0)


@pytest.mark.parametrize("name", ["one token", "runs", "two lengths"])
def test_free_entropy_grows_with_samples_by_their_information(name):
    problem = PROBLEMS[name]
    low, middle, high = (learn(problem, 1.0 + shift) for shift in (-1e-3, 0.0, 1e-3))
    slope = (high.free_entropy - low.free_entropy) / 2e-3
    information = 0.5 * information_curve(problem, 512).integral(middle.overlap)[0]
    assert slope == pytest.approx(information, rel=1e-3)
