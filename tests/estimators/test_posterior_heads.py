"""Posterior heads: neighbors, numbers of signal tokens, and either class."""

import numpy as np
import pytest

import sparsetoken as st


@pytest.mark.statistical
def test_neighbors_are_found_more_easily():
    problem = st.SparseTokenProblem(30, n_signal=4, signal=2.2, contiguous=True)
    floor = st.theory.optimal(problem, alpha=2.0).test_error
    errors = []
    for draw in range(3):
        X, y, truth = problem.sample(120, 60, random_state=draw, return_truth=True)
        new, labels = problem.sample(1500, 60, random_state=100 + draw, direction=truth.direction)
        clf = st.BayesAttentionClassifier(contiguous=True, random_state=0).fit(X, y)
        errors.append(1.0 - clf.score(new, labels))
        stream = clf.stream()
        for token in new[0]:
            stream.update(token)
        assert stream.score == pytest.approx(clf.decision_function(new[:1])[0])
    assert np.mean(errors) < 1.15 * floor + 3.0 * np.std(errors, ddof=1) / np.sqrt(3)
    anywhere = st.BayesAttentionClassifier(random_state=0).fit(X, y)
    assert anywhere.score(new, labels) < clf.score(new, labels) - 0.02


def test_finds_how_many_tokens_carry_the_signal():
    for n_signal, signal in ((1, 6.0), (5, 2.2)):
        problem = st.SparseTokenProblem(24, n_signal=n_signal, signal=signal)
        X, y = problem.sample(150, 40, random_state=0)
        clf = st.BayesAttentionClassifier(random_state=0).fit(X, y)
        assert max(clf.heads_, key=lambda head: head.weight).n_signal == n_signal


def test_heads_of_the_stack_turn_with_the_classes():
    """Whichever class carries the signal: the posterior heads take the lead of the stack."""
    X, y = st.SparseTokenProblem(20, signal=6.0).sample(100, 60, random_state=0)
    clf = st.SparseTokenClassifier(n_trees=20, random_state=0).fit(X, 1 - y)
    leading = max(clf.heads_, key=lambda head: head.weight)
    assert leading.model == "posterior"
    assert leading.temperature < 0
    straight = st.SparseTokenClassifier(n_trees=20, random_state=0).fit(X, y)
    scores = straight.decision_function(X)
    assert np.abs(clf.decision_function(X) + scores).max() < 1e-6 * scores.std()
