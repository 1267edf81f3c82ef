"""Folds: of groups, of your own, of too few samples; and how good held-out scores are."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import sparsetoken as st
from sparsetoken.estimators.folds import (
    auc_influence,
    class_signs,
    mean_auc,
    split,
    tokens_far_out,
)
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences

PROBLEM = st.SparseTokenProblem(12, 1, 4.0)
X, Y, TRUTH = PROBLEM.sample(300, 15, random_state=0, return_truth=True)
X_NEW, Y_NEW = PROBLEM.sample(2000, 15, random_state=1, direction=TRUTH.direction)


def test_your_own_folds():
    folds = list(StratifiedKFold(3).split(X[:, 0], Y))[:2]  # a third is never held out
    model = st.AttentionClassifier(cv=folds, refine_steps=20).fit(X, Y)
    assert model.score(X_NEW, Y_NEW) > 0.9
    bad = [(np.flatnonzero(Y == 1), np.flatnonzero(Y == 0))]
    with pytest.raises(ValueError, match="cv must leave samples of every class"):
        st.AttentionClassifier(cv=bad).fit(X, Y)


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_a_token_far_beyond_all_others_is_left_out(size):
    """One in 3600: it would decide the scale of its feature, and with it all heads."""
    far = X.copy()
    far[7, 3, 2] = -size
    for make in (
        lambda: st.AttentionClassifier(random_state=0, cv=2, refine_steps=10),
        lambda: st.BayesAttentionClassifier(random_state=0, cv=2),
        lambda: st.SparseTokenClassifier(monotone=True, random_state=0, cv=2, refine_steps=10),
    ):
        with pytest.warns(UserWarning, match=r"sequence 7 has a token .* in feature 2 .* 1 such"):
            model = make().fit(far, Y)
        assert model.score(X_NEW, Y_NEW) > make().fit(X, Y).score(X_NEW, Y_NEW) - 0.02


def test_two_steps_warn_of_a_token_far_beyond_all_others():
    far = X.copy()
    far[7, 3, 2] = 1e6
    with pytest.warns(UserWarning, match=r"sequence 7 has a token .* in feature 2 .* may decide"):
        st.TwoStepAttentionClassifier(random_state=0).fit(far, Y)


def test_heavy_tails_are_not_far_out():
    tokens = np.random.default_rng(0).standard_t(2, (200, 10, 5))
    assert not tokens_far_out(MemoryData(as_sequences(tokens)))[0].any()
    rare = tokens * [1.0, 1.0, 1.0, 1.0, 0.0]
    rare[3, 4, 4] = 1.0  # a feature that a single token has
    assert not tokens_far_out(MemoryData(as_sequences(rare)))[0].any()


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
