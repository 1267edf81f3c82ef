"""Each pooling against counting in plain NumPy: in batches, token by token, and divided."""

from dataclasses import replace
from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp

from sparsetoken.estimators.head_pooling import EvidencePooling, HeadPooling

RNG = np.random.default_rng(0)
LENGTHS = [1, 2, 5, 7]
OFFSETS = np.cumsum([0, *LENGTHS])
SCORES = RNG.standard_normal((OFFSETS[-1], 2, 3))  # of two heads, for three classes
EVIDENCE = EvidencePooling(np.array([1.0, -3.0]), np.array([1, 2]))
POOLINGS = {
    "mean": HeadPooling(),
    "evidence": EVIDENCE,
    "windows": replace(EVIDENCE, contiguous=True),
    "sums": replace(EVIDENCE, n_signal=np.array([1, 1]), reference_length=4.0),
}
KINDS = EvidencePooling(np.array([1.0, -3.0, -3.0]), np.array([1, 2, 2]), heads=np.array([0, 1]))


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("n_signal", [1, 2, 4])
@pytest.mark.parametrize("scale", [0.1, 8.0])
def test_choices_are_counted(n_signal, scale, contiguous):
    pooling = EvidencePooling(np.array([1.0, -2.0]), np.full(2, n_signal), contiguous)
    scores = pooling.pool(scale * SCORES, OFFSETS)
    attention, _, _ = pooling.divide(scale * SCORES, OFFSETS, np.zeros((2, 3)))
    for i, low, high in zip(range(4), OFFSETS[:-1], OFFSETS[1:], strict=True):
        for k, c in np.ndindex(2, 3):
            u = scale * SCORES[low:high, k, c] / pooling.temperatures[k]
            size = min(n_signal, len(u))
            chosen = list(combinations(range(len(u)), size))
            if contiguous:
                chosen = [places for places in chosen if places[-1] - places[0] == size - 1]
            logs = np.array([u[list(places)].sum() for places in chosen])
            expected = pooling.temperatures[k] * (logsumexp(logs) - np.log(len(logs)))
            assert scores[i, k, c] == pytest.approx(expected)
            weights = np.exp(logs - logsumexp(logs))
            part = [weights[[t in places for places in chosen]].sum() for t in range(len(u))]
            assert attention[low:high, k, c] * size == pytest.approx(part)


def check_three_ways(pooling, u, center):
    """See that tokens pooled at once, divided, and one by one make the same score."""
    scores = pooling.pool(u, OFFSETS)
    attention, contributions, baseline = pooling.divide(u, OFFSETS, center)
    assert np.add.reduceat(attention, OFFSETS[:-1]) == pytest.approx(np.ones_like(scores))
    assert np.add.reduceat(contributions, OFFSETS[:-1]) + baseline == pytest.approx(scores)
    for low, high, score in zip(OFFSETS[:-1], OFFSETS[1:], scores, strict=True):
        parts = [pooling.begin(one) for one in u[low:high]]
        assert pooling.end(reduce(pooling.join, parts), high - low) == pytest.approx(score)


@pytest.mark.parametrize("name", POOLINGS)
def test_tokens_one_by_one_and_divided_make_the_same_score(name):
    pooling = POOLINGS[name]
    u = SCORES[:, :, :1]
    check_three_ways(pooling, u, np.array([[0.3], [-0.2]]))


SUMS = {"n_signal": np.array([1, 1, 1]), "reference_length": 4.0}


@pytest.mark.parametrize("changes", [{}, {"contiguous": True}, SUMS], ids=["", "windows", "sums"])
def test_kinds_of_a_head_are_joined(changes):
    pooling = replace(KINDS, **changes)
    u = np.concatenate([SCORES, 0.5 * SCORES[:, :1] + 1.0], axis=1)[:, :, :1]
    each, scores = replace(pooling, heads=None).pool(u, OFFSETS), pooling.pool(u, OFFSETS)
    assert scores[:, 0] == pytest.approx(each[:, 0])
    assert scores[:, 1] == pytest.approx(-3.0 * logsumexp(each[:, 1:] / -3.0, axis=1))
    chances = pooling.kinds(u, OFFSETS)
    assert chances[:, 0] == pytest.approx(np.ones((4, 1)))
    assert chances[:, 1:] == pytest.approx(np.exp((each[:, 1:] - scores[:, 1:]) / -3.0))
    check_three_ways(pooling, u, np.array([[0.3], [-0.2], [0.1]]))


def test_a_mean_is_the_mean():
    expected = [part.mean(axis=0) for part in np.split(SCORES, OFFSETS[1:-1])]
    assert HeadPooling().pool(SCORES, OFFSETS) == pytest.approx(np.array(expected))


def test_sums_grow_with_every_token():
    """Of several heads that speak for the class, and equal the mean at the reference length."""
    means = EvidencePooling(np.ones(2), np.array([1, 1]))
    sums = replace(means, reference_length=5.0)
    u = SCORES[3:8]
    whole, shorter = (sums.pool(u[:n], np.array([0, n])) for n in (5, 4))
    assert whole == pytest.approx(means.pool(u, np.array([0, 5])))
    assert (whole > shorter).all()


@pytest.mark.parametrize("size", [1e3, 1e30, 1e280])
def test_scores_may_be_of_any_size(size):
    u = SCORES[:, :, :1].copy()
    u[4] *= size
    for pooling in POOLINGS.values():
        assert np.isfinite(pooling.pool(u, OFFSETS)).all()
