"""The numbers behind each figure at tiny size; the pictures are tested in tests/plotting."""

import math

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.experiments import Store, figure_rows


@pytest.fixture
def table(tmp_path):
    def compute(name, **settings):
        with Store(tmp_path / "results.db") as store:
            return figure_rows(name, store, **settings)

    return compute


def where(rows, **values):
    return [row for row in rows if all(row.get(n) == v for n, v in values.items())]


def only(rows, **values):
    (row,) = where(rows, **values)
    return row["value"]


def assert_agree(rows, keys, dim):
    """Every simulated number has its theory beside it, within errors and a few parts in dim."""
    theory = {tuple(r.get(k) for k in keys): r["value"] for r in where(rows, source="theory")}
    simulated = where(rows, source="simulation")
    assert simulated
    for row in simulated:
        expected = theory[tuple(row.get(k) for k in keys)]
        allowed = 4.0 * row["uncertainty"] + 4.0 * abs(expected) / dim
        assert abs(row["value"] - expected) < allowed, (row, expected)


def test_learning_curves(table):
    points = [1.0, 4.0]
    rows = table(
        "learning-curves", lines=points, points=points, vectorized_points=[1.0], dim=100, trials=12
    )
    assert_agree(rows, ("model", "alpha", "quantity"), dim=100)
    errors = {
        m: only(rows, source="theory", model=m, alpha=4.0, quantity="test_error")
        for m in ("optimal", "two-step", "pooled", "vectorized")
    }
    assert errors["optimal"] < errors["two-step"]
    assert errors["two-step"] < 0.2 * errors["pooled"] < 0.2 * errors["vectorized"]
    problem = st.SparseTokenProblem(10, 1, 5.0)
    expected = st.theory.risk(problem, "pooled", alpha=4.0, reg=1e-5)
    assert errors["pooled"] == pytest.approx(expected.test_error, rel=1e-6)


def test_optimal(table):
    points = [1.0, 4.0]
    rows = table(
        "optimal",
        lines=points,
        points=points,
        descent_lines=[4.0],
        joint_lines=[4.0],
        most_steps=3,
        n_points=256,
        dim=200,
        trials=8,
    )
    assert_agree(where(rows, model="optimal"), ("alpha", "quantity"), dim=200)
    errors = {r["model"]: r["value"] for r in where(rows, alpha=4.0, quantity="test_error")}
    best = errors.pop("optimal")
    assert errors.keys() == {"two-step", "pooled", "training", "joint"}
    assert best < min(errors.values())


def test_hard_phase(table):
    rows = table(
        "hard-phase",
        lengths=[20, 200],
        length_points=[20],
        alphas=[0.5],
        n_tokens=200,
        lines=[0.15],
        points=[0.15, 1.0],
        dims=[50, 100],
        trials=4,
    )
    problem = st.SparseTokenProblem(200, 1, 5.0)
    found = st.theory.learning_thresholds(problem)
    assert only(rows, quantity="iteration_threshold", n_tokens=200) == found.iteration
    nothing, best = where(rows, panel="curve", source="theory", alpha=0.15)[::-1]
    assert (best["value"], nothing["value"]) == (
        st.theory.optimal(problem, 0.15).cosine,
        st.theory.optimal(problem, 0.15).from_nothing.cosine,
    )
    curve = where(rows, panel="curve", source="simulation", dim=100)
    assert {r["alpha"]: r["value"] > 0.6 for r in curve} == {0.15: False, 1.0: True}
    assert only(rows, panel="phases", source="simulation", dim=100) > 0.8


def test_alignment(table):
    points = [2.0, 100.0]
    rows = table("alignment", signals=[3.0, 8.0], lines=points, points=points, dim=300, trials=12)
    assert_agree(where(rows, quantity="cosine"), ("signal", "alpha0"), dim=300)
    for signal in (3.0, 8.0):
        constant = only(rows, quantity="misalignment", signal=signal)
        cosine = only(rows, quantity="cosine", source="theory", signal=signal, alpha0=100.0)
        assert (1.0 - cosine) * 100.0 == pytest.approx(constant, rel=0.05)


def test_scaling(table):
    rows = table(
        "scaling",
        lengths=[100, 10_000],
        longest_integrated=30,
        trained_lengths=[4],
        trained_points=[4, 16],
        n_points=4096,
        dim=60,
        trials=8,
    )
    trained = where(rows, quantity="test_error")
    assert_agree(trained, ("model", "n_tokens"), dim=20)  # eight samples per dimension of 60
    required = {
        (r["model"], r["n_tokens"]): r["value"] for r in where(rows, quantity="required_signal")
    }
    assert required["pooled", 10_000] == pytest.approx(10 * required["pooled", 100], rel=1e-4)
    assert required["hardmax", 10_000] / required["hardmax", 100] < 1.3
    assert required["bayes", 30] <= required["attention", 30] * 1.05
    assert required["attention", 30] < required["elementwise", 30] < required["pooled", 100]


