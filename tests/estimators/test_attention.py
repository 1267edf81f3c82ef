import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparsetoken as st
from sparsetoken.estimators.attention_heads import HeadObjective, HeadSpec, HeadTask
from sparsetoken.estimators.head_passes import evidence_scores
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.estimators.standardize import Standard
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import token_covariance
from sparsetoken.sequences.sequences import as_sequences

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
    for n_samples, low, high in ((60, 0.0, 0.95), (400, 0.95, 1.0)):
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
    scores = [model.decision_function(X_NEW) for model in (weighted, by_sample)]
    assert np.corrcoef(*scores)[0, 1] > 0.99  # L-BFGS stops early, and rounding decides where


def test_threads_change_nothing():
    one = st.AttentionClassifier(random_state=0, n_jobs=1, cv=3).fit(X, Y)
    two = st.AttentionClassifier(random_state=0, n_jobs=2, cv=3).fit(X, Y)
    assert np.array_equal(one.coef_, two.coef_)


def test_verbose(capsys):
    st.AttentionClassifier(random_state=0, cv=2, refine_steps=3).fit(X[:60], Y[:60])
    assert capsys.readouterr().out == ""
    st.AttentionClassifier(random_state=0, cv=2, refine_steps=3, verbose=1).fit(X[:60], Y[:60])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 28  # twelve heads, eight posterior, six of pooling, two members
    assert all("weight" in line for line in lines)
    assert all("AUC 0." in line or "AUC 1." in line for line in lines[:24])


def test_your_own_folds():
    folds = list(StratifiedKFold(3).split(X[:, 0], Y))[:2]  # a third is never held out
    model = st.AttentionClassifier(cv=folds, refine_steps=20).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.9
    bad = [(np.flatnonzero(Y == 1), np.flatnonzero(Y == 0))]
    with pytest.raises(ValueError, match="cv must leave samples of every class"):
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
        ("token_map", "some"),
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
    auto = st.AttentionClassifier(token_map="auto", random_state=0).fit(data, y)
    assert auto.token_map_ is not None
    assert auto.score(new, y_new) > 0.85


def test_auto_leaves_the_tokens_alone_where_that_is_better(fitted):
    auto = st.AttentionClassifier(token_map="auto", random_state=0).fit(X, Y)
    assert auto.token_map_ is None
    assert auto.coef_ == pytest.approx(fitted.coef_)


def test_a_token_map_sees_scaled_tokens():
    """Without that, features of large scale leave a kernel nothing but zeros."""
    token_map = Nystroem(n_components=40, random_state=0)
    plain = st.AttentionClassifier(token_map=token_map, random_state=0).fit(X, Y)
    large = st.AttentionClassifier(token_map=token_map, random_state=0).fit(50.0 * X + 9.0, Y)
    expected = plain.decision_function(X_NEW)
    found = large.decision_function(50.0 * X_NEW + 9.0)
    assert found == pytest.approx(expected, abs=1e-4)


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


def data_and_weights(seed=0):
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((length, 5)) * [1, 2, 3, 4, 0] + 1 for length in (2, 3, 5, 4) * 10]
    weights = rng.random(40)
    return MemoryData(as_sequences(parts)), weights / weights.sum(), np.arange(40) % 3 == 0


@pytest.mark.parametrize("shrinkage", [1.0, 0.5, 1e-9, None])
def test_standard_coordinates(shrinkage):
    data, weights, _ = data_and_weights()
    standard = Standard(data, weights)
    per_token = weights * data.lengths / (weights @ data.lengths)
    (covariance,) = data.total(token_covariance, (per_token,), standard.mean, standard.scale)
    matrix = standard.to_scaled(np.eye(5), shrinkage).T
    found = matrix.T @ covariance @ matrix
    if shrinkage is None:
        assert np.trace(found) == pytest.approx(10.0)
        assert np.ptp((standard.scale * np.diag(matrix))[:4]) == pytest.approx(0, abs=1e-12)
        return
    assert found[-1] == pytest.approx(np.zeros(5))  # the feature that never varies
    if shrinkage == 1.0:
        assert np.diag(found)[:4] == pytest.approx(np.ones(4))
    if shrinkage == 1e-9:
        assert found[:4, :4] == pytest.approx(np.eye(4), abs=1e-6)
    vector, scaled = np.arange(5.0), (np.ones(5) - standard.mean) * standard.scale
    there = standard.from_scaled(scaled, shrinkage)
    here = standard.to_scaled(vector, shrinkage)
    assert vector @ there == pytest.approx(here @ scaled)
    assert standard.to_standard(here[np.newaxis], shrinkage)[0] == pytest.approx(vector)


