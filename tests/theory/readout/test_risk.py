"""Curves, the best ridge, and longer sequences by windows."""

import math

import numpy as np
import pytest
from statistical import Z_LIMIT, quick_first, standard_score

from populations import TWO_LENGTHS
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.law import Readout
from sparsetoken.pooling import Softmax
from sparsetoken.theory import risk, two_step_risk

PROBLEM = SparseTokenProblem(10, 1, 4.0, 0.3)
QUERY = {"cosine": 0.9, "sharpness": 1.5}


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
@pytest.mark.parametrize(
    ("model", "options"), quick_first([("pooled", {}), ("attention", QUERY)]), ids=str
)
def test_best_ridge_beats_a_grid(loss, model, options):
    options = {"loss": loss, "n_points": 2048, **options} if options else {"loss": loss}
    best = risk(PROBLEM, model, alpha=2.0, reg="best", **options)
    assert best.converged
    grid = [risk(PROBLEM, model, alpha=2.0, reg=10.0**k, **options) for k in (-4, -3, -2, -1, 0)]
    least = min(r.test_error for r in grid if r.converged)
    assert best.test_error < least + 2 * best.uncertainty
    again = risk(PROBLEM, model, alpha=2.0, reg=best.reg, **options)
    assert again.test_error == pytest.approx(best.test_error, rel=1e-5)
    for factor in (0.5, 2.0):
        other = risk(PROBLEM, model, alpha=2.0, reg=factor * best.reg, **options)
        assert other.test_error > best.test_error - 3e-3 * best.test_error


def test_balanced_classes_pooled_want_a_strong_ridge():
    """Two Gaussians of equal weight: the mean difference is the best direction of all."""
    problem = SparseTokenProblem(10, 1, 5.0)
    curve = risk(problem, "pooled", alpha=[1.0, 2.0], reg="best")
    for found in curve:
        strong = risk(problem, "pooled", alpha=found.alpha, reg=1e3).test_error
        assert found.test_error == pytest.approx(strong, abs=2e-4)


def test_best_ridge_of_populations_and_of_the_protocol():
    found = risk(TWO_LENGTHS, "attention", alpha=2.0, reg="best", n_points=2048, **QUERY)
    assert (
        found.test_error
        < risk(TWO_LENGTHS, "attention", alpha=2.0, reg=1e-5, n_points=2048, **QUERY).test_error
    )
    options = {"reg": "best", "n_points": 2048}
    curve = two_step_risk(PROBLEM, alpha0=[1.0, 2.0], alpha1=[1.0, 2.0], **options)
    assert curve[1].test_error < curve[0].test_error
    alone = two_step_risk(PROBLEM, alpha0=2.0, alpha1=2.0, **options)
    assert curve[1].reg == alone.reg
    with pytest.raises(ValueError, match="reg must be"):
        risk(PROBLEM, "pooled", alpha=2.0, reg="worst")


def test_state_variables_are_the_saddle_point():
    """The conditions of docs/theory, section 4, in the documented attributes."""
    found = risk(PROBLEM, "pooled", alpha=2.0, reg=1e-2, loss="square")
    # Square loss: ℓ″ = 1 and every average is in closed form; pooled features have noise 1/√L.
    noise, mean = 0.1, 0.4
    chi = found.chi
    assert 1 / (2.0 * chi) == pytest.approx(1e-2 + noise / (1 + chi * noise), rel=1e-6)
    w, b = found.readout_along_rest, found.bias
    slopes = np.array([mean * w + b - 1.0, b + 1.0]) / (1 + chi * noise)
    rates = np.array([0.3, 0.7])
    assert rates @ slopes == pytest.approx(0.0, abs=1e-7)
    assert w / (2.0 * chi) + 0.3 * mean * slopes[0] == pytest.approx(0.0, abs=1e-7)
    rho = math.hypot(w, found.readout_spread)
    squares = slopes**2 + noise * rho**2 / (1 + chi * noise) ** 2
    assert found.readout_spread**2 == pytest.approx(
        2.0 * chi**2 * noise * (rates @ squares), rel=1e-6
    )
    assert found.readout_overlap == w
    assert found.readout_norm == pytest.approx(rho)
    assert found.readout_along_query == 0.0
    assert isinstance(found.readout, Readout)


def window_scores(problem, found, n_windows, n, seed):
    """Scores of dense sequences in few dimensions, whose readout has the limit's overlaps."""
    rng = np.random.default_rng(seed)
    cosine, x = found.cosine, found.readout
    unit = np.array([cosine, math.sqrt(1 - cosine**2), 0.0])  # the query; the signal is the first
    rest = np.array([math.sqrt(1 - cosine**2), -cosine, 0.0])
    coef = x.along_query * unit + x.along_rest * rest + x.spread * np.array([0.0, 0.0, 1.0])
    X, y = problem.sample(n, 3, random_state=rng, direction=np.eye(3)[0])
    # Shuffling tokens across windows would spread several signals: keep all of them in one.
    X = X.reshape(n * n_windows, -1, 3)
    weights = Softmax().weights(found.sharpness * X @ unit)
    scores = np.einsum("nl,nld,d->n", weights, X, coef) + x.bias
    return y, scores.reshape(n, n_windows).max(axis=1)


