"""Faults of the data are found, each as the first finding."""

import numpy as np
import pytest

import sparsetoken as st


def needle(n_samples=200, seed=0):
    problem = st.SparseTokenProblem(10, 1, 4.0)
    return problem.sample(n_samples, 10, random_state=seed)


def faulty(kind):
    """Return samples with one known fault."""
    data, y = needle()
    if kind == "duplicated sequences":
        return np.repeat(data[:80], 2, axis=0), np.repeat(y[:80], 2)
    if kind == "constant features":
        return np.concatenate([data, np.ones((*data.shape[:2], 2))], axis=2), y
    data[7, 3] *= 100.0  # "outlying tokens", not yet so far that fit leaves them out
    return data, y


@pytest.mark.parametrize("kind", ["duplicated sequences", "constant features", "outlying tokens"])
def test_the_fault_is_the_first_finding(kind):
    data, y = faulty(kind)
    model = st.AttentionClassifier(random_state=0, cv=3, refine_steps=30).fit(data, y)
    found = model.diagnose(data, y)
    assert found.problems[0].name == kind
    assert found.problems[0].advice in str(found)


def test_few_samples_of_a_class():
    data, y = needle(300)
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]])
    model = st.SparseTokenClassifier(random_state=0, cv=3, refine_steps=30).fit(data[rows], y[rows])
    found = model.diagnose(data[rows], y[rows])
    assert found.problems[0].name == "few samples of a class"
    assert "has only 5 of these samples" in str(found)
