"""The published protocol against the exact samplers and against checked values of the theory."""

import contextlib

import numpy as np
import pytest
from dense_reference import attention_features, two_gradient_steps
from statistical import Z_LIMIT, assert_same_law, standard_score

from sparsetoken import SparseTokenProblem, TwoStepAttentionClassifier
from sparsetoken.losses import Hinge, Logistic, Square
from sparsetoken.sampling import LearnedQuery, exact_performance, sample_feature_law, sample_query

QUANTITIES = ("cosine", "query_norm", "query_overlap")


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)
def test_to_the_letter(loss, center):
    problem = SparseTokenProblem(6, 2, 3.0, 0.4)
    X, y = problem.sample(80, 7, random_state=0)
    rates = {"beta": 0.7, "lr_readout": 2.0, "lr_bias": 1.5, "lr_query": 3.0}
    rates["center"] = center
    clf = TwoStepAttentionClassifier(split=0.3, reg=0.1, loss=loss, random_state=3, **rates)
    clf.fit(X, y)
    first = clf.query_samples_
    rest = np.setdiff1d(np.arange(80), first)
    assert first.size == 24
    query, _, _ = two_gradient_steps(X[first], y[first], loss, **rates)
    assert clf.query_ == pytest.approx(query, rel=1e-10)

    features = attention_features(X, query, beta=0.7)
    score = features @ clf.coef_ + clf.intercept_
    assert clf.decision_function(X) == pytest.approx(score, abs=1e-10)
    sign = 2.0 * y[rest] - 1.0
    assert clf.train_loss_ == pytest.approx(loss.value(score[rest], sign).mean())
    if loss != Hinge():  # the readout is optimal on the rest; for hinge see the solver's own tests
        slope = loss.derivative(score[rest], sign) / rest.size
        assert np.abs(slope @ features[rest] + 0.1 * clf.coef_).max() < 1e-9
        assert abs(slope.sum()) < 1e-9


def test_the_split_is_drawn():
    X, y = SparseTokenProblem(4, 1, 3.0).sample(60, 5, random_state=0)

    def samples(seed):
        return TwoStepAttentionClassifier(random_state=seed).fit(X, y).query_samples_.tolist()

    assert samples(0) == samples(0)
    assert samples(0) != samples(1)
    assert samples(np.random.default_rng(5)) == samples(np.random.default_rng(5))
    assert samples(np.random.RandomState(5)) == samples(np.random.RandomState(5))
    assert samples(None) != samples(None)
    assert samples(0) != list(range(30))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("problem", "loss", "rates"),
    [
        (SparseTokenProblem(5, 1, 4.0), "logistic", {}),
        (SparseTokenProblem(6, 2, 3.0, 0.3), "logistic", {"lr_readout": 2.0, "lr_query": 1.0}),
        (
            SparseTokenProblem(10, 1, 5.0),
            "square",
            {"lr_readout": 5.0, "lr_bias": 0.0, "lr_query": 1.0},
        ),
    ],
    ids=["aligned", "two signals", "anti-aligned"],
)
def test_query_has_the_law_of_the_exact_sampler(problem, loss, rates):
    """At the same finite size; the labels of the readout's samples tell nothing of the others."""
    rng, dim, trials = np.random.default_rng(0), 8, 1500
    clf = TwoStepAttentionClassifier(split=0.6, loss=loss, random_state=rng, **rates)
    dense, reduced = [], []
    while len(dense) < trials:
        X, y, truth = problem.sample(40, dim, random_state=rng, return_truth=True)
        with contextlib.suppress(ValueError):  # the readout's samples are of one class only
            clf.fit(X, y)
            dense.append(LearnedQuery(clf.query_, clf.coef_, 0.0, truth.directions, 1.0))
    losses = {"logistic": Logistic(), "square": Square()}
    for _ in range(trials):
        reduced.append(sample_query(problem, 24, dim, loss=losses[loss], random_state=rng, **rates))
    first, second = (
        {name: np.array([getattr(query, name) for query in queries]) for name in QUANTITIES}
        for queries in (dense, reduced)
    )
    assert_same_law(first, second)


