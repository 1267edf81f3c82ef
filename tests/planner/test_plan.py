import math
import warnings

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.planner import UnreachableError

ROUND_TRIP = 0.01  # of the target, as documented
EASY = {"dim": 100, "n_tokens": 10, "n_signal": 2, "signal": 4.0, "positive_rate": 0.4}
POOLED = {"dim": 50, "n_tokens": 4, "n_signal": 2, "signal": 3.0, "positive_rate": 0.4}


@pytest.fixture(scope="module")
def attention():
    return st.plan(**EASY, error=0.05)


def test_solving_for_samples_and_predicting_there_agree(attention):
    assert isinstance(attention.n_samples, int)
    assert attention.error <= 0.05 * (1 + 1e-3)
    assert attention.error > 0.05 * (1 - 2.0 / attention.n_samples * 5)  # one sample changes little
    back = st.plan(**EASY, n_samples=attention.n_samples)
    assert back.error == pytest.approx(attention.error, rel=ROUND_TRIP)
    assert back.solved_for == "error"
    assert 0 < attention.uncertainty < 1e-3


@pytest.mark.parametrize("unknown", ["dim", "signal"])
def test_round_trip_of_attention(attention, unknown):
    given = {**EASY, unknown: None}
    found = st.plan(**given, n_samples=attention.n_samples, error=0.05)
    assert getattr(found, unknown) == pytest.approx(EASY[unknown], rel=0.02)
    back = st.plan(**{**given, unknown: getattr(found, unknown)}, n_samples=found.n_samples)
    assert back.error == pytest.approx(found.error, rel=ROUND_TRIP)


@pytest.mark.parametrize("unknown", ["n_tokens", "n_signal"])
def test_whole_numbers_of_attention(attention, unknown):
    target = 0.05 * (1 + ROUND_TRIP)
    given = {**EASY, unknown: None}
    found = st.plan(**given, n_samples=attention.n_samples, error=target)
    assert getattr(found, unknown) == EASY[unknown]
    assert found.error == pytest.approx(attention.error, rel=ROUND_TRIP)


def test_how_rare_positives_may_be_for_attention():
    full = {**EASY, "n_samples": 300, "positive_rate": 0.2, "metric": "auc"}
    target = st.plan(**full).error
    found = st.plan(**{**full, "positive_rate": None}, error=target)
    assert found.positive_rate == pytest.approx(0.2, rel=0.03)
    assert found.error == pytest.approx(target, rel=ROUND_TRIP)
    assert 0 < found.uncertainty < 0.1 * target


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
@pytest.mark.parametrize(
    "unknown", ["n_samples", "dim", "n_tokens", "n_signal", "signal", "positive_rate"]
)
@pytest.mark.parametrize("metric", ["error", "auc"])
def test_round_trip_of_linear_models(model, unknown, metric):
    full = {**POOLED, "n_samples": 1500, "model": model, "metric": metric}
    target = st.plan(**full).error
    if unknown == "positive_rate" and metric == "error":
        # Below one half the error rises and falls with the rate: aim where it only falls.
        full["positive_rate"] = 0.3
        target = st.plan(**full).error
    found = st.plan(**{**full, unknown: None}, error=target * (1 + 1e-3))
    value = getattr(found, unknown)
    if unknown in ("n_tokens", "n_signal"):
        assert value == full[unknown]
    else:
        back = st.plan(**{**full, unknown: value})
        assert back.error == pytest.approx(target, rel=ROUND_TRIP)
    assert found.error <= target * (1 + ROUND_TRIP)


def test_whole_numbers_are_the_last_that_meet_the_target():
    given = {**POOLED, "n_samples": 300, "model": "pooled", "error": 0.1}
    longest = st.plan(**{**given, "n_tokens": None})
    assert longest.error <= 0.1
    longer = {**given, "n_tokens": longest.n_tokens + 1, "error": None}
    assert st.plan(**longer).error > 0.1
    fewest = st.plan(**{**given, "n_tokens": 8, "n_signal": None})
    assert fewest.error <= 0.1
    fewer = {**given, "n_tokens": 8, "n_signal": fewest.n_signal - 1, "error": None}
    assert st.plan(**fewer).error > 0.1