def objective(data, index, weights, tasks=None, columns=None):
    training = TrainingSamples(data, index.astype(int), weights, [], np.arange(len(data)), 0)
    tasks = tasks or [HeadTask(HeadSpec(1.0, 1.0, 1e-3), 0, 0)]
    columns = weights[:, np.newaxis] if columns is None else columns
    return HeadObjective(training, tasks, columns, False)


def test_the_start_ignores_the_class_prior_and_the_lengths_of_the_classes():
    """Repeating one class changes nothing, nor does it matter that the classes differ in length."""
    data, weights, index = data_and_weights()
    query, sign = objective(data, index, weights).two_step_queries()
    uneven = np.where(index, 5.0 * weights, weights)
    columns = (uneven / uneven.sum())[:, np.newaxis]
    again, _ = objective(data, index, weights, columns=columns).two_step_queries()
    assert again == pytest.approx(query, abs=1e-9)
    assert np.linalg.norm(query) == pytest.approx(1.0)
    assert abs(sign) == pytest.approx(1.0)


def test_long_negatives_do_not_turn_the_start_round():
    """Slopes that sum to zero over samples, not over their tokens, would align it the wrong way."""
    cosines = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.arange(400) % 2
        parts = [rng.standard_normal((3 if label else 60, 10)) for label in y]
        for part, label in zip(parts, y, strict=True):
            part[0, 0] += 3.0 * label
        data, weights = MemoryData(as_sequences(parts)), np.full(400, 1 / 400)
        cosines.append(objective(data, y, weights).two_step_queries()[0][0, 0])
    assert np.mean(cosines) > 0.8


def test_gradients_of_heads_in_all_coordinates():
    """Of sharp, soft and turned heads, against differences of the objective."""
    data, weights, index = data_and_weights()
    specs = [HeadSpec(a, s, 0.1) for a in (1.0, -1.0, 10.0) for s in (1.0, 0.3, None)]
    tasks = [HeadTask(spec, 0, 0) for spec in specs]
    both = objective(data, index, weights, tasks)
    points = np.random.default_rng(1).standard_normal((len(tasks), 6))
    which = np.arange(len(tasks))
    gradients = both(points, which)[1]
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-6
        differences = both(points + step, which)[0] - both(points - step, which)[0]
        assert gradients[:, j] == pytest.approx(differences / 2e-6, abs=1e-6)


def test_a_head_is_the_bayes_rule_of_the_model():
    """With w = θξ, a = 1 and b = −θ²/2 the score is the log of the likelihood ratio."""
    signal, tokens = 2.0, np.random.default_rng(0).standard_normal((4, 3))
    direction = np.array([[signal, 0.0, 0.0]]).T
    score = evidence_scores(as_sequences([tokens]), direction, np.ones(1))[0, 0]
    ratio = np.mean(np.exp(signal * tokens[:, 0] - signal**2 / 2))
    assert score - signal**2 / 2 == pytest.approx(np.log(ratio))


def test_refinement_reaches_its_minimum():
    """More steps, smaller objective, until the gradient is zero."""
    data, weights, index = data_and_weights()
    one = objective(data, index, weights)
    values = []
    for steps in (1, 10, 500):
        point = minimize_many(one, one.start(), steps, 0.0)
        value, gradient = one(point, np.arange(1))
        values.append(float(value[0]))
    assert values[0] > values[1] > values[2]
    assert np.abs(gradient).max() < 1e-6


def test_heads_that_advance_together_are_those_fitted_alone():
    data, weights, index = data_and_weights()
    half = np.where(np.arange(40) % 2, weights, 0.0)
    columns = np.stack([weights, half / half.sum()], axis=1)
    tasks = [
        HeadTask(HeadSpec(a, shrinkage, reg), 0, f)
        for a in (1.0, -10.0)
        for shrinkage, reg in ((1.0, 0.1), (0.5, 0.3))
        for f in range(2)
    ]
    both = objective(data, index, weights, tasks, columns)
    together = minimize_many(both, both.start(), 30, 1e-5)
    for k, task in enumerate(tasks):
        one = objective(data, index, weights, [task], columns)
        alone = minimize_many(one, one.start(), 30, 1e-5)
        assert together[k] == pytest.approx(alone[0], rel=1e-6, abs=1e-9)


def test_a_part_decides_the_weights_of_large_data(monkeypatch):
    """The heads are then refined on all samples, from where the part has led them."""
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_NUMBERS", 12 * 15 * 100)
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_SEQUENCES", 100)
    monkeypatch.setattr("sparsetoken.estimators.folds._ENOUGH_OF_A_CLASS", 10)
    model = st.AttentionClassifier(random_state=0).fit(X, Y)
    assert len(model.reference_.scores) in (99, 100)  # the part's share of each class, rounded down
    alone = st.AttentionClassifier(random_state=0).fit(X[:100], Y[:100])
    assert model.score(X_NEW, Y_NEW) > alone.score(X_NEW, Y_NEW)
