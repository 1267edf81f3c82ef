import json
import math
from pathlib import Path

import numpy as np
import pytest
from statistical import Z_LIMIT, quick_first, standard_score

from sparsetoken import SparseTokenProblem
from sparsetoken.losses import get_loss
from sparsetoken.sampling import sample_query
from sparsetoken.theory import alignment, best_bias_rate

CHECKED = json.loads((Path(__file__).parent / "checked_values.json").read_text())["alignment"]
QUANTITIES = ("readout_overlap", "readout_norm", "bias", "query_overlap", "query_norm", "cosine")
RATES = ("beta", "lr_readout", "lr_bias", "lr_query")


def problem_of(row):
    names = ("n_tokens", "n_signal", "signal", "positive_rate")
    return SparseTokenProblem(**{name: row[name] for name in names})


@pytest.mark.parametrize("row", CHECKED, ids=lambda row: f"{row['loss']} {row['cosine']:.2f}")
def test_checked_values(row):
    rates = {name: row[name] for name in RATES}
    found = alignment(problem_of(row), alpha=row["alpha0"], loss=row["loss"], **rates)
    for name in QUANTITIES:
        assert getattr(found, name) == pytest.approx(row[name], abs=1.5e-6)
    assert found.anti_aligned == (row["cosine"] < 0)
    assert found.sharpness == pytest.approx(row["beta"] * row["query_norm"], abs=1e-6)


@pytest.mark.parametrize(
    ("problem", "loss", "alpha", "rates"),
    quick_first(
        [
            (SparseTokenProblem(10, 1, 5.0, 0.5), "logistic", 2.0, {}),
            (SparseTokenProblem(6, 3, 2.0, 0.2), "hinge", 1.0, {"lr_readout": 3.0, "lr_bias": 0.9}),
            (SparseTokenProblem(8, 2, 3.0, 0.7), "square", 0.5, {"lr_bias": 0.3}),
            (SparseTokenProblem(5, 5, 2.0, 0.5), "logistic", 2.0, {}),
            (
                SparseTokenProblem(10, 1, 5.0, 0.2),
                "logistic",
                2.0,
                {"lr_readout": 2.0, "lr_bias": 0.0},
            ),
        ],
        2,
    ),
    ids=["plain", "hinge", "square", "all tokens", "anti-aligned"],
)
def test_agrees_with_simulation(problem, loss, alpha, rates):
    """At d = 20,000 what is left of finite size is far below the standard error."""
    dim = 20_000
    rng = np.random.default_rng(0)
    drawn = [
        sample_query(problem, int(alpha * dim), dim, loss=get_loss(loss), random_state=rng, **rates)
        for _ in range(60)
    ]
    limit = alignment(problem, alpha=alpha, loss=loss, **rates)
    for name in QUANTITIES:
        values = np.array([getattr(query, name) for query in drawn])
        if np.ptp(values) > 0:
            assert abs(standard_score(values, getattr(limit, name))) < Z_LIMIT, name


def test_misalignment_is_the_rate_at_which_more_data_help():
    for problem in (SparseTokenProblem(10, 1, 5.0), SparseTokenProblem(20, 3, 2.0, 0.3)):
        constant = alignment(problem, alpha=1.0).misalignment
        for alpha, accuracy in ((1e3, 0.05), (1e5, 1e-3)):
            cosine = abs(alignment(problem, alpha=alpha).cosine)
            assert alpha * (1 - cosine) == pytest.approx(constant, rel=accuracy)
        assert abs(alignment(problem, alpha=math.inf).cosine) == pytest.approx(1.0)


def test_anti_alignment_condition():
    """The sign of (L−1)E[h] + πE[h|+]θ²k decides, with h drawn by Monte Carlo."""
    problem, rng = SparseTokenProblem(10, 1, 5.0, 0.2), np.random.default_rng(0)
    for lr_bias, lr_readout in [(0.0, 2.0), (3.0, 2.0), (0.5, 1.0), (8.0, 1.0)]:
        a = alignment(problem, alpha=2.0, lr_readout=lr_readout, lr_bias=lr_bias)
        noise = a.readout_norm / math.sqrt(10) * rng.standard_normal(200_000)
        memory = lr_readout * 0.5 / (2.0 * 10)
        h_plus = -(1 / (1 + np.exp(a.bias + 0.5 * a.readout_overlap + memory + noise))).mean()
        h_minus = (1 / (1 + np.exp(-(a.bias - memory + noise)))).mean()
        condition = 9 * (0.2 * h_plus + 0.8 * h_minus) + 0.2 * h_plus * 25 * 0.9
        assert a.anti_aligned == (condition > 0)


