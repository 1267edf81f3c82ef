"""Points of sequences, and what each adds to the error of a rule."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from statistical import Z_LIMIT

from populations import LENGTH_WITH_LABEL, TWO_LENGTHS
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.theory.token_scores import (
    WeightedSamples,
    draw_positives,
    log_likelihood_ratio,
)


def test_kinds_that_differ_in_their_rate_only_are_one_of_their_length():
    kind = SparseTokenProblem(6, 1, 3.0, 0.2)
    others = [replace(kind, positive_rate=0.6), replace(kind, signal=4.0), SparseTokenProblem(4)]
    first, second = Population([kind, *others], [0.4, 0.3, 0.2, 0.1]).by_length
    assert [kind.signal for kind in first.kinds] == [3.0, 4.0]
    assert first.positive == pytest.approx([0.4 * 0.2 + 0.3 * 0.6, 0.2 * 0.2])
    assert first.negative == pytest.approx(0.4 * 0.8 + 0.3 * 0.4 + 0.2 * 0.8)
    assert (len(second.kinds), second.negative) == (1, pytest.approx(0.05))


@pytest.mark.parametrize(
    "problem",
    [TWO_LENGTHS, LENGTH_WITH_LABEL, Population([SparseTokenProblem(6, 2, 2.0)], None, (0.2, 0.1))],
    ids=["two lengths", "length goes with the label", "label errors"],
)
def test_whoever_calls_all_samples_one_class_errs_as_often_as_there_are_others(problem):
    samples = WeightedSamples(problem, 4096)
    rate = problem.positive_rate
    for terms, expected in ((samples.missed, rate), (samples.alarm, 1.0 - rate)):
        found = samples.estimate(terms.mean(), terms.mean(axis=1))
        assert 0.0 < found.uncertainty < 0.01
        assert abs(found - expected) < Z_LIMIT * found.uncertainty


def test_the_noise_of_runs_is_in_place():
    runs = SparseTokenProblem(7, 3, 2.0, contiguous=True)
    both = (replace(runs, contiguous=False), runs)
    (first,), (placed,) = (draw_positives([kind], 1024, 0) for kind in both)
    assert first.marked[:, :3].all()
    assert placed.marked.sum(axis=1).tolist() == [3] * len(placed.marked)
    for rows in (first, placed):
        assert rows.noise[rows.marked].mean() == pytest.approx(0.0, abs=0.1)
    assert np.sort(placed.noise, axis=1) == pytest.approx(np.sort(first.noise, axis=1))


@pytest.mark.parametrize("contiguous", [False, True])
def test_likelihood_ratio_against_enumeration(contiguous):
    problem = SparseTokenProblem(6, 3, 1.5, contiguous=contiguous)
    x = np.random.default_rng(0).normal(0, 3, (20, 6))
    subsets = [s for s in combinations(range(6), 3) if not contiguous or s[-1] - s[0] == 2]
    shifts = np.array([[1.5 * (i in subset) for i in range(6)] for subset in subsets])
    ratios = np.exp(x @ shifts.T - 0.5 * (shifts**2).sum(axis=1)).mean(axis=1)
    assert log_likelihood_ratio(x, problem) == pytest.approx(np.log(ratios), rel=1e-10)
