import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

import sparsetoken as st
from sparsetoken.estimators import PerToken

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
    assert fitted.chosen_["model"] in ("attention", "posterior")
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
    assert all(head.query[-1] == 0 for head in model.heads_)


def test_a_large_scale_beside_small_ones_does_not_matter():
    """A feature like a timestamp must not make the others count as constant."""
    rng = np.random.default_rng(3)
    for scale in (2e6, 1e200):
        wide = np.concatenate([X, scale * rng.standard_normal((300, 12, 1))], axis=2)
        wide_new = np.concatenate([X_NEW, scale * rng.standard_normal((2000, 12, 1))], axis=2)
        model = st.AttentionClassifier(random_state=0).fit(wide, Y)
        assert model.score(wide_new, Y_NEW) > 0.9


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_the_unit_of_the_tokens_does_not_matter(scale, fitted):
    model = st.AttentionClassifier(random_state=0).fit(scale * X, Y)
    expected = fitted.decision_function(X_NEW)
    assert model.decision_function(scale * X_NEW) == pytest.approx(expected, abs=0.05)
    with pytest.raises(ValueError, match="X must not exceed 1e"):
        st.AttentionClassifier().fit(np.where(Y == 1, 1e295, 0.0)[:, None, None] + X, Y)


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
    """Where every token carries the signal the mean is best, and gets the weight."""
    everywhere = st.SparseTokenProblem(6, 6, 0.35)
    data, y, truth = everywhere.sample(200, 60, random_state=0, return_truth=True)
    new, y_new = everywhere.sample(2000, 60, random_state=1, direction=truth.direction)
    model = st.AttentionClassifier(random_state=0).fit(data, y)
    pooled = max(
        st.PooledClassifier(reg=reg).fit(data, y).score(new, y_new) for reg in (0.01, 0.1, 1.0)
    )
    assert model.score(new, y_new) > pooled - 0.04
    assert model.chosen_["model"] == "pooled"
    assert not model.query_.any()
    assert sum(head.weight for head in model.heads_ if head.model == "pooled") > 0.5


@pytest.mark.statistical
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


def test_threads_change_nothing():
    one, two = (
        st.AttentionClassifier(random_state=0, n_jobs=n, cv=2, refine_steps=5).fit(X, Y)
        for n in (1, 2)
    )
    assert np.array_equal(one.coef_, two.coef_)


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


@pytest.mark.statistical
def test_tokens_mapped_before_find_what_is_no_shifted_mean():
    """Informative tokens lie further out in a random direction: their mean tells nothing."""
    rng = np.random.default_rng(0)
    data, y = rng.standard_normal((300, 8, 4)), np.arange(300) % 2
    new, y_new = rng.standard_normal((500, 8, 4)), np.arange(500) % 2
    for tokens, labels in ((data, y), (new, y_new)):
        tokens[labels == 1, 0] *= 4.0
    plain = st.AttentionClassifier(random_state=0).fit(data, y)
    nystroem = Nystroem(gamma=0.1, random_state=0)
    mapped = make_pipeline(PerToken(), PerToken(nystroem), st.AttentionClassifier(random_state=0))
    assert mapped.fit(data, y).score(new, y_new) > 0.85
    assert mapped.score(new, y_new) > plain.score(new, y_new) + 0.1


def test_save_and_load(tmp_path):
    model = st.AttentionClassifier(
        class_weight={0: 1, 1: 2}, random_state=0, refine_steps=5, cv=2
    ).fit(X[:80], Y[:80])
    st.save(model, tmp_path / "model.npz")
    again = st.load(tmp_path / "model.npz")
    assert np.array_equal(again.decision_function(X_NEW), model.decision_function(X_NEW))
    assert again.chosen_ == model.chosen_
    assert again.class_weight == {0: 1, 1: 2}
    assert np.array_equal(again.attention(X_NEW), model.attention(X_NEW))
    assert again.fit(X[:80], Y[:80]).coef_ == pytest.approx(model.coef_)