def test_cosine_does_not_depend_on_what_sets_the_sharpness():
    problem = SparseTokenProblem(10, 2, 3.0, 0.3)
    plain = alignment(problem, alpha=1.5)
    sharp = alignment(problem, alpha=1.5, beta=3.0, lr_query=7.0)
    assert sharp.cosine == pytest.approx(plain.cosine, rel=1e-12)
    assert sharp.sharpness == pytest.approx(plain.sharpness * 9.0 * 7.0 / 20.0, rel=1e-12)


def test_best_bias_rate_beats_a_grid():
    problem = SparseTokenProblem(10, 1, 5.0, 0.2)
    best = best_bias_rate(problem, alpha=2.0)
    reached = alignment(problem, alpha=2.0, lr_bias=best).cosine
    grid = [alignment(problem, alpha=2.0, lr_bias=rate).cosine for rate in np.linspace(0, 20, 301)]
    assert reached >= max(grid) - 1e-6
    assert reached > alignment(problem, alpha=2.0, lr_bias=1.0).cosine + 0.05


def test_edge_cases():
    assert alignment(SparseTokenProblem(1), alpha=1.0).cosine == 0.0  # nothing to attend to
    nothing = alignment(SparseTokenProblem(5, 1, 0.0), alpha=1.0)
    assert nothing.cosine == 0.0
    assert nothing.misalignment == math.inf
    assert alignment(SparseTokenProblem(5), alpha=1.0, lr_readout=0.0).query_norm == 0.0


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *[("alpha", 0.0), ("alpha", -1.0), ("alpha", "x"), ("beta", -1.0), ("lr_bias", math.nan)],
        *[("lr_readout", 1e300), ("loss", "log"), ("center", "x")],
    ],
)
def test_bad_argument_is_named(argument, value):
    with pytest.raises(ValueError, match=f"^{argument} must"):
        alignment(SparseTokenProblem(5), **{"alpha": 1.0, argument: value})
    if argument in ("alpha", "lr_readout", "loss"):
        with pytest.raises(ValueError, match=f"^{argument} must"):
            best_bias_rate(
                SparseTokenProblem(5, positive_rate=0.3), **{"alpha": 1.0, argument: value}
            )
    if argument != "alpha":
        with pytest.raises(ValueError, match=f"^{argument} must"):
            sample_query(SparseTokenProblem(5), 9, 9, **{"loss": "logistic", argument: value})


def test_centered_step_with_sequences_as_long_as_the_dimension():
    """d = L = 200: the centered step follows the formula, the published one does not."""
    problem, alpha, dim = SparseTokenProblem(200, 14, 1.5), 0.84, 200
    limit = alignment(problem, alpha=alpha, center=True).cosine
    rng = np.random.default_rng(3)
    cosines = {
        centre: [
            sample_query(problem, round(alpha * dim), dim, loss=get_loss("logistic"),
                         center=centre, random_state=rng).cosine
            for _ in range(200)
        ]
        for centre in (False, True)
    }  # fmt: skip
    assert limit == pytest.approx(0.468, abs=5e-4)
    assert np.mean(cosines[True]) == pytest.approx(limit, abs=0.03)
    assert np.std(cosines[False]) > 2 * np.std(cosines[True])
    assert np.mean(cosines[False]) < limit - 0.1


def test_centring_changes_nothing_that_the_bias_has_balanced():
    """Balanced classes without memory: the slopes have mean zero anyway."""
    problem = SparseTokenProblem(10, 1, 2.0)
    plain = alignment(problem, alpha=2.0, lr_readout=1e-3)
    centered = alignment(problem, alpha=2.0, lr_readout=1e-3, center=True)
    assert centered.cosine == pytest.approx(plain.cosine, rel=1e-3)
    rare = SparseTokenProblem(10, 1, 5.0, 0.2)
    assert alignment(rare, alpha=2.0, lr_readout=2.0, lr_bias=0.0).anti_aligned
    assert not alignment(rare, alpha=2.0, lr_readout=2.0, lr_bias=0.0, center=True).anti_aligned


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_one_class_has_no_best_rate_of_the_bias(rate):
    with pytest.raises(ValueError, match=r"^positive_rate must be"):
        best_bias_rate(SparseTokenProblem(5, positive_rate=rate), alpha=1.0, n_samples=9.0)
