"""Scores do not depend on the processor, nor on the order and the names of the data."""

import sys

import numpy as np
import pytest

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[2]))
portable = pytest.importorskip("benchmarks.portable", reason="the benchmarks are not installed")


@pytest.mark.system
def test_an_old_processor_gives_the_same_scores():
    here, there = (portable.measure(kind, None, quick=True) for kind in (None, "old"))
    assert here.keys() == there.keys()
    for name, score in here.items():
        apart, flips = portable.difference(score, there[name])
        assert apart < 1e-5, name
        assert flips == 0, name


def changed(case):
    """Yield the same data in other forms, and how to compare the scores."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(case.y))
    yield "samples permuted", case._replace(X=case.X[order], y=case.y[order]), lambda s: s
    X = case.X.copy()
    for sequence in X:
        rng.shuffle(sequence)
    yield "tokens permuted", case._replace(X=X), lambda s: s
    yield "classes swapped", case._replace(y=1 - case.y), lambda s: -s
    scaled = case._replace(X=1000.0 * case.X, new=1000.0 * case.new)
    yield "features x 1000", scaled, lambda s: s


@pytest.mark.parametrize(
    "name", ["sparsetoken", pytest.param("attention", marks=pytest.mark.system)]
)
def test_the_form_of_the_data_does_not_matter(name):
    case = portable.synthetic(60, 6, 10, 4.0, 1)
    constant = np.full((60, 6, 1), 0.1)  # its mean is 0.1 up to rounding
    case = case._replace(X=np.concatenate([case.X, constant], axis=2))
    case = case._replace(new=np.concatenate([case.new, constant], axis=2))
    expected = portable.scores(name, case)
    for what, other, back in changed(case):
        apart, _ = portable.difference(expected, back(portable.scores(name, other)))
        assert apart < 1e-5, what
