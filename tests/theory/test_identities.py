"""Identities that hold for every setting, over settings drawn by hypothesis."""

import math
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sparsetoken import SparseTokenProblem
from sparsetoken.theory import oracle_error, risk, risk_curve

LOSSES = ("logistic", "square", "hinge")
POOLINGS = ("attention", "hardmax", "elementwise")
POINTS = 1024

seeded = settings(
    derandomize=True, deadline=None, max_examples=12, database=None, phases=[Phase.generate]
)


def log_uniform(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@st.composite
def problems(draw, most_tokens=30, every=False):
    n_tokens = draw(st.integers(1, most_tokens))
    n_signal = n_tokens if every else draw(st.integers(1, n_tokens))
    signal = draw(st.floats(0.0, 6.0))
    # Balanced classes may leave the bias of the hinge loss free.
    rate = draw(st.one_of(st.floats(0.02, 0.47), st.floats(0.53, 0.98)))
    return SparseTokenProblem(n_tokens, n_signal, signal, rate)


training = st.fixed_dictionaries(
    {
        "alpha": st.one_of(log_uniform(0.1, 100.0), st.just(math.inf)),
        "reg": log_uniform(1e-6, 100.0),
        "loss": st.sampled_from(LOSSES),
    }
)
queries = st.fixed_dictionaries(
    {
        "cosine": st.floats(-0.95, 0.95),
        "sharpness": st.one_of(st.just(0.0), log_uniform(1e-9, 30.0)),
    }
)


def assert_close(first, second, exact=1e-7):
    """Test error and training loss agree within five combined error bars."""
    for name in ("test_error", "train_loss"):
        a, b = getattr(first, name), getattr(second, name)
        bar = math.hypot(a.uncertainty, b.uncertainty)
        assert a == pytest.approx(b, rel=1e-4, abs=5 * bar + exact)


@seeded
@given(problems(), training, st.floats(-1.0, 1.0))
def test_attention_without_sharpness_is_pooling(problem, options, cosine):
    query = {"cosine": cosine, "sharpness": 0.0, "n_points": POINTS}
    attention = risk(problem, "attention", **query, **options)
    assert_close(attention, risk(problem, "pooled", **options), 1e-2)


@seeded
@given(problems(), training, st.sampled_from(("pooled", "vectorized")))
def test_the_classes_of_a_linear_model_may_change_places(problem, options, model):
    mirrored = replace(problem, positive_rate=1.0 - problem.positive_rate)
    assert_close(risk(problem, model, **options), risk(mirrored, model, **options), 1e-6)


@seeded
@given(problems(most_tokens=1), training, queries, st.sampled_from(("attention", "hardmax")))
def test_one_token_leaves_nothing_to_attend_to(problem, options, query, model):
    pooled = risk(problem, "pooled", **options)
    assert_close(risk(problem, "vectorized", **options), pooled)
    assert_close(risk(problem, model, n_points=POINTS, **query, **options), pooled)


@seeded
@given(problems(), training)
def test_linear_models_know_the_signal_to_noise_ratio_only(problem, options):
    longer = replace(problem, n_tokens=4 * problem.n_tokens, signal=2.0 * problem.signal)
    less = {**options, "reg": options["reg"] / 4.0}
    assert_close(risk(problem, "pooled", **options), risk(longer, "pooled", **less), 1e-6)
    more = {**options, "alpha": 4.0 * options["alpha"]}
    assert_close(risk(problem, "vectorized", **options), risk(longer, "vectorized", **more), 1e-6)


@seeded
@given(problems(every=True))
def test_where_every_token_carries_the_signal_the_mean_is_all_there_is_to_know(problem):
    bayes, pooled, vectorized = (
        oracle_error(problem, model, n_points=POINTS) for model in ("bayes", "pooled", "vectorized")
    )
    assert vectorized == pytest.approx(pooled, rel=1e-6, abs=1e-12)
    assert bayes == pytest.approx(pooled, abs=5 * bayes.uncertainty + 1e-9)


@seeded
@given(problems(), training, st.floats(-1.0, 1.0))
def test_hardmax_is_attention_of_infinite_sharpness(problem, options, cosine):
    query = {"cosine": cosine, "n_points": POINTS, **options}
    assert_close(
        risk(problem, "attention", sharpness=1e9, **query), risk(problem, "hardmax", **query), 1e-6
    )


@seeded
@given(problems(), training, queries, st.sampled_from(POOLINGS))
def test_a_point_of_a_curve_is_the_point(problem, options, query, model):
    alpha = min(options.pop("alpha"), 100.0)
    settings_ = {"n_points": POINTS, **query, **options}
    curve = risk_curve(problem, model, alphas=[alpha / 3, alpha / 2, alpha], **settings_)
    assert_close(curve[-1], risk(problem, model, alpha=alpha, **settings_), 1e-6)


@seeded
@given(problems(), training, queries, st.sampled_from(("pooled", "vectorized", *POOLINGS)))
def test_no_classifier_beats_the_likelihood_ratio_nor_loses_to_a_constant(
    problem, options, query, model
):
    query = {"n_points": POINTS, **query} if model in POOLINGS else {}
    found = risk(problem, model, **query, **options)
    bayes = oracle_error(problem, "bayes", n_points=POINTS)
    bar = math.hypot(found.uncertainty, bayes.uncertainty)
    assert found.test_error >= bayes - 5 * bar - 1e-7
    rate = problem.positive_rate
    constant = {
        "logistic": -rate * math.log(rate) - (1 - rate) * math.log(1 - rate),
        "square": 2 * rate * (1 - rate),
        "hinge": 2 * min(rate, 1 - rate),
    }[options["loss"]]
    slack = 5 * found.train_loss.uncertainty + 1e-4 * constant  # the hinge may be left smoothed
    assert found.train_loss <= constant + slack
