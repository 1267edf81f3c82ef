"""The theory of populations against simulation, and against limits where they are one problem."""

import math
from dataclasses import replace

import numpy as np
import pytest
from dense_reference import attention_features, two_gradient_steps
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from statistical import Z_LIMIT, quick_first, standard_score

from populations import LABEL_ERRORS, POPULATIONS, STRENGTHS, TWO_LENGTHS, with_strengths
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.sampling import (
    exact_performance,
    pooled_performance,
    sample_feature_law,
    sample_features,
    sample_query,
)
from sparsetoken.theory import alignment, capacity, risk, two_step_risk

each_population = pytest.mark.parametrize("name", POPULATIONS)
one_population_first = pytest.mark.parametrize("name", quick_first(POPULATIONS))
STEPS = ("readout_overlap", "readout_norm", "bias", "query_overlap", "query_norm", "cosine")
QUERY = {"cosine": 0.8, "sharpness": 1.2}
ONE = SparseTokenProblem(10, 1, 5.0, 0.4)


@each_population
@pytest.mark.parametrize(("alpha", "rates"), [(2.0, {}), (0.7, {"lr_readout": 3.0})], ids=str)
def test_alignment_agrees_with_simulation(name, alpha, rates):
    population, dim = POPULATIONS[name], 10_000
    rng = np.random.default_rng(0)
    drawn = [
        sample_query(population, int(alpha * dim), dim, loss=Logistic(), random_state=rng, **rates)
        for _ in range(60)
    ]
    limit = alignment(population, alpha=alpha, **rates)
    for quantity in STEPS:
        values = np.array([getattr(query, quantity) for query in drawn])
        assert abs(standard_score(values, getattr(limit, quantity))) < Z_LIMIT, quantity


def fit(features, y, reg):
    model = LogisticRegression(
        C=1.0 / (reg * len(y)), solver="newton-cholesky", tol=1e-10, max_iter=500
    ).fit(features, y)
    return model.coef_[0], float(model.intercept_[0])


def check(limit, rows, allowance, wrong=1.1):
    """Compare means over trials, with an allowance for the finite dimension."""
    for quantity in rows[0]:
        values = np.array([row[quantity] for row in rows])
        found = limit.recall(0.1) if quantity == "recall" else getattr(limit, quantity)
        error = math.hypot(values.std(ddof=1) / math.sqrt(len(rows)), found.uncertainty)
        assert abs(values.mean() - found) < Z_LIMIT * error + allowance * abs(found), quantity
    errors = np.array([row["test_error"] for row in rows])
    assert abs(standard_score(errors, wrong * limit.test_error)) > Z_LIMIT  # it would see that


@one_population_first
def test_attention_agrees_with_simulation(name):
    population = POPULATIONS[name]
    dim, trials, alpha, reg = 200, 16, 2.0, 2e-2
    limit = risk(population, "attention", alpha=alpha, reg=reg, **QUERY)
    direction, other = np.eye(dim)[:2]
    query = QUERY["sharpness"] * (0.8 * direction + 0.6 * other)
    rng = np.random.default_rng(0)
    law = sample_feature_law(population, 6000, **QUERY, random_state=rng)
    rows = []
    for _ in range(trials):
        F, y = sample_features(population, round(alpha * dim), query, direction, random_state=rng)
        coef, intercept = fit(F, y, reg)
        margin = (2 * y - 1) * (F @ coef + intercept)
        tested = exact_performance(law, coef, intercept, query, direction)
        rows.append(
            {
                "test_error": tested.test_error,
                "train_loss": Logistic().value(margin, 1.0).mean(),
                "train_error": (margin < 0).mean(),
                "auc": tested.auc,
                "test_loss": tested.test_loss,
                "recall": tested.recall(0.1),
                "readout_norm": np.linalg.norm(coef),
                "readout_overlap": coef @ direction,
                "bias": intercept,
            }
        )
    assert limit.converged
    check(limit, rows, 8e-3)


@one_population_first
def test_dense_tokens_from_end_to_end(name):
    """Two-step protocol and pooling on dense sequences, tested on dense sequences."""
    population, dim, trials, reg = POPULATIONS[name], 100, 12, 0.1
    rates = {"beta": 1.0, "lr_readout": 1.0, "lr_bias": 1.0, "lr_query": 20.0}
    rng = np.random.default_rng(0)
    n = 2 * dim
    rows = {"two-step": [], "pooled": []}
    for _ in range(trials):
        X, y, truth = population.sample(n, dim, random_state=rng, return_truth=True)
        query, _, _ = two_gradient_steps(X, y, Logistic(), **rates)
        data = [population.sample(n, dim, random_state=rng, direction=truth.direction)]
        data.append(population.sample(1500, dim, random_state=rng, direction=truth.direction))
        for model in rows:
            (F, y), (fresh, labels) = (
                (attention_features(X, 0 * query if model == "pooled" else query), y)
                for X, y in data
            )
            coef, intercept = fit(F, y, reg)
            scores = fresh @ coef + intercept
            margin = (2 * y - 1) * (F @ coef + intercept)
            rows[model].append(
                {
                    "test_error": ((scores > 0) != labels).mean(),
                    "auc": roc_auc_score(labels, scores),
                    "train_loss": Logistic().value(margin, 1.0).mean(),
                }
            )
            if model == "pooled":
                exact = pooled_performance(population, coef, intercept, truth.direction)
                wrong = (scores > 0) != labels
                assert abs(standard_score(wrong, exact.test_error)) < Z_LIMIT
    check(two_step_risk(population, alpha0=2.0, alpha1=2.0, reg=reg), rows["two-step"], 0.04, 1.25)
    check(risk(population, "pooled", alpha=2.0, reg=reg), rows["pooled"], 0.04, 1.25)


