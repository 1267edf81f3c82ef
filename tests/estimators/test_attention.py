import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparsetoken as st
from sparsetoken.estimators.data import MemoryData
from sparsetoken.estimators.passes import token_covariance
from sparsetoken.estimators.refine import fit_attention, two_step_query
from sparsetoken.estimators.sequences import as_sequences
from sparsetoken.estimators.standardize import Standard, standardize

PROBLEM = st.SparseTokenProblem(12, 1, 4.0)
X, Y, TRUTH = PROBLEM.sample(300, 15, random_state=0, return_truth=True)
X_NEW, Y_NEW = PROBLEM.sample(2000, 15, random_state=1, direction=TRUTH.direction)


@pytest.fixture(scope="module")
def fitted():
    return st.AttentionClassifier(random_state=0).fit(X, Y)


def test_finds_the_signal(fitted):
    """Not far from the Bayes error of 0.04, which knows the direction; pooling has 0.28."""
    cosine = fitted.query_ @ TRUTH.direction / np.linalg.norm(fitted.query_)
    assert cosine > 0.9
    assert fitted.score(X_NEW, Y_NEW) > 0.91
    assert fitted.chosen_["model"] == "attention"
    positions = TRUTH.positions[Y == 1].argmax(axis=1)
    assert np.mean(fitted.attention(X[Y == 1]).argmax(axis=1) == positions) > 0.9
    assert st.PooledClassifier().fit(X, Y).score(X_NEW, Y_NEW) < 0.8


def test_probabilities_are_calibrated(fitted):
    """Nearly as good as the best scale and shift that the new data themselves would choose."""
    probability = fitted.predict_proba(X_NEW)[:, 1]
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):
        chosen = (probability >= low) & (probability <= high)
        assert abs(Y_NEW[chosen].mean() - probability[chosen].mean()) < 0.1
    assert log_loss(Y_NEW, probability) < 0.25


def test_strange_coordinates_do_not_matter():
    """Shifted, scaled and correlated features, and one that never varies."""
    rng = np.random.default_rng(2)
    mixing = rng.standard_normal((15, 15)) @ np.diag(np.geomspace(1e-2, 1e3, 15))
    odd = np.concatenate([X @ mixing + 100.0, np.ones((300, 12, 1))], axis=2)
    odd_new = np.concatenate([X_NEW @ mixing + 100.0, np.ones((2000, 12, 1))], axis=2)
    model = st.AttentionClassifier(random_state=0).fit(odd, Y)
    assert model.score(odd_new, Y_NEW) > 0.9
    assert model.query_[-1] == 0


def test_a_rare_class_does_not_turn_the_query_round():
    """The class prior would anti-align a two-step query without the balance."""
    rare = st.SparseTokenProblem(10, 1, 5.0, 0.15)
    data, y, truth = rare.sample(400, 15, random_state=3, return_truth=True)
    new, y_new = rare.sample(1000, 15, random_state=4, direction=truth.direction)
    model = st.AttentionClassifier(random_state=0).fit(data, y)
    assert model.query_ @ truth.direction > 0.8 * np.linalg.norm(model.query_)
    assert roc_auc_score(y_new, model.decision_function(new)) > 0.95
    flipped = st.AttentionClassifier(random_state=0).fit(data, 1 - y)
    assert flipped.query_ @ truth.direction > 0.8 * np.linalg.norm(flipped.query_)


def test_falls_back_to_pooling():
    """Where every token carries the signal the mean is best, and noise cannot beat it."""
    everywhere = st.SparseTokenProblem(6, 6, 0.35)
    data, y, truth = everywhere.sample(200, 60, random_state=0, return_truth=True)
    new, y_new = everywhere.sample(2000, 60, random_state=1, direction=truth.direction)
    model = st.AttentionClassifier(random_state=0).fit(data, y)
    pooled = max(
        st.PooledClassifier(reg=reg).fit(data, y).score(new, y_new) for reg in (0.01, 0.1, 1.0)
    )
    assert model.score(new, y_new) > pooled - 0.04


def test_noise_labels_leak_nothing():
    rng = np.random.default_rng(5)
    scores = []
    for seed in range(6):
        y = rng.permutation(np.repeat([0, 1], 40))
        folds = StratifiedKFold(4, shuffle=True, random_state=seed)
        decision = cross_val_predict(
            st.AttentionClassifier(random_state=seed, cv=3, refine_steps=20),
            X[:80],
            y,
            cv=folds,
            method="decision_function",
        )
        scores.append(
            np.mean([roc_auc_score(y[test], decision[test]) for _, test in folds.split(y, y)])
        )
    assert abs(np.mean(scores) - 0.5) < 2.5 * np.std(scores, ddof=1) / np.sqrt(6)
    assert np.mean(scores) < 0.6


