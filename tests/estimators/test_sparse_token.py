"""SparseTokenClassifier: the right member for each kind of data, several classes, groups, files."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from sparsetoken.estimators.folds import Fold, split
from sparsetoken.estimators.members import TrainingSamples
from sparsetoken.estimators.stack import weigh
from sparsetoken.estimators.trees import Trees, check_forests
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.passes import token_fractions, token_statistics
from sparsetoken.sequences.sequences import as_sequences

NEEDLE = st.SparseTokenProblem(12, 1, 4.0)
X, Y, TRUTH = NEEDLE.sample(200, 10, random_state=0, return_truth=True)
NEW, Y_NEW = NEEDLE.sample(1000, 10, random_state=1, direction=TRUTH.direction)
STACKED = [st.AttentionClassifier, st.BayesAttentionClassifier, st.SparseTokenClassifier]


@pytest.fixture(scope="module")
def fitted():
    return st.SparseTokenClassifier(random_state=0).fit(X, Y)


def spread(n_samples, seed):
    """Bags whose tokens all vary more in the positive class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    return rng.standard_normal((n_samples, 8, 5)) * np.where(y == 1, 1.6, 1.0)[:, None, None], y


def test_members_tell_the_kind_of_data(fitted):
    assert set(fitted.members_) == {"attention", "pooled", "statistics"}
    assert sum(fitted.members_.values()) == pytest.approx(1.0)
    assert min(fitted.members_.values()) >= 0.0
    assert max(fitted.members_, key=fitted.members_.get) == "attention"
    assert fitted.score(NEW, Y_NEW) > 0.88
    data, y = spread(200, 0)
    model = st.SparseTokenClassifier(random_state=0).fit(data, y)
    assert max(model.members_, key=model.members_.get) == "statistics"
    assert model.score(*spread(500, 1)) > 0.85


def test_probabilities_are_calibrated(fitted):
    probability = fitted.predict_proba(NEW)[:, 1]
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):
        chosen = (probability >= low) & (probability <= high)
        assert abs(Y_NEW[chosen].mean() - probability[chosen].mean()) < 0.12


def test_two_samples_of_each_class():
    model = st.SparseTokenClassifier(random_state=0).fit(X[:4], [0, 0, 1, 1])
    assert model.predict(X[:4]).shape == (4,)
    assert min(model.members_.values()) > 0.05  # so few silence no member
    assert st.SparseTokenClassifier(random_state=0).fit(X[:3], [0, 1, 1]).members_


@pytest.mark.parametrize("kind", STACKED)
def test_three_classes(kind, tmp_path):
    """Each class has a token of its own; explanations and attention point at it, class by class."""
    rng = np.random.default_rng(0)
    index = np.arange(240) % 3
    data = rng.standard_normal((240, 6, 8))
    positions = rng.integers(6, size=240)
    data[np.arange(240), positions, index] += 5.0
    labels = np.array(["cat", "dog", "owl"])[index]
    model = kind(random_state=0, cv=3).fit(data[:180], labels[:180])
    new, truth = data[180:], labels[180:]
    scores, chances = model.decision_function(new), model.predict_proba(new)
    assert scores.shape == chances.shape == (60, 3)
    assert chances.sum(axis=1) == pytest.approx(np.ones(60))
    assert model.score(new, truth) > 0.9
    assert (model.predict(new) == model.classes_[scores.argmax(axis=1)]).all()
    assert np.mean(model.attention(new).argmax(axis=1) == positions[180:]) > 0.8
    for i, label in enumerate(model.classes_):
        found = model.explain(new, top=6, label=label)
        assert [e.label for e in found] == [label] * 60
        assert [e.score for e in found] == pytest.approx(scores[:, i])
        sums = [e.contributions.sum() + e.baseline + e.whole for e in found]
        assert sums == pytest.approx(scores[:, i])
    assert [e.label for e in model.explain(new)] == model.predict(new).tolist()
    assert model.query_.shape == (3, 8)
    assert model.diagnose(data, labels).p_value < 1e-4
    assert np.isfinite(model.threshold(0.1, label="owl"))
    with pytest.raises(ValueError, match=r"label must be one of \['cat', 'dog', 'owl'\], got None"):
        model.threshold(0.1)
    with pytest.raises(ValueError, match="got 'cow'"):
        model.explain(new, label="cow")
    st.save(model, tmp_path / "model.npz")
    assert np.array_equal(st.load(tmp_path / "model.npz").decision_function(new), scores)