def test_capacity(table):
    ratios = [0.4, 2.0]
    rows = table("capacity", ratios=ratios, lines=ratios, dims=[10, 20], trials=8)
    for model in ("vectorized", "pooled", "attention"):
        mine = where(rows, model=model)
        limit = only(mine, quantity="capacity")
        for row in where(mine, quantity="separable"):
            below = row["alpha"] < limit
            assert row["value"] == (1.0 if below else pytest.approx(0.0, abs=0.15))
        low, high = sorted(r["value"] for r in where(mine, quantity="train_loss", source="theory"))
        assert low < 0.05 < high
        for row in where(mine, quantity="train_loss", dim=20):
            expected = low if row["alpha"] < limit else high
            assert abs(row["value"] - expected) < 5 * row["uncertainty"] + 0.1 * expected
    limits = {m: only(rows, quantity="capacity", model=m) for m in ("vectorized", "pooled")}
    assert limits["vectorized"] == pytest.approx(5 * limits["pooled"])


def test_sensitivity(table):
    rows = table(
        "sensitivity",
        readout_rates=[0.5, 10.0],
        bias_rates=[0.0, 4.0],
        positive_rates=[0.2, 0.6],
        positive_points=[0.2, 0.6],
        betas=[0.3, 3.0],
        beta_points=[0.3, 3.0],
        compared_bias_rates=[0.0, 4.0],
        dim=150,
        trials=10,
    )
    keys = ("panel", "quantity", "lr_readout", "lr_bias", "positive_rate", "beta")
    simulated = [r for r in rows if r["panel"] != "rates"]
    assert_agree(simulated, keys, dim=40)
    plane = where(rows, panel="rates", quantity="cosine")
    for row in plane:
        problem = st.SparseTokenProblem(10, 1, 5.0, 0.2)
        learned = st.theory.alignment(
            problem, alpha=2.0, lr_readout=row["lr_readout"], lr_bias=row["lr_bias"]
        )
        assert row["value"] == learned.cosine
        assert learned.anti_aligned == (row["lr_bias"] == 0.0)


def test_residual_error(table):
    cosines = [-0.5, 0.3, 1.0]
    rows = table("residual-error", sharpness=[1.0, 3.0], lines=cosines, points=[0.3], dim=40)
    pooled = only(rows, model="pooled")
    problem = st.SparseTokenProblem(10, 1, 5.0)
    limit = st.theory.risk(problem, "pooled", alpha=math.inf, reg=1e-3).test_error
    assert pooled == pytest.approx(limit, rel=1e-6)
    for sharpness in (1.0, 3.0):
        errors = [
            only(where(rows, model="attention", alpha=math.inf), sharpness=sharpness, cosine=cosine)
            for cosine in cosines
        ]
        assert errors[0] > pooled > errors[2]
        (row,) = where(rows, source="simulation", sharpness=sharpness)
        finite = st.theory.risk(
            problem, "attention", alpha=100.0, reg=1e-3, cosine=0.3, sharpness=sharpness
        ).test_error
        assert errors[1] < finite
        assert abs(row["value"] - finite) < 4 * row["uncertainty"] + 0.01 * finite


def test_split(table):
    lines = np.linspace(0.1, 0.9, 9).round(2).tolist()
    rows = table("split", alphas=[2.0, 4.0], lines=lines, points=[0.3, 0.5], dim=200, trials=16)
    assert_agree(rows, ("alpha", "split"), dim=40)
    for alpha in (2.0, 4.0):
        best = min(where(rows, source="theory", alpha=alpha), key=lambda row: row["value"])
        assert 0.2 < best["split"] < 0.7


def test_length_shift(table):
    settings = {"trained": 8, "lines": [8, 32], "points": [8, 32], "n_points": 4096}
    settings |= {"window_points": 8192, "dim": 150, "trials": 12}
    rows = table("length-shift", **settings)
    assert_agree(rows, ("model", "read", "test_n_tokens", "quantity"), dim=20)
    longer = st.SparseTokenProblem(32, 1, 6.0)
    trained = st.theory.risk(st.SparseTokenProblem(8, 1, 6.0), "pooled", alpha=4.0, reg=1e-2)
    at = {"source": "theory", "model": "pooled", "test_n_tokens": 32}
    expected = trained.on(longer)
    assert only(rows, **at, quantity="test_error") == pytest.approx(expected.test_error, rel=1e-6)
    alarms = expected.rates(trained.threshold(fpr=0.01)).fpr
    assert only(rows, **at, quantity="false_positives") == pytest.approx(alarms, rel=1e-5)
    recall = expected.recall(fpr=0.01)
    assert only(rows, **at, quantity="recall") == pytest.approx(recall, rel=1e-6)
    at |= {"model": "two-step", "quantity": "false_positives"}
    # Four windows of the trained length raise an alarm if one of them does.
    assert only(rows, **at, read="windows") == pytest.approx(1.0 - 0.99**4, rel=1e-3)
    assert only(rows, **at, read="whole") < 0.01