def separable(features, y):
    sign = 2.0 * y - 1.0
    rows = -sign[:, np.newaxis] * np.column_stack([features, np.ones(len(y))])
    result = linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(y)), bounds=(None, None))
    return result.status == 0


@one_population_first
def test_capacity_separates(name):
    population, dim, trials, rng = POPULATIONS[name], 60, 12, np.random.default_rng(0)
    direction, other = np.eye(dim)[:2]
    query = QUERY["sharpness"] * (0.8 * direction + 0.6 * other)
    limits = {
        "attention": (capacity(population, "attention", **QUERY), query, "softmax"),
        "pooled": (capacity(population, "pooled"), np.zeros(dim), "mean"),
    }
    for threshold, direct, pooling in limits.values():
        for factor, low, high in ((0.75, 0.75, 1.0), (1.33, 0.0, 0.25)):
            n_samples = round(factor * threshold * dim)
            draws = [
                sample_features(
                    population, n_samples, direct, direction, pooling=pooling, random_state=rng
                )
                for _ in range(trials)
            ]
            assert low <= np.mean([separable(*drawn) for drawn in draws]) <= high


NUMBERS = ("test_error", "train_loss", "train_error", "test_loss", "auc", "bias", "readout_norm")


@pytest.mark.parametrize(
    ("model", "options"), [("pooled", {}), ("vectorized", {}), ("attention", QUERY)], ids=str
)
def test_one_kind_is_the_problem_to_the_last_digit(model, options):
    for one in (Population([ONE]), Population([ONE, ONE], [0.3, 0.7])):
        assert capacity(one, model, **options) == capacity(ONE, model, **options)
        a, b = (risk(p, model, alpha=2.0, reg=1e-2, **options) for p in (one, ONE))
        assert [getattr(a, name) for name in NUMBERS] == [getattr(b, name) for name in NUMBERS]
        assert a.recall(0.05) == b.recall(0.05)
    assert alignment(Population([ONE]), alpha=2.0) == alignment(ONE, alpha=2.0)


@pytest.mark.parametrize(("model", "options"), [("pooled", {}), ("attention", QUERY)], ids=str)
def test_limits(model, options):
    """A share that vanishes, and kinds that become equal, change nothing."""
    plain = risk(ONE, model, alpha=2.0, reg=1e-2, **options)
    rare = Population([ONE, SparseTokenProblem(30, 3, 1.0)], [1 - 1e-7, 1e-7])
    near = Population([ONE, replace(ONE, signal=5.0 + 1e-7)], [0.3, 0.7])
    for population in (rare, near, Population([ONE], label_errors=(1e-8, 1e-8))):
        found = risk(population, model, alpha=2.0, reg=1e-2, **options)
        for name in NUMBERS:
            a, b = getattr(found, name), getattr(plain, name)
            assert abs(a - b) < 4 * math.hypot(a.uncertainty, b.uncertainty) + 2e-6, name
    learned = alignment(rare, alpha=2.0)
    assert learned.cosine == pytest.approx(alignment(ONE, alpha=2.0).cosine, abs=1e-5)


def test_pooling_without_a_query_is_the_pooled_model():
    """At vanishing sharpness attention's points and the exact ones of the mean agree."""
    for population in (TWO_LENGTHS, STRENGTHS, LABEL_ERRORS):
        flat = risk(population, "attention", alpha=2.0, reg=1e-2, cosine=0.5, sharpness=1e-6)
        exact = risk(population, "pooled", alpha=2.0, reg=1e-2)
        for name in NUMBERS:
            a, b = getattr(flat, name), getattr(exact, name)
            assert abs(a - b) < 4 * a.uncertainty + 1e-5 * abs(b), name


def test_on_another_population():
    """Errors against true labels, and on lengths that training has not seen."""
    trained = risk(LABEL_ERRORS, "attention", alpha=4.0, reg=1e-2, **QUERY)
    truth = trained.on(Population(LABEL_ERRORS.kinds))
    assert truth.test_error < trained.test_error - 0.05
    # Wrong labels are wrong with the same chance wherever the score is: the classes mix linearly.
    (kind,) = LABEL_ERRORS.kinds
    rates = truth.rates(0.0)
    missed, invented = 0.4 * 0.2, 0.6 * 0.05
    expected = (0.4 - missed) * (1 - rates.recall) + missed * rates.recall
    expected += (0.6 - invented) * rates.fpr + invented * (1 - rates.fpr)
    assert trained.test_error == pytest.approx(expected, abs=1e-6)
    assert trained.on(kind).test_error == truth.test_error
    both = trained.on(Population([kind, replace(kind, n_tokens=30)], [0.25, 0.75]))
    apart = [trained.on(replace(kind, n_tokens=n)).test_error for n in (6, 30)]
    error = both.test_error
    assert abs(error - (0.25 * apart[0] + 0.75 * apart[1])) < 4 * error.uncertainty


def test_a_spread_of_strengths_puts_a_floor_under_the_curve():
    alphas = [4.0, 64.0, math.inf]
    spread, plain = (
        risk(p, "attention", alpha=alphas, reg=1e-3, cosine=0.95, sharpness=1.5)
        for p in (
            with_strengths(SparseTokenProblem(10, 1, 5.0), 0.5),
            SparseTokenProblem(10, 1, 5.0),
        )
    )
    assert spread[-1].test_error > 2 * plain[-1].test_error