def test_explanations_of_two_classes_name_what_they_speak_for(fitted):
    for_one = fitted.explain(NEW[:5], top=12)
    for_zero = fitted.explain(NEW[:5], top=12, label=0)
    scores = fitted.decision_function(NEW[:5])
    for score, one, zero in zip(scores, for_one, for_zero, strict=True):
        assert (one.label, zero.label) == (1, 0)
        assert one.contributions.sum() + one.baseline + one.whole == pytest.approx(score)
        assert zero.contributions == pytest.approx(-one.contributions)
        assert zero.score == pytest.approx(-one.score)
    pytest.importorskip("pandas", reason="frames come from pandas")
    frame = for_one[0].to_frame()
    assert frame.columns.tolist() == ["token", "weight", "contribution", "speaks_for"]
    negative = frame.contribution < 0
    assert (frame.speaks_for[negative] == "not 1").all()


def test_groups_are_never_split():
    """Copies of noise in one group: a classifier that saw the copy would seem to know the label."""
    rng = np.random.default_rng(0)
    noise, y = (
        np.repeat(rng.standard_normal((40, 4, 6)), 4, axis=0),
        np.repeat(np.arange(40) % 2, 4),
    )
    groups = np.repeat(np.arange(40), 4)
    aucs = []
    for given in (None, groups):
        model = st.SparseTokenClassifier(random_state=0).fit(noise, y, groups=given)
        aucs.append(roc_auc_score(model.reference_.classes, model.reference_.scores[:, 0]))
    assert aucs[0] > 0.95
    assert aucs[1] < 0.75
    for fold in split(5, y, np.ones(160), groups, np.arange(160), rng):
        assert not set(groups[fold.rows]) & set(groups[fold.held_out])
    with pytest.raises(ValueError, match=r"groups must have shape \(160,\)"):
        st.SparseTokenClassifier().fit(noise, y, groups=groups[:5])
    incomplete = np.where(groups > 2, groups, None)
    with pytest.raises(ValueError, match=r"groups must be of one kind.*got NoneType and int"):
        st.SparseTokenClassifier().fit(noise, y, groups=incomplete)
    with pytest.raises(ValueError, match=r"groups must be of one kind.*got NoneType and int"):
        st.plan.from_pilot(noise, y, error=0.1, groups=incomplete)
    with pytest.raises(ValueError, match=r"got one class: 'a'$"):
        st.SparseTokenClassifier().fit(noise, np.full(160, "a"))


def test_threads_change_nothing():
    models = [st.SparseTokenClassifier(random_state=0, n_jobs=n, cv=2).fit(X, Y) for n in (1, 2)]
    scores = [model.decision_function(NEW[:50]) for model in models]
    assert np.array_equal(*scores)


def test_a_pass_serves_all(fitted):
    """Sixty steps of four heads in six fits, and of two halves: one by one that is 1560 passes."""
    assert fitted.n_passes_ <= 200


def test_trees_are_those_of_scikit_learn():
    """Of tokens, and of summaries; a class is what it is, whatever the order of the samples."""
    rng = np.random.default_rng(0)
    index = np.arange(90) % 3
    data = MemoryData(st.Sequences.from_list(list(rng.standard_normal((90, 4, 3)))))
    fold = Fold(np.arange(60), np.arange(60, 90))
    training = TrainingSamples(data, index, np.full(90, 1 / 90), [fold], np.arange(90), seed=7)
    member = Trees(500)
    scores = member.fit(training)[0]
    rows = [
        data.per_sample(token_statistics, member.unit),
        data.per_sample(token_fractions, member.levels),
    ]
    assert np.frexp(member.unit)[0] == pytest.approx(np.full(3, 0.5))  # powers of two
    rng, chances = np.random.default_rng(7), 0.0
    for part in rows:
        seed = int(rng.integers(2**31))
        trees = ExtraTreesClassifier(250, max_features=3, random_state=seed)
        chances = chances + 0.5 * trees.fit(part[:60], index[:60]).predict_proba(part[60:])
    expected = np.log(chances + 0.02)
    assert scores[60:] == pytest.approx(expected, abs=1e-5)
    assert np.isnan(scores[:60]).all()
    assert member.scores(data)[60:, 0] == pytest.approx(expected, abs=1e-5)
    member.forests[0]["left"][0] = 0
    with pytest.raises(ValueError, match="a tree's node must come before its children"):
        check_forests(member.forests, 12)


