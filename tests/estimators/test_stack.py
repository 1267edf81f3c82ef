"""Members weighed together, and what a fit keeps of held-out samples."""

from dataclasses import replace

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.estimators.stack import Reference, weigh
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences


def test_members_without_weight_are_not_asked():
    X, y = st.SparseTokenProblem(n_tokens=6, signal=5.0).sample(80, 6, random_state=0)
    stack = st.AttentionClassifier(random_state=0, cv=2, refine_steps=5).fit(X, y).stack_
    weights = stack.weights.copy()
    rows = stack.split(np.arange(len(weights)))[1]
    weights[rows] = 0.0
    stack, data = replace(stack, weights=weights), MemoryData(as_sequences(X))
    raw = np.concatenate([member.scores(data) for member in stack.members], axis=1)
    expected = stack.combine(raw)
    del stack.members[1].directions
    np.testing.assert_allclose(stack.scores(data), expected, rtol=1e-12)


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


def test_few_samples_believe_the_score_that_explains_them():
    """Of twenty scores one knows: forty samples are enough to say which."""
    index = np.arange(40) % 2
    known = []
    for seed in range(10):
        scores = np.random.default_rng(seed).standard_normal((20, 40, 1))
        scores[0, :, 0] += 2 * index - 1
        known.append(weigh(scores, index, np.full(40, 1 / 40), np.full(20, 0.05))[0][0])
    assert np.mean(known) > 0.85


def test_thresholds_of_unequal_classes_are_found():
    """Scores that favor the common class throughout must not hide the rare one."""
    thresholds = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        log_odds = rng.normal(-4.0, 3.0, 80)
        index = (rng.random(80) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
        scores = log_odds[np.newaxis, :, np.newaxis] - 2.0
        _, scales, shift = weigh(scores, index, np.full(80, 1 / 80), np.ones(1))
        thresholds.append(-shift[0] / scales[0])
    assert np.mean(thresholds) == pytest.approx(-2.0, abs=0.5)


def test_a_fit_keeps_tokens_classes_and_folds_of_its_samples():
    X, y = st.SparseTokenProblem(5, 1, 4.0).sample(40, 3, random_state=0)
    kept = st.AttentionClassifier(cv=2, refine_steps=2, random_state=0).fit(X, y).reference_
    sequences = st.Sequences(kept.tokens, kept.offsets)
    assert sorted(s.tobytes() for s in sequences) == sorted(x.tobytes() for x in X)
    for tokens, label in zip(sequences, kept.kept_classes, strict=True):
        assert y[(tokens == X).all(axis=(1, 2))] == label
    assert set(kept.kept_folds) == {0, 1}
    assert kept.lengths.tolist() == [5.0, 5.0]
    negatives = kept.held_out(0, np.array([True, False]))
    assert len(negatives) == (y == 0).sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": np.array([0, 2])}, "class that does not exist"),
        ({"kept_classes": np.array([-1])}, "class that does not exist"),
        ({"offsets": np.array([0, 1, 2])}, "not those of the kept sequences"),
        ({"offsets": np.array([0, 9])}, "offsets must run from 0"),
    ],
)
def test_numbers_that_do_not_go_together(change, message):
    sound = {
        "scores": np.zeros((2, 1)),
        "classes": np.array([0, 1]),
        "tokens": np.ones((2, 3)),
        "offsets": np.array([0, 2]),
        "kept_classes": np.array([1]),
        "kept_folds": np.array([0]),
        "lengths": np.array([2.0, 2.0]),
    }
    Reference(**sound).check(2)
    with pytest.raises(ValueError, match=message):
        Reference(**sound | change).check(2)
