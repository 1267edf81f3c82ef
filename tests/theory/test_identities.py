"""Identities that hold for every setting, over settings drawn at random."""

import math
from dataclasses import replace

import numpy as np
import pytest
from statistical import quick_first

from sparsetoken import SparseTokenProblem
from sparsetoken.theory import oracle_error, risk

LOSSES = ("logistic", "square", "hinge")
POOLINGS = ("attention", "hardmax", "elementwise")
POINTS = 1024


@pytest.fixture(params=quick_first(range(8), 2))
def rng(request):
    return np.random.default_rng(request.param)


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def draw_problem(rng, most_tokens=30, every=False):
    n_tokens = int(rng.integers(1, most_tokens + 1))
    n_signal = n_tokens if every else int(rng.integers(1, n_tokens + 1))
    signal = rng.choice([0.0, rng.uniform(0.0, 6.0)], p=[0.1, 0.9])
    # Balanced classes may leave the bias of the hinge loss free.
    rate = rng.choice([rng.uniform(0.02, 0.47), rng.uniform(0.53, 0.98)])
    return SparseTokenProblem(n_tokens, n_signal, float(signal), float(rate))


def draw_training(rng):
    return {
        "alpha": float(rng.choice([math.inf, log_uniform(rng, 0.1, 100.0)], p=[0.3, 0.7])),
        "reg": log_uniform(rng, 1e-6, 100.0),
        "loss": str(rng.choice(LOSSES)),
    }


def draw_query(rng):
    sharpness = rng.choice([0.0, log_uniform(rng, 1e-9, 30.0)], p=[0.2, 0.8])
    return {"cosine": rng.uniform(-0.95, 0.95), "sharpness": float(sharpness)}


def assert_close(first, second, exact=1e-7):
    """Test error and training loss agree within five combined error bars."""
    for name in ("test_error", "train_loss"):
        a, b = getattr(first, name), getattr(second, name)
        bar = math.hypot(a.uncertainty, b.uncertainty)
        assert a == pytest.approx(b, rel=1e-4, abs=5 * bar + exact)


def test_attention_without_sharpness_is_pooling(rng):
    problem, options = draw_problem(rng), draw_training(rng)
    query = {"cosine": rng.uniform(-1.0, 1.0), "sharpness": 0.0, "n_points": POINTS}
    attention = risk(problem, "attention", **query, **options)
    assert_close(attention, risk(problem, "pooled", **options), 1e-2)


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
def test_the_classes_of_a_linear_model_may_change_places(rng, model):
    problem, options = draw_problem(rng), draw_training(rng)
    mirrored = replace(problem, positive_rate=1.0 - problem.positive_rate)
    assert_close(risk(problem, model, **options), risk(mirrored, model, **options), 1e-6)


@pytest.mark.parametrize("model", ["attention", "hardmax"])
def test_one_token_leaves_nothing_to_attend_to(rng, model):
    problem, options, query = draw_problem(rng, 1), draw_training(rng), draw_query(rng)
    pooled = risk(problem, "pooled", **options)
    assert_close(risk(problem, "vectorized", **options), pooled)
    assert_close(risk(problem, model, n_points=POINTS, **query, **options), pooled)


def test_linear_models_know_the_signal_to_noise_ratio_only(rng):
    problem, options = draw_problem(rng), draw_training(rng)
    longer = replace(problem, n_tokens=4 * problem.n_tokens, signal=2.0 * problem.signal)
    less = {**options, "reg": options["reg"] / 4.0}
    assert_close(risk(problem, "pooled", **options), risk(longer, "pooled", **less), 1e-6)
    more = {**options, "alpha": 4.0 * options["alpha"]}
    assert_close(risk(problem, "vectorized", **options), risk(longer, "vectorized", **more), 1e-6)


def test_where_every_token_carries_the_signal_the_mean_is_all_there_is_to_know(rng):
    problem = draw_problem(rng, every=True)
    bayes, pooled, vectorized = (
        oracle_error(problem, model, n_points=POINTS) for model in ("bayes", "pooled", "vectorized")
    )
    assert vectorized == pytest.approx(pooled, rel=1e-6, abs=1e-12)
    assert bayes == pytest.approx(pooled, abs=5 * bayes.uncertainty + 1e-9)


def test_hardmax_is_attention_of_infinite_sharpness(rng):
    problem = draw_problem(rng)
    query = {"cosine": rng.uniform(-1.0, 1.0), "n_points": POINTS, **draw_training(rng)}
    assert_close(
        risk(problem, "attention", sharpness=1e9, **query), risk(problem, "hardmax", **query), 1e-6
    )


def test_a_point_of_a_curve_is_the_point(rng):
    problem, options, query = draw_problem(rng), draw_training(rng), draw_query(rng)
    model = str(rng.choice(POOLINGS))
    alpha = min(options.pop("alpha"), 100.0)
    settings_ = {"n_points": POINTS, **query, **options}
    curve = risk(problem, model, alpha=[alpha / 3, alpha / 2, alpha], **settings_)
    assert_close(curve[-1], risk(problem, model, alpha=alpha, **settings_), 1e-6)


@pytest.mark.parametrize("model", ["pooled", "vectorized", "attention", "hardmax"])
def test_no_classifier_beats_the_likelihood_ratio_nor_loses_to_a_constant(rng, model):
    problem, options = draw_problem(rng), draw_training(rng)
    query = {"n_points": POINTS, **draw_query(rng)} if model in POOLINGS else {}
    result = risk(problem, model, **query, **options)
    bayes = oracle_error(problem, "bayes", n_points=POINTS)
    bar = math.hypot(result.uncertainty, bayes.uncertainty)
    assert result.test_error >= bayes - 5 * bar - 1e-7
    rate = problem.positive_rate
    constant = {
        "logistic": -rate * math.log(rate) - (1 - rate) * math.log(1 - rate),
        "square": 2 * rate * (1 - rate),
        "hinge": 2 * min(rate, 1 - rate),
    }[options["loss"]]
    slack = 5 * result.train_loss.uncertainty + 1e-4 * constant  # the hinge may be left smoothed
    assert result.train_loss <= constant + slack