def test_stacking_follows_the_member_that_knows():
    rng = np.random.default_rng(0)
    prior = np.full(3, 1 / 3)
    weights = {}
    for n_samples in (6, 2000):
        index = np.arange(n_samples) % 2
        good = 2.0 * (2 * index - 1) + 2.0 * rng.standard_normal(n_samples)
        scores = np.stack([7.0 * good, *rng.standard_normal((2, n_samples))])[:, :, np.newaxis]
        parts = weigh(scores, index, np.full(n_samples, 1 / n_samples), prior)
        weights[n_samples] = parts[0]
        assert parts[0].sum() == pytest.approx(1.0)
    assert weights[2000][0] > 0.9
    assert weights[6].min() > 0.05  # so few silence no member
    # The score is the log-odds: of N(±2, 2²) it is the value itself.
    combined = np.tensordot(parts[0] * parts[1], scores, 1)[:, 0] + parts[2]
    assert np.polyfit(good, combined, 1)[0] == pytest.approx(1.0, abs=0.15)


def test_thresholds_of_unequal_classes_are_found():
    """Scores that favour the common class throughout must not hide the rare one."""
    thresholds = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        log_odds = rng.normal(-4.0, 3.0, 80)
        index = (rng.random(80) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
        scores = log_odds[np.newaxis, :, np.newaxis] - 2.0
        _, scales, shift = weigh(scores, index, np.full(80, 1 / 80), np.ones(1))
        thresholds.append(-shift[0] / scales[0])
    assert np.mean(thresholds) == pytest.approx(-2.0, abs=0.5)


def test_names_of_features_decide(tmp_path):
    pandas = pytest.importorskip("pandas", reason="column names come from pandas")
    names = [f"px{i}" for i in range(10)]
    frames = [pandas.DataFrame(tokens, columns=names) for tokens in X[:80]]
    model = st.AttentionClassifier(random_state=0, cv=2, refine_steps=5).fit(frames, Y[:80])
    assert model.feature_names_in_.tolist() == names
    expected = model.decision_function(frames)
    turned = [frame[names[::-1]] for frame in frames]
    assert model.decision_function(turned) == pytest.approx(expected)
    st.save(model, tmp_path / "model.npz")
    assert st.load(tmp_path / "model.npz").decision_function(turned) == pytest.approx(expected)
    with pytest.raises(ValueError, match="now missing:\n- px0"):
        model.predict([frame[names[1:]] for frame in frames])
    other = [frame.rename(columns={"px3": "other"}) for frame in frames]
    with pytest.raises(ValueError, match="unseen at fit time:\n- other"):
        model.predict(other)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X[:2])


def test_levels_keep_off_the_values_of_round_features():
    """Half zeros and half ones have a deviation above their mean just at one: rounding decides."""
    values = np.arange(240).reshape(40, 6, 1) % 2
    data = MemoryData(st.Sequences.from_list(list(np.concatenate([values, 2.0 * values - 1.0], 2))))
    training = TrainingSamples(data, np.arange(40) % 2, np.full(40, 1 / 40), [], np.arange(40), 0)
    member = Trees(10)
    member.fit(training)
    tokens = data.sequences.tokens
    assert np.abs(tokens - member.levels[:, np.newaxis]).min() > 1e-3


@pytest.mark.parametrize("size", [1e30, 1e160, 1e280])
def test_a_new_token_may_be_of_any_size(fitted, size):
    """In batches and in streams, by every member, whatever its weight."""
    far = X[:1].copy()
    far[0, 0, 0], far[0, 1, 1] = size, -size
    for member in fitted.stack_.members:
        scores = member.scores(MemoryData(as_sequences(far)))
        summary = member.summarize(far[0, 0])
        for token in far[0, 1:]:
            summary = member.join(summary, member.summarize(token))
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(member.scores_of(summary), scores[0], rtol=1e-6, atol=1e-6)