# alpha0 and the rates that give these cosines at sharpness 1 in the limit, and the checked values
# of training loss and test error there, for L=10, R=1, signal 5, alpha1=2, reg=0.01, logistic.
LIMITS = [
    ("aligned", 2.0832, {"lr_query": 14.3077}, 0.95, 0.031442, 0.03341),
    (
        "anti-aligned",
        4.600536151650669,
        {"lr_readout": 80.0, "lr_bias": 0.0, "lr_query": 0.7345985235742784},
        -0.5,
        0.418992,
        0.49759,
    ),
]


@pytest.mark.parametrize(
    ("alpha0", "rates", "cosine", "train_loss", "test_error"),
    [
        pytest.param(*LIMITS[0][1:], id="aligned"),
        pytest.param(*LIMITS[1][1:], id="anti-aligned", marks=pytest.mark.statistical),
    ],
)
def test_matches_the_theory(alpha0, rates, cosine, train_loss, test_error):
    problem, dim = SparseTokenProblem(10, 1, 5.0), 300
    n0, n1 = round(alpha0 * dim), 2 * dim
    found = {"cosine": [], "sharpness": [], "train loss": [], "test error": []}
    rng = np.random.default_rng(0)
    for _ in range(12):
        X, y, truth = problem.sample(n0 + n1, dim, random_state=rng, return_truth=True)
        clf = TwoStepAttentionClassifier(split=n0 / (n0 + n1), random_state=rng, **rates).fit(X, y)
        learned = LearnedQuery(clf.query_, clf.coef_, 0.0, truth.directions, 1.0)
        law = sample_feature_law(
            problem, 50_000, cosine=learned.cosine, sharpness=learned.sharpness, random_state=rng
        )
        found["cosine"].append(learned.cosine)
        found["sharpness"].append(learned.sharpness)
        found["train loss"].append(clf.train_loss_)
        found["test error"].append(
            exact_performance(
                law, clf.coef_, clf.intercept_, clf.query_, truth.direction
            ).test_error
        )
    expected = {
        "cosine": cosine,
        "sharpness": 1.0,
        "train loss": train_loss,
        "test error": test_error,
    }
    scores = {name: standard_score(found[name], expected[name]) for name in found}
    assert max(map(abs, scores.values())) < Z_LIMIT, scores


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("split", 0.0),
        ("split", 1.5),
        ("beta", -1.0),
        ("lr_readout", np.nan),
        ("lr_bias", -1.0),
        ("lr_query", np.inf),
        ("reg", 0.0),
        ("loss", "absolute"),
    ],
)
def test_bad_argument_is_named(argument, value):
    X, y = SparseTokenProblem(4).sample(20, 3, random_state=0)
    with pytest.raises(ValueError, match=f"^{argument} must"):
        TwoStepAttentionClassifier(**{argument: value}).fit(X, y)


def test_a_split_that_leaves_nothing_is_refused():
    X, y = SparseTokenProblem(4).sample(20, 3, random_state=0)
    with pytest.raises(ValueError, match="leaves none for the readout"):
        TwoStepAttentionClassifier(split=1.0).fit(X, y)
    with pytest.raises(ValueError, match="leaves none for the two steps"):
        TwoStepAttentionClassifier(split=0.01).fit(X, y)
    with pytest.raises(ValueError, match="leaves the readout only one class"):
        TwoStepAttentionClassifier(split=0.95).fit(X, y)


def test_one_head_is_its_query_and_readout():
    X, y = SparseTokenProblem(6, 1, 5.0).sample(120, 8, random_state=0)
    model = TwoStepAttentionClassifier(random_state=0).fit(X, y)
    features = np.einsum("nl,nld->nd", model.attention(X), X)
    scores = features @ model.coef_ + model.intercept_
    assert scores == pytest.approx(model.decision_function(X))