def test_one_signal_token_can_be_enough():
    found = st.plan(n_samples=500, dim=20, n_tokens=3, n_signal=None, signal=8.0, error=0.1)
    assert found.n_signal == 1
    assert found.error < 0.1


def test_prediction_is_the_theory_at_the_settings(attention):
    settings = dict(attention.settings)
    clf = st.TwoStepAttentionClassifier(**settings)
    assert clf.get_params()["split"] == settings["split"]
    split = settings.pop("split")
    alpha = attention.n_samples / attention.dim
    exact = st.theory.two_step_risk(
        attention.problem, alpha0=split * alpha, alpha1=(1 - split) * alpha, **settings
    )
    assert attention.error == pytest.approx(exact.test_error, rel=1e-6)
    pooled = st.plan(**POOLED, n_samples=200, model="pooled")
    exact = st.theory.risk(pooled.problem, "pooled", alpha=4.0, **pooled.settings)
    assert pooled.error == exact.test_error


def test_settings_beat_the_defaults_and_their_neighbours(attention):
    alpha = attention.n_samples / attention.dim
    problem = attention.problem

    def error(**settings):
        split = settings.pop("split")
        halves = {"alpha0": split * alpha, "alpha1": (1 - split) * alpha}
        return st.theory.two_step_risk(problem, **halves, **settings).test_error

    chosen = attention.settings
    assert attention.error < error(split=0.5, reg=1e-2)
    for change in (
        {"split": 0.5 * chosen["split"]},
        {"lr_query": 3 * chosen["lr_query"]},
        {"lr_query": chosen["lr_query"] / 3},
        {"reg": chosen["reg"] / 30},
        {"lr_bias": 0.3 * chosen["lr_bias"]},
        {"lr_bias": 3 * chosen["lr_bias"]},
    ):
        assert attention.error < error(**{**chosen, **change}), change


def test_curve_and_alternatives(attention):
    curve = attention.curve
    assert curve.quantity == "n_samples"
    assert attention.n_samples in curve.values
    assert np.all(np.diff(curve.errors) < 0)
    assert all(0 < bar < 0.01 for bar in curve.uncertainties)
    here = curve.errors[curve.values.index(attention.n_samples)]
    assert here == attention.error
    assert set(attention.alternatives) == {"pooled", "vectorized", "bayes"}
    assert attention.alternatives["bayes"] < attention.error < attention.alternatives["pooled"]
    assert attention.alternatives["pooled"] < attention.alternatives["vectorized"]
    bayes = st.theory.oracle_error(attention.problem, "bayes")
    assert attention.alternatives["bayes"] == float(bayes)


def test_summary_and_plot(attention, tmp_path):
    text = attention.summary()
    assert text.startswith(f"attention needs n_samples at least {attention.n_samples} for an error")
    for word in ("split", "lr_query", "vectorized", "bayes", "±"):
        assert word in text
    attention.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"
    assert repr(attention) == f"Plan({attention.answer})"


def test_auc_of_rare_positives():
    rare = {"dim": 500, "n_tokens": 5, "signal": 3.0, "positive_rate": 0.1, "metric": "auc"}
    found = st.plan(**rare, error=0.05, model="pooled", n_signal=2)
    assert 1 - found.prediction.auc == found.error == pytest.approx(0.05, rel=ROUND_TRIP)
    assert "AUC of 0.95" in found.answer
    assert "bayes" not in found.alternatives


def test_best_is_the_model_that_needs_least():
    given = {"dim": 50, "n_tokens": 3, "n_signal": 3, "signal": 1.5, "error": 0.15}
    best = st.plan(**given, model="best")
    needs = {m: st.plan(**given, model=m).n_samples for m in ("pooled", "vectorized", "attention")}
    assert best.n_samples == min(needs.values())
    assert needs[best.model] == best.n_samples