def test_joint_training(table):
    rows = table(
        "joint-training",
        alpha=4.0,
        steps=[2, 6],
        step_points=[2, 6],
        last_points=[],
        lines=[4.0],
        points=[4.0],
        budgets=[4.0],
        budget_points=[4.0],
        most_steps=3,
        n_points=256,
        dim=60,
        trials=6,
    )
    budget = where(rows, panel="budget")
    certain = [row for row in rows if row["panel"] != "budget"]
    assert_agree(certain, ("panel", "curve", "steps", "alpha", "quantity"), dim=25)
    # Samples that are divided among the steps suffer from chance: only those used together agree.
    for way in ("reused", "two-step"):
        assert_agree(where(budget, curve=way), ("quantity",), dim=25)
    errors = {
        way: only(budget, curve=way, source="theory", quantity="test_error")
        for way in ("fresh", "reused", "two-step")
    }
    assert errors["reused"] < errors["fresh"]
    (minimum,) = where(rows, panel="minimum", curve="joint", source="theory", quantity="test_error")
    assert minimum["converged"]
    assert minimum["value"] == pytest.approx(0.0334, rel=0.06)  # as joint_risk with many points


def test_depth(table):
    rows = table(
        "depth", n_tokens=8, signals={3: 2.5}, cosines=[0.8], depths=[0, 2], points=[0, 2], dim=40,
        trials=6,
    )  # fmt: skip
    assert_agree(rows, ("n_signal", "depth"), dim=20)
    theory = {(r["n_signal"], r["depth"]): r["value"] for r in where(rows, source="theory")}
    assert theory[3, 2] > theory[3, 0] + 0.005


def test_long_sequences(table):
    rows = table(
        "long-sequences",
        ratios=[2.0],
        dims=[150],
        budget_lengths=[10, 300, 100_000],
        budget_points=[300],
        dim=100,
        trials=8,
    )
    centred = where(rows, panel="proportional", step="centered step")
    assert_agree(centred, ("quantity",), dim=20)
    published = where(rows, step="published step", quantity="cosine")[0]
    (learned,) = where(centred, source="simulation", quantity="cosine")
    assert published["value"] < learned["value"]
    assert published["uncertainty"] > 3.0 * learned["uncertainty"]
    budget = where(rows, panel="budget")
    assert_agree(budget, ("n_signal", "n_tokens"), dim=20)
    for row in where(budget, source="theory"):
        law = row["n_tokens"] / (row["signal"] ** 3 * row["n_signal"] ** 2)
        assert 2.3 < row["value"] / law < 4.0


def test_long_limits(table):
    rows = table(
        "long-limits",
        many=[100, 2500],
        few=[100],
        sharpness=[0.5],
        sharpness_points=[0.5],
        locked_signals=[5.0],
        lengths=[10],
        length_points=[10],
        dim=100,
        trials=8,
    )
    for panel in ("many", "few", "lock"):
        here = where(rows, panel=panel, quantity="test_error")
        assert_agree(here, ("n_tokens", "sharpness", "quantity"), dim=20)
    many = {
        (row["n_tokens"], row["quantity"]): row["value"]
        for row in where(rows, panel="many", sharpness=0.5, source="theory")
    }
    limit = many[2500, "limit_error"]
    assert many[100, "test_error"] > many[2500, "test_error"] > limit
    assert many[2500, "test_error"] == pytest.approx(limit, rel=0.1)


def test_attention_map(table):
    rows = table("attention-map", dim=200, n_sequences=20)
    sums = {}
    for row in rows:
        key = row["label"], row["sequence"]
        sums[key] = sums.get(key, 0.0) + row["value"]
    assert len(sums) == 40
    np.testing.assert_allclose(list(sums.values()), 1.0)
    on_signal = [r["value"] for r in where(rows, label=1, carries_signal=True)]
    assert len(on_signal) == 40
    assert sum(on_signal) / 20 > 0.7  # of the weight of a positive sequence
    assert not where(rows, label=0, carries_signal=True)


def test_a_figure_with_failed_cells_is_refused(table):
    settings = {"points": [1.0], "lines": [1.0], "vectorized_points": [1.0], "dim": 4, "trials": 2}
    problem = {"n_tokens": 4, "positive_rate": 1e-6}
    with pytest.raises(RuntimeError, match="cells failed"):
        table("learning-curves", problem=problem, **settings)
    with pytest.raises(ValueError, match="unknown setting of learning-curves 'trails'; did you"):
        table("learning-curves", trails=3)
