"""What a fit keeps of held-out samples, and how good their scores are."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from sparsetoken.estimators.reference import Reference, auc_influence, class_signs, mean_auc


def test_the_mean_auc_is_that_of_each_class_against_the_others():
    rng = np.random.default_rng(0)
    index = rng.integers(3, size=90)
    scores = np.round(rng.standard_normal((90, 3)) + (index[:, np.newaxis] == np.arange(3)), 1)
    expected = [roc_auc_score(index == c, scores[:, c]) for c in range(3)]
    assert mean_auc(scores, class_signs(index)) == pytest.approx(np.mean(expected))
    assert class_signs(np.array([0, 1, 1])).tolist() == [[-1.0], [1.0], [1.0]]
    assert mean_auc(np.ones((4, 1)), np.ones((4, 1))) == 0.5  # one class alone tells nothing


def test_the_variance_of_an_auc_is_its_scatter():
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(120) < 40, 1.0, -1.0)[:, np.newaxis]
    drawn = [auc_influence(signs + 1.5 * rng.standard_normal((120, 1)), signs) for _ in range(300)]
    error = np.sqrt(np.mean([influence @ influence for _, influence in drawn]))
    assert error == pytest.approx(np.std([auc for auc, _ in drawn]), rel=0.15)


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
        ({"kept_folds": np.array([0.5])}, "must be integers"),
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