def test_impossible_requests_say_why_and_what_would_help():
    hopeless = {"dim": 100, "n_tokens": 50, "signal": 6.0}
    with pytest.raises(
        UnreachableError, match=r"floor is 0\.336 at any sample size.*attention reaches"
    ):
        st.plan(**hopeless, error=0.05, model="pooled")
    with pytest.raises(UnreachableError, match=r"Bayes floor 0\.00[0-9]+.*signal above"):
        st.plan(**hopeless, error=0.002)
    with pytest.raises(UnreachableError, match=r"at any n_tokens up to 2.*more samples would help"):
        st.plan(n_samples=20, dim=500, n_signal=2, signal=0.5, error=0.01, model="pooled")
    with pytest.raises(UnreachableError, match="met by pooled at every dim searched"):
        st.plan(n_samples=50, n_tokens=1, n_signal=1, signal=1e4, error=0.4, model="pooled")
    with pytest.raises(UnreachableError, match=r"at any positive_rate up to 0\.5"):
        st.plan(
            n_samples=20,
            dim=500,
            n_tokens=5,
            signal=1.0,
            positive_rate=None,
            error=0.1,
            metric="auc",
            model="pooled",
        )
    with pytest.raises(UnreachableError, match="always predicting the commoner class"):
        st.plan(
            n_samples=20,
            dim=500,
            n_tokens=5,
            signal=1.0,
            positive_rate=None,
            error=0.1,
            model="pooled",
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"error": 0.1, "n_samples": 100}, "exactly one of .* must be None.*got none"),
        ({"dim": None}, "exactly one of .* got n_samples, dim, error"),
        ({"error": 0.4}, "error must be below 0.4"),
        ({"error": 0.5, "metric": "auc"}, "error must be below 0.5.*1 − AUC"),
        ({"error": 0.0}, r"error must be a finite number in \(0"),
        ({"error": -0.1}, "error must be"),
        ({"error": math.nan}, "error must be"),
        ({"error": 0.1, "n_signal": 11}, r"n_signal must be an integer in \[1, 10\]"),
        ({"n_samples": 3}, "n_samples must be an integer >= 8"),
        ({"n_samples": 99.5}, "n_samples must be"),
        ({"error": 0.1, "signal": 0.0}, "signal must be"),
        ({"error": 0.1, "positive_rate": 1.0}, "positive_rate must be"),
        ({"error": 0.1, "model": "magic"}, "model must be one of 'attention', 'pooled'"),
        ({"error": 0.1, "metric": "f1"}, "metric must be one of 'error', 'auc'"),
    ],
)
def test_bad_input_names_the_argument(change, message):
    with pytest.raises(ValueError, match=message):
        st.plan(**{**EASY, **change})


def test_the_plan_is_true_at_small_size():
    """The planned protocol, on dense samples, gives the planned error."""
    dim, trials = 120, 16
    planned = st.plan(dim=dim, n_tokens=6, n_signal=2, signal=3.0, positive_rate=0.4, error=0.08)
    errors = []
    for seed in range(trials):
        X, y, truth = planned.problem.sample(
            planned.n_samples, dim, random_state=seed, return_truth=True
        )
        clf = st.TwoStepAttentionClassifier(**planned.settings, random_state=seed).fit(X, y)
        fresh, labels = planned.problem.sample(
            2000, dim, random_state=[seed, 1], direction=truth.direction
        )
        errors.append(1 - clf.score(fresh, labels))
    spread = np.std(errors, ddof=1) / np.sqrt(trials)
    expected = planned.finite_size_error
    assert planned.error < expected < 1.5 * planned.error
    assert abs(np.mean(errors) - expected) < 3 * spread + 0.1 * expected


def test_planning_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.plan(**POOLED, n_samples=40, model="best")
