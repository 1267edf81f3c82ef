import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.estimators.folds import reliability

PROBLEM = st.SparseTokenProblem(10, 1, 5.0)
X, Y, TRUTH = PROBLEM.sample(300, 20, random_state=0, return_truth=True)
NEW, Y_NEW = PROBLEM.sample(400, 20, random_state=1, direction=TRUTH.direction)


@pytest.fixture(scope="module", params=["attention", "two-step"])
def model(request):
    if request.param == "attention":
        return st.AttentionClassifier(random_state=0, cv=2, refine_steps=5).fit(X + 5.0, Y)
    return st.TwoStepAttentionClassifier(random_state=0).fit(X + 5.0, Y)


def test_contributions_add_up(model):
    data = [tokens[: 4 + i % 5] + 5.0 for i, tokens in enumerate(NEW[:20])]
    whole = model.explain(data, top=10)
    score = model.decision_function(data)
    for i, found in enumerate(whole):
        assert len(found.tokens) == len(data[i])
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.contributions.sum() + found.baseline == pytest.approx(score[i])
        assert found.score == pytest.approx(score[i])
        assert (np.diff(found.weights) <= 0).all()
        assert found.weights == pytest.approx(model.attention(data)[i][found.tokens])
    short = model.explain(data, top=2)
    assert [found.tokens.tolist() for found in short] == [
        found.tokens[:2].tolist() for found in whole
    ]


def test_tokens_in_the_order_of_the_sequence(model):
    (heaviest_first,) = model.explain(NEW[:1] + 5.0, top=6)
    ordered = heaviest_first.by_position()
    assert ordered.tokens.tolist() == sorted(heaviest_first.tokens)
    for token, weight, contribution in zip(*heaviest_first[:3], strict=True):
        place = ordered.tokens.tolist().index(token)
        assert (ordered.weights[place], ordered.contributions[place]) == (weight, contribution)
    assert ordered[3:] == heaviest_first[3:]


def test_explanations_point_at_the_signal():
    model = st.AttentionClassifier(random_state=0, cv=2, refine_steps=10).fit(X, Y)
    positive = np.flatnonzero(Y == 1)
    found = model.explain(X[positive], top=1)
    hits = [bool(TRUTH.positions[i, e.tokens[0]]) for i, e in zip(positive, found, strict=True)]
    assert np.mean(hits) > 0.9
    assert np.mean([e.contributions[0] for e in found]) > 1.0


def test_reliability_is_exact_for_gaussian_errors():
    """Two halves: limit plus noise; the estimate is the cosine at the full sample."""
    rng = np.random.default_rng(0)
    dim, noise = 2000, 0.8  # squared error over squared length of the limit, at half the sample
    limit = np.eye(dim)[0]
    drawn = limit + np.sqrt(noise / dim) * rng.standard_normal((50, 2, 1, dim))
    for fraction in (0.5, 0.1):
        found = [reliability(queries, fraction) for queries in drawn]
        assert np.mean(found) == pytest.approx(1 / np.sqrt(1 + noise * fraction), abs=0.01)
    assert reliability(np.zeros((2, 1, 3)), 0.5) == 0.0
    assert reliability(np.array([np.ones((1, 3)), -np.ones((1, 3))]), 0.5) == 0.0


@pytest.mark.statistical
def test_two_step_reliability_is_that_of_its_query():
    cosines, estimates = [], []
    for seed in range(20):
        data, y, truth = PROBLEM.sample(200, 30, random_state=seed, return_truth=True)
        model = st.TwoStepAttentionClassifier(random_state=0).fit(data, y)
        cosines.append(model.query_ @ truth.direction / np.linalg.norm(model.query_))
        estimates.append(model.query_reliability_)
    assert np.mean(estimates) == pytest.approx(np.mean(cosines), abs=0.04)


def test_bad_arguments():
    model = st.TwoStepAttentionClassifier(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="top must be an integer >= 1"):
        model.explain(X, top=0)


def test_every_classifier_attends_and_explains():
    """Pooling weighs all tokens the same, a readout in a row weighs them by position."""
    pooled, in_a_row = (c.fit(X, Y) for c in (st.PooledClassifier(), st.VectorizedClassifier()))
    assert pooled.attention(NEW[:3]) == pytest.approx(np.full((3, 10), 0.1))
    assert [len(weights) for weights in pooled.attention([NEW[0, :4], NEW[1]])] == [4, 10]
    sizes = np.linalg.norm(in_a_row.coef_.reshape(10, -1), axis=1)
    assert in_a_row.attention(NEW[:2]) == pytest.approx(np.tile(sizes / sizes.sum(), (2, 1)))
    for clf in (pooled, in_a_row):
        for explained, score in zip(
            clf.explain(NEW[:5], top=10), clf.decision_function(NEW[:5]), strict=True
        ):
            total = explained.contributions.sum() + explained.baseline + explained.whole
            assert total == pytest.approx(score)
            assert explained.whole == 0.0  # and nothing that is left by rounding
            assert "whole=0.0" in repr(explained)
    assert (pooled.members_, in_a_row.members_) == ({"pooled": 1.0}, {"position": 1.0})
    with pytest.raises(ValueError, match="PooledClassifier holds no samples out in fit"):
        pooled.threshold(0.1)
    with pytest.raises(ValueError, match="needs whole sequences and has no stream"):
        in_a_row.stream().update(NEW[0, 0])


def test_chunks_are_attended_like_arrays():
    da = pytest.importorskip("dask.array")
    classes = Y + Y * (np.arange(300) % 2)
    model = st.AttentionClassifier(random_state=0, cv=2, refine_steps=2).fit(X, classes)
    chunked = da.from_array(NEW[:20], chunks=(7, -1, -1))
    for label in (None, 2):
        expected = model.attention(NEW[:20], label)
        assert model.attention(chunked, label) == pytest.approx(expected)


def test_an_explanation_says_what_is_predicted_and_is_readable():
    model = st.TwoStepAttentionClassifier(random_state=0).fit(X, np.where(Y == 1, "ill", "well"))
    for one, said in zip(model.explain(NEW[:20]), model.predict(NEW[:20]), strict=True):
        assert (one.speaks_for, one.predicted) == ("well", said)
        assert max(map(len, repr(one).replace("=", ",").split(","))) < 20
        assert f"predicted='{said}'" in repr(one)
    with pytest.warns(FutureWarning, match="label is called speaks_for now"):
        assert one.label == "well"