@pytest.mark.statistical
def test_longer_sequences_whole_and_by_windows():
    """One token has the signal, so it is in one window: dense sequences agree."""
    trained = risk(PROBLEM, "attention", alpha=3.0, reg=1e-2, **QUERY)
    longer = SparseTokenProblem(60, 1, 4.0, 0.3)
    whole = trained.on(longer)
    for tested, n_windows in ((whole, 1), (whole.windowed(6), 6), (trained.windowed(2), 2)):
        problem = PROBLEM if n_windows == 2 else longer
        y, scores = window_scores(problem, trained, n_windows, 20_000, n_windows)
        wrong = (scores > 0) != y
        assert abs(standard_score(wrong, tested.test_error)) < Z_LIMIT
        threshold = tested.threshold(fpr=0.05)
        assert abs(standard_score(scores[y == 0] > threshold, 0.05)) < Z_LIMIT
        recall = tested.recall(fpr=0.05)
        assert abs(standard_score(scores[y == 1] > threshold, recall)) < Z_LIMIT
        assert abs(standard_score(scores[y == 1] > threshold, 0.9 * recall)) > Z_LIMIT
    blunt = risk(PROBLEM, "attention", alpha=3.0, reg=1e-2, cosine=0.9, sharpness=0.5)
    crowd = blunt.on(SparseTokenProblem(300, 1, 4.0, 0.3))  # the signal drowns among 300 tokens
    assert crowd.windowed(30).recall(0.01) > 1.5 * crowd.recall(0.01)
    assert whole.windowed(6).threshold(0.01) > trained.threshold(0.01)
    with pytest.raises(
        ValueError, match=r"n_windows must divide the number of tokens, 60, .* got 7"
    ):
        whole.windowed(7)
    with pytest.raises(ValueError, match="windows need sequences of one length"):
        trained.on(TWO_LENGTHS).windowed(2)


def test_curve_equals_single_points():
    problem = SparseTokenProblem(10, 1, 5.0)
    options = {"reg": 1e-2, "cosine": 0.9, "sharpness": 1.0}
    alphas = [0.5, 2.0, 8.0, math.inf]
    curve = risk(problem, "attention", alpha=alphas, **options)
    for alpha, point in zip(alphas, curve, strict=True):
        alone = risk(problem, "attention", alpha=alpha, **options)
        assert point.test_error == pytest.approx(alone.test_error, rel=1e-4)
        assert point.train_loss == pytest.approx(alone.train_loss, rel=1e-4)
    assert [point.alpha for point in curve] == alphas


def test_two_step_risk_joins_alignment_and_risk():
    problem = SparseTokenProblem(10, 1, 5.0)
    found = two_step_risk(problem, alpha0=2.0, alpha1=3.0, reg=1e-2, loss="square", lr_query=5.0)
    assert 0.5 < found.cosine < 1.0
    same = risk(
        problem,
        "attention",
        alpha=3.0,
        reg=1e-2,
        loss="square",
        cosine=found.cosine,
        sharpness=found.sharpness,
    )
    assert found.test_error == same.test_error


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
def test_a_curve_of_the_protocol_agrees_with_its_points(loss):
    problem = SparseTokenProblem(10, 1, 5.0, 0.4)
    ratios, settings = (
        [0.3, 1.0, 4.0],
        {"reg": 1e-2, "loss": loss, "lr_bias": 2.0, "n_points": 2048},
    )
    curve = two_step_risk(problem, alpha0=ratios, alpha1=ratios[::-1], **settings)
    for alpha0, alpha1, found in zip(ratios, ratios[::-1], curve, strict=True):
        alone = two_step_risk(problem, alpha0=alpha0, alpha1=alpha1, **settings)
        assert found.test_error == pytest.approx(alone.test_error, rel=1e-4)
        assert found.train_loss == pytest.approx(alone.train_loss, rel=1e-4, abs=1e-9)
        assert found.cosine == alone.cosine


def test_a_single_ratio_goes_with_each_of_a_sequence():
    problem = SparseTokenProblem(10, 1, 5.0)
    curve = two_step_risk(problem, alpha0=2.0, alpha1=(1.0, 3.0), reg=1e-2, n_points=256)
    assert [r.alpha for r in curve] == [1.0, 3.0]
    assert curve[0].cosine == curve[1].cosine
    with pytest.raises(ValueError, match="alpha0 and alpha1 must be equally many, got 3 and 2"):
        two_step_risk(problem, alpha0=[1.0, 2.0, 3.0], alpha1=[1.0, 2.0], reg=1e-2)


@pytest.mark.parametrize("argument", ["alpha0", "alpha1"])
def test_each_of_the_two_ratios_is_named(argument):
    with pytest.raises(ValueError, match=f"^{argument} must be .* got -1"):
        two_step_risk(PROBLEM, **{"alpha0": 1.0, "alpha1": 1.0, "reg": 0.1, argument: -1.0})


def test_two_steps_on_a_huge_signal_say_what_to_lower():
    problem = Population([SparseTokenProblem(5, 1, 3.0), SparseTokenProblem(5, 1, 1e6)])
    with pytest.raises(
        ValueError, match=r"^the learned query has sharpness .*; lower beta, lr_readout"
    ):
        two_step_risk(problem, alpha0=2.0, alpha1=2.0, reg=1e-2, loss="square")