def test_reliability_estimates_the_cosine():
    """It must tell a well-learned query from a badly learned one, on the scale of the cosine."""
    for n_samples, low, high in ((60, 0.0, 0.9), (400, 0.9, 1.0)):
        found, actual = [], []
        for seed in range(4):
            data, y, truth = PROBLEM.sample(n_samples, 40, random_state=seed, return_truth=True)
            model = st.AttentionClassifier(random_state=0, reg=0.1, shrinkage=1.0).fit(data, y)
            found.append(model.query_reliability_)
            norm = np.linalg.norm(model.query_)
            actual.append(abs(model.query_ @ truth.direction) / norm if norm > 0 else 0.0)
        assert low <= np.mean(found) <= high
        assert abs(np.mean(found) - np.mean(actual)) < 0.2


def test_class_weight():
    uneven = np.concatenate([np.flatnonzero(Y == 1)[:30], np.flatnonzero(Y == 0)])
    data, y = X[uneven], Y[uneven]
    rates = [
        np.mean(
            st.AttentionClassifier(class_weight=weight, random_state=0).fit(data, y).predict(X_NEW)
        )
        for weight in (None, "balanced", {0: 1.0, 1: 1000.0})
    ]
    assert rates[0] < rates[1] < rates[2]
    weighted = st.AttentionClassifier(class_weight={0: 1.0, 1: 3.0}, random_state=0).fit(data, y)
    by_sample = st.AttentionClassifier(random_state=0).fit(data, y, np.where(y == 1, 3.0, 1.0))
    assert weighted.coef_ == pytest.approx(by_sample.coef_)


def test_threads_change_nothing():
    one = st.AttentionClassifier(random_state=0, n_jobs=1, cv=3).fit(X, Y)
    two = st.AttentionClassifier(random_state=0, n_jobs=2, cv=3).fit(X, Y)
    assert np.array_equal(one.coef_, two.coef_)


def test_verbose(capsys):
    st.AttentionClassifier(random_state=0, cv=2, refine_steps=3).fit(X[:60], Y[:60])
    assert capsys.readouterr().out == ""
    st.AttentionClassifier(random_state=0, cv=2, refine_steps=3, verbose=1).fit(X[:60], Y[:60])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 13
    assert all("AUC 0." in line or "AUC 1." in line for line in lines[:-1])
    assert "chosen: " in lines[-1]


def test_your_own_folds():
    folds = list(StratifiedKFold(3).split(X[:, 0], Y))[:2]  # a third is never held out
    model = st.AttentionClassifier(cv=folds, refine_steps=20).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.9
    bad = [(np.flatnonzero(Y == 1), np.flatnonzero(Y == 0))]
    with pytest.raises(ValueError, match="cv must leave samples of both classes"):
        st.AttentionClassifier(cv=bad).fit(X, Y)


def test_too_few_samples_to_choose():
    model = st.AttentionClassifier(random_state=0).fit(X[:6], [0, 0, 0, 0, 0, 1])
    assert model.chosen_["auc"] is None
    assert model.predict(X[:6]).shape == (6,)
    few = st.AttentionClassifier(random_state=0).fit(X[:8], [0, 0, 0, 0, 0, 1, 1, 1])
    assert few.chosen_["auc"] is not None


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("reg", 0.0),
        ("reg", "large"),
        ("shrinkage", 0.0),
        ("shrinkage", 1.5),
        ("shrinkage", "some"),
        ("cv", 1),
        ("refine_steps", 0),
    ],
)
def test_bad_argument_is_named(argument, value):
    with pytest.raises(ValueError, match=f"^{argument} must"):
        st.AttentionClassifier(**{argument: value}).fit(X[:40], Y[:40])


