"""Oracles: closed forms, simulation, order, and what scales with the length."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from statistical import Z_LIMIT, quick_first, standard_score

from populations import LABEL_ERRORS, POPULATIONS, STRENGTHS, TWO_LENGTHS
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.theory import alignment, capacity, oracle_error, required_signal, risk
from sparsetoken.theory.token_scores import log_likelihood_ratio

CHECKED = json.loads((Path(__file__).parent / "checked_values.json").read_text())["oracle"]
MODELS = ("pooled", "vectorized", "attention", "hardmax", "elementwise", "bayes")


@pytest.mark.parametrize("row", CHECKED, ids=lambda row: str(row["n_tokens"]))
def test_checked_values(row):
    names = ("n_tokens", "n_signal", "signal", "positive_rate")
    problem = SparseTokenProblem(**{name: row[name] for name in names})
    for model in ("pooled", "hardmax"):
        assert oracle_error(problem, model) == pytest.approx(row[model], abs=2e-6)
    for model in ("attention", "bayes"):  # the checked values are Monte Carlo themselves
        found = oracle_error(problem, model)
        noise = math.sqrt(row[model] * (1 - row[model]) / row["mc_samples"])
        assert found == pytest.approx(
            row[model], abs=Z_LIMIT * math.hypot(noise, found.uncertainty)
        )


def test_hardmax_against_simulation():
    problem, rng = SparseTokenProblem(20, 3, 2.0, 0.3), np.random.default_rng(0)
    noise = rng.standard_normal((2, 100_000, 20))
    noise[0, :, :3] += 2.0
    positive, negative = noise.max(axis=2)
    best = min(
        0.3 * (positive < t).mean() + 0.7 * (negative >= t).mean() for t in np.linspace(1, 5, 401)
    )
    assert oracle_error(problem, "hardmax") == pytest.approx(best, abs=3e-3)
    assert oracle_error(problem, "hardmax") > 0.95 * best


@pytest.mark.parametrize(
    "problem",
    quick_first(
        [
            SparseTokenProblem(97, 1, 6.05, 0.001),
            SparseTokenProblem(20, 2, 4.0, 1e-4),
            SparseTokenProblem(30, 25, 1.0, 0.999),
        ]
    ),
    ids=str,
)
def test_no_oracle_is_below_bayes_for_rare_classes(problem):
    bayes = oracle_error(problem, "bayes", n_points=4096)
    assert bayes.uncertainty < 0.02 * bayes
    for model in MODELS:
        found = oracle_error(problem, model, n_points=4096)
        assert found >= bayes - 3 * math.hypot(bayes.uncertainty, found.uncertainty)


@pytest.mark.parametrize(
    "problem",
    quick_first([SparseTokenProblem(10, 1, 3.0), SparseTokenProblem(30, 5, 1.5, 0.2)]),
    ids=str,
)
def test_order_of_the_architectures(problem):
    errors = {model: oracle_error(problem, model) for model in MODELS}
    slack = 4 * max(error.uncertainty for error in errors.values()) + 1e-3
    assert errors["bayes"] <= min(errors.values()) + slack
    assert errors["attention"] <= min(errors["pooled"], errors["hardmax"]) + slack
    assert errors["vectorized"] <= errors["pooled"] + 1e-9
    assert all(
        error <= min(problem.positive_rate, 1 - problem.positive_rate) for error in errors.values()
    )


def test_limits():
    for model in MODELS:
        silent = oracle_error(SparseTokenProblem(5, 1, 0.0, 0.3), model, n_points=1024)
        assert silent == pytest.approx(0.3, abs=2e-3)
        assert oracle_error(SparseTokenProblem(5, 1, 3.0, 1.0), model) == 0.0
        # One token: two Gaussians at distance θ for every architecture that sees the signal's sign.
        if model != "elementwise":
            single = oracle_error(SparseTokenProblem(1, 1, 2.0), model)
            assert single == pytest.approx(ndtr(-1.0), abs=4 * single.uncertainty + 1e-4)
    every = SparseTokenProblem(9, 9, 1.0)
    bayes = oracle_error(every, "bayes")
    assert bayes == pytest.approx(ndtr(-1.5), abs=4 * bayes.uncertainty + 1e-4)
    assert oracle_error(every, "pooled") == pytest.approx(ndtr(-1.5), abs=1e-9)


@pytest.mark.parametrize("model", quick_first(MODELS, 2))
def test_required_signal_round_trip(model):
    problem = SparseTokenProblem(8, 2, 99.0, 0.4)
    signal = required_signal(problem, model, error=0.1, n_points=2048)
    reached = SparseTokenProblem(8, 2, signal, 0.4)
    assert oracle_error(reached, model, n_points=2048) == pytest.approx(0.1, abs=2e-4)
    assert required_signal(problem, model, error=0.4) == 0.0


@pytest.mark.statistical
def test_linear_rules_need_a_root_and_hardmax_a_root_of_the_logarithm():
    lengths = np.array([10**2, 10**3, 10**4, 10**5, 10**6])
    need = {
        model: np.array(
            [required_signal(SparseTokenProblem(int(n)), model, error=0.05) for n in lengths]
        )
        for model in ("pooled", "vectorized", "hardmax")
    }
    for model in ("pooled", "vectorized"):
        slope = np.diff(np.log(need[model])) / np.diff(np.log(lengths))
        assert slope == pytest.approx(np.full(4, 0.5), abs=1e-3)
    over = need["hardmax"] - np.sqrt(2 * np.log(lengths))
    assert (over > 0).all()
    assert (np.diff(need["hardmax"] / np.sqrt(2 * np.log(lengths))) < 0).all()  # towards 1
    assert need["hardmax"][-1] < 7.0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda p: oracle_error(p, "mean"), "model must be one of 'pooled'"),
        (lambda p: required_signal(p, "pooled", error=0.0), "error must be"),
        (lambda p: required_signal(p, "pooled", error=-1), "error must be"),
        (lambda p: oracle_error(p, "bayes", n_points=3), "n_points must be"),
    ],
)
def test_bad_argument_is_named(call, match):
    with pytest.raises(ValueError, match=match):
        call(SparseTokenProblem(5))


@pytest.mark.parametrize("model", ["attention", "elementwise"])
def test_no_error_is_negative(model):
    error = oracle_error(SparseTokenProblem(50, 50, 1.5), model)
    assert 0.0 <= error <= 1e-4


def tokens_along_signal(population, n, seed):
    """Draw tokens in one dimension; returns them with recorded labels, true classes and kinds."""
    X, y, truth = population.sample(n, 1, random_state=seed, direction=[1.0], return_truth=True)
    return [tokens[:, 0] for tokens in X], y == 1, truth


def least_error(scores, label, thresholds):
    return min(np.mean((scores > t) != label) for t in thresholds)


@pytest.mark.parametrize("name", quick_first(POPULATIONS))
def test_populations_against_monte_carlo(name):
    population, n = POPULATIONS[name], 30_000
    X, label, _ = tokens_along_signal(population, n, 0)
    rules = {
        "pooled": np.array([x.mean() for x in X]),
        "hardmax": np.array([x.max() for x in X]),
    }
    best = oracle_error(population, "attention", n_points=4096)
    sharpness = min(best.sharpness, 50.0)
    weights = [np.exp(sharpness * (x - x.max())) for x in X]
    rules["attention"] = np.array([w @ x / w.sum() for w, x in zip(weights, X, strict=True)])
    for model, scores in rules.items():
        found = oracle_error(population, model, n_points=4096)
        noise = math.hypot(math.sqrt(found * (1 - found) / n), found.uncertainty)
        best = least_error(scores, label, np.linspace(scores.min(), scores.max(), 400))
        assert abs(found - best) < Z_LIMIT * noise + 1e-3, model
        assert found > oracle_error(population, "bayes", n_points=4096) - 4e-4
    # The likelihood ratio given the length, its kinds mixed, and the recorded labels.
    missed, invented = population.label_errors
    right = []
    for x, y in zip(X, label, strict=True):
        positive = negative = 0.0
        for kind, share in population:
            if kind.n_tokens == x.size:
                ratio = math.exp(log_likelihood_ratio(x[np.newaxis], kind)[0])
                positive += share * kind.positive_rate * ratio
                negative += share * (1 - kind.positive_rate)
        recorded = (1 - missed) * positive + invented * negative
        other = missed * positive + (1 - invented) * negative
        right.append((recorded > other) == y)
    floor = oracle_error(population, "bayes", n_points=4096)
    assert abs(standard_score(~np.array(right), floor)) < Z_LIMIT


def test_one_kind_has_the_oracles_of_the_problem():
    problem = SparseTokenProblem(12, 2, 2.0, 0.3)
    for model in MODELS:
        expected = oracle_error(problem, model, n_points=2048)
        for one in (Population([problem]), Population([problem, problem], [0.4, 0.6])):
            assert oracle_error(one, model, n_points=2048) == expected
    unit = SparseTokenProblem(12, 2, 1.0, 0.3)
    for model in ("pooled", "hardmax"):
        expected = required_signal(problem, model, error=0.05)
        assert required_signal(Population([unit]), model, error=0.05) == expected


def test_required_factor_of_a_population():
    for model in ("pooled", "hardmax"):
        factor = required_signal(TWO_LENGTHS, model, error=0.06, n_points=2048)
        strong = TWO_LENGTHS.map(lambda k, f=factor: replace(k, signal=f * k.signal))
        assert oracle_error(strong, model, n_points=2048) == pytest.approx(0.06, abs=1e-5)
        assert 0 < factor.uncertainty < 0.01 * factor
    with pytest.raises(ValueError, match=r"error must be reachable: hardmax stays above 0\.01"):
        required_signal(LABEL_ERRORS, "hardmax", error=0.01)


def test_label_errors_set_a_floor():
    strong = Population([SparseTokenProblem(5, 1, 30.0, 0.4)], label_errors=(0.2, 0.05))
    for model in ("hardmax", "attention", "bayes"):
        floor = oracle_error(strong, model, n_points=1024)
        assert floor == pytest.approx(0.4 * 0.2 + 0.6 * 0.05, abs=2e-3)


def test_vectorized_oracle_needs_one_length():
    with pytest.raises(ValueError, match="'vectorized' needs sequences of one length"):
        oracle_error(TWO_LENGTHS, "vectorized")
    # A readout of all tokens does no worse than one of their mean.
    assert oracle_error(STRENGTHS, "vectorized") <= oracle_error(STRENGTHS, "pooled") + 1e-9


RUNS = SparseTokenProblem(12, 3, 1.5, 0.4, contiguous=True)


def scattered(problem):
    return replace(problem, contiguous=False)


@pytest.mark.statistical
def test_what_does_not_see_positions_is_the_same_for_runs():
    for model in ("pooled", "attention", "hardmax", "elementwise"):
        assert oracle_error(RUNS, model) == oracle_error(scattered(RUNS), model)
    query = {"cosine": 0.9, "sharpness": 1.0}
    for model, given in (("pooled", {}), ("attention", query)):
        runs, others = (
            risk(p, model, alpha=2.0, reg=0.1, n_points=512, **given)
            for p in (RUNS, scattered(RUNS))
        )
        assert runs.test_error == others.test_error
        assert capacity(RUNS, model, **given) == capacity(scattered(RUNS), model, **given)
    assert alignment(RUNS, alpha=2.0) == alignment(scattered(RUNS), alpha=2.0)
    one = SparseTokenProblem(7, 1, 3.0)
    assert oracle_error(replace(one, contiguous=True), "bayes") == oracle_error(one, "bayes")


def test_vectorized_oracle_of_runs_against_simulation():
    """The best even spread over tokens in the middle, by the samples themselves."""
    problem = SparseTokenProblem(9, 3, 5.0, contiguous=True)
    X, y = problem.sample(40_000, 1, random_state=3, direction=[1.0])
    best = 1.0
    for count in range(1, 10):
        first = (9 - count) // 2
        scores = X[:, first : first + count, 0].sum(axis=1) / math.sqrt(count)
        errors = [((scores > t) != (y == 1)).mean() for t in np.linspace(-1.0, 6.0, 71)]
        best = min(best, *errors)
    assert oracle_error(problem, "vectorized") == pytest.approx(best, abs=0.01)