def test_a_token_map_finds_what_is_no_shifted_mean():
    """Informative tokens lie further out in a random direction: their mean tells nothing."""
    rng = np.random.default_rng(0)
    data, y = rng.standard_normal((300, 8, 4)), np.arange(300) % 2
    new, y_new = rng.standard_normal((500, 8, 4)), np.arange(500) % 2
    for tokens, labels in ((data, y), (new, y_new)):
        tokens[labels == 1, 0] *= 4.0
    plain = st.AttentionClassifier(random_state=0).fit(data, y)
    token_map = make_pipeline(StandardScaler(), Nystroem(gamma=0.1, random_state=0))
    mapped = st.AttentionClassifier(token_map=token_map, random_state=0).fit(data, y)
    assert mapped.score(new, y_new) > 0.85
    assert mapped.score(new, y_new) > plain.score(new, y_new) + 0.1
    assert mapped.attention(new).shape == (500, 8)


@pytest.mark.parametrize(
    "token_map",
    [
        None,
        RBFSampler(n_components=20, random_state=0),
        make_pipeline(StandardScaler(), Nystroem(n_components=20, random_state=0)),
    ],
    ids=["none", "one", "pipeline"],
)
def test_save_and_load(token_map, tmp_path):
    model = st.AttentionClassifier(
        token_map=token_map, class_weight={0: 1, 1: 2}, random_state=0, refine_steps=5, cv=2
    ).fit(X[:80], Y[:80])
    st.save(model, tmp_path / "model.npz")
    again = st.load(tmp_path / "model.npz")
    assert np.array_equal(again.decision_function(X_NEW), model.decision_function(X_NEW))
    assert again.chosen_ == model.chosen_
    assert again.class_weight == {0: 1, 1: 2}
    assert np.array_equal(again.attention(X_NEW), model.attention(X_NEW))
    assert again.fit(X[:80], Y[:80]).coef_ == pytest.approx(model.coef_)


def test_what_a_map_may_be_stored(tmp_path):
    from sklearn.preprocessing import PolynomialFeatures

    model = st.AttentionClassifier(token_map=PolynomialFeatures(), cv=2, refine_steps=2)
    model.fit(X[:60, :, :3], Y[:60])
    with pytest.raises(ValueError, match="PolynomialFeatures is not one of"):
        st.save(model, tmp_path / "model.npz")


def data_and_shares(seed=0):
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((length, 5)) * [1, 2, 3, 4, 0] + 1 for length in (2, 3, 5, 4) * 10]
    share = rng.random(40)
    sign = np.where(np.arange(40) % 3 == 0, 1.0, -1.0)
    return MemoryData(as_sequences(parts)), share / share.sum(), sign


@pytest.mark.parametrize("shrinkage", [1.0, 0.5, 1e-9, None])
def test_standard_coordinates(shrinkage):
    data, share, _ = data_and_shares()
    standard = standardize(data, share, (shrinkage,))[shrinkage]
    per_token = share * data.lengths / (share @ data.lengths)
    (covariance,) = data.total(token_covariance, (per_token,), standard.mean)
    matrix = np.diag(standard.matrix) if standard.matrix.ndim == 1 else standard.matrix
    found = matrix.T @ covariance @ matrix
    if shrinkage is None:
        assert np.trace(found) == pytest.approx(10.0)
        assert np.ptp(standard.matrix) == 0
        return
    assert found[-1] == pytest.approx(np.zeros(5))  # the feature that never varies
    if shrinkage == 1.0:
        assert np.diag(found)[:4] == pytest.approx(np.ones(4))
    if shrinkage == 1e-9:
        assert found[:4, :4] == pytest.approx(np.eye(4), abs=1e-6)
    vector, token = np.arange(5.0), np.ones(5)
    there = standard.from_data(token - standard.mean)
    here = standard.to_data(vector)
    assert vector @ there == pytest.approx(here @ (token - standard.mean))


def test_the_start_ignores_the_class_prior():
    """Repeating one class changes nothing."""
    data, share, sign = data_and_shares()
    standard = Standard(np.zeros(5), np.ones(5))
    query = two_step_query(data, sign, share, standard)
    uneven = np.where(sign > 0, 5.0 * share, share)
    again = two_step_query(data, sign, uneven / uneven.sum(), standard)
    assert again == pytest.approx(query)
    assert np.linalg.norm(query) == pytest.approx(1.0)


def test_refinement_improves_on_its_start():
    """More steps, smaller objective, until the gradient is zero."""
    data, share, sign = data_and_shares()
    standard = standardize(data, share, (1.0,))[1.0]
    losses = []
    for steps in (1, 10, 500):
        model = fit_attention(data, sign, share, 1e-3, standard, steps)
        margin = sign * model.decide(data)
        losses.append(share @ np.logaddexp(0, -margin))
    assert losses[0] > losses[1] > losses[2]
