"""What sequences say about a direction, against one sequence and column at a time in NumPy."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from sparsetoken import Sequences
from sparsetoken.estimators.posterior_passes import (
    largest_tokens,
    longest_tokens,
    posterior_sums,
)

RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 7, 2, 4]
PARTS = [RNG.standard_normal((length, 4)) for length in LENGTHS]
X = Sequences.from_list(PARTS)
MEAN, SCALE = np.linspace(-1.0, 1.0, 4), np.arange(1.0, 5.0)
PRIORS = np.array([0.99, 0.0, -1.0, 0.99, 0.0])  # two positives, two negatives, one unlabelled
WEIGHTS = np.array([[1.0, 0.5], [1.0, 2.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
SHIFTS, SHARPNESS, PRECISION = np.array([-0.5, 0.2]), np.array([1.5, 0.7]), np.array([40.0, 90.0])
RATES = np.array([0.3, 0.6])
FREQUENCY = np.array([0.3, 0.5])  # what is left are kinds without a direction


def column_by_hand(k, vector, judge):
    along, total, squares, noise, evidence = np.zeros(4), 0.0, 0.0, np.zeros(3), 0.0
    unlabelled = np.zeros(2)
    for part, prior, weight in zip(PARTS, PRIORS, WEIGHTS[:, k], strict=True):
        z = (part - MEAN) * SCALE
        scores = z @ vector
        moments = np.array([len(z), scores.sum(), (scores**2).sum()])
        if prior == 0.0:
            u = SHARPNESS[k] * (scores + SHIFTS[k])
            evidence += judge * weight * np.log(expit(np.log(len(u)) - logsumexp(u)))
            noise += judge * weight * moments
            continue
        rate, chance = (RATES[k] if prior < 0 else prior), np.zeros(len(z))
        for step in (1.0, 0.5):
            own = (z**2).sum(axis=1) / PRECISION[k] * chance
            u = SHARPNESS[k] * (scores + SHIFTS[k] - own)
            odds = logsumexp(u) - np.log(len(u))
            carries = expit(odds + np.log(rate / (1 - rate)))
            chance = (1 - step) * chance + step * carries * np.exp(u - logsumexp(u))
        along, total = along + weight * chance @ part, total + weight * chance.sum()
        squares += weight * (chance**2).sum()
        if prior < 0:
            noise += weight * (1 - carries) * moments
            unlabelled += weight * np.array([carries, np.log(1 - rate + rate * np.exp(odds))])
        else:
            evidence += weight * np.log(expit(odds))
    return along, total, squares, evidence, noise, unlabelled


@pytest.mark.parametrize("judge", [True, False])
def test_sums_are_those_of_one_sequence_at_a_time(judge):
    vectors = RNG.standard_normal((4, 2))
    in_data = vectors * SCALE[:, np.newaxis]
    kind = np.arange(2), np.ones(2, dtype=int), np.arange(2), False, judge
    beliefs = np.stack([SHIFTS, SHARPNESS, PRECISION, RATES, np.ones(2)])
    geometry = MEAN, SCALE, in_data, -(MEAN @ in_data)
    sums = posterior_sums(X, PRIORS, WEIGHTS, geometry, (beliefs, kind))
    for k in range(2):
        along, total, squares, evidence, noise, unlabelled = column_by_hand(k, vectors[:, k], judge)
        assert sums.along[:, k] == pytest.approx(along)
        assert sums.total[k] == pytest.approx(total)
        assert sums.squares[k] == pytest.approx(squares)
        assert sums.evidence[0, k] == pytest.approx(evidence)
        assert sums.noise[:, k] == pytest.approx(noise)
        assert sums.unlabelled[:, k] == pytest.approx(unlabelled)


def kinds_by_hand(vectors, judge):
    """Return the same of one head of two kinds, in which a third of the positives have neither."""
    total, squares, noise, evidence = np.zeros(2), np.zeros(2), np.zeros((3, 2)), 0.0
    for part, prior, weight in zip(PARTS, PRIORS, WEIGHTS[:, 0], strict=True):
        z = (part - MEAN) * SCALE
        scores, rate, chance = (
            z @ vectors,
            (RATES[0] if prior < 0 else prior),
            np.zeros((len(z), 2)),
        )
        moments = np.array([np.full(2, len(z)), scores.sum(axis=0), (scores**2).sum(axis=0)])
        for step in (1.0, 0.5):
            own = (z**2).sum(axis=1)[:, np.newaxis] / PRECISION * chance
            places = FREQUENCY * np.exp(SHARPNESS * (scores + SHIFTS - own)) / len(z)
            odds = np.log(places.sum() + 1.0 - FREQUENCY.sum())
            if prior == 0.0:
                break
            carries = expit(odds + np.log(rate / (1 - rate)))
            chance = (1 - step) * chance + step * carries * places / np.exp(odds)
        total, squares = total + weight * chance.sum(axis=0), squares + weight * (chance**2).sum(0)
        noise += weight * moments * (judge if prior == 0 else (1 - carries) * (prior < 0))
        if prior >= 0:
            evidence += weight * (judge or prior > 0) * np.log(expit(odds if prior else -odds))
    return total, squares, noise, evidence


@pytest.mark.parametrize("judge", [True, False])
def test_kinds_of_a_head_share_a_sequence(judge):
    vectors = 0.3 * RNG.standard_normal((4, 2))
    in_data = vectors * SCALE[:, np.newaxis]
    kind = np.zeros(1, dtype=int), np.ones(2, dtype=int), np.zeros(2, dtype=int), False, judge
    beliefs = np.stack([SHIFTS, SHARPNESS, PRECISION, np.full(2, RATES[0]), FREQUENCY])
    geometry = MEAN, SCALE, in_data, -(MEAN @ in_data)
    sums = posterior_sums(X, PRIORS, WEIGHTS, geometry, (beliefs, kind))
    total, squares, noise, evidence = kinds_by_hand(vectors, judge)
    assert sums.total == pytest.approx(total)
    assert sums.squares == pytest.approx(squares)
    assert sums.noise == pytest.approx(noise)
    assert sums.evidence[0] == pytest.approx([evidence])


def test_the_longest_token_of_each_sequence():
    scaled = [(part - MEAN) * SCALE for part in PARTS]
    rows = [np.argmax(np.linalg.norm(part, axis=1)) for part in scaled]
    expected = np.array([part[row] for part, row in zip(PARTS, rows, strict=True)])
    assert np.array_equal(longest_tokens(X, MEAN, SCALE), expected)
    directions = RNG.standard_normal((4, 3))
    for part, found in zip(PARTS, largest_tokens(X, directions), strict=True):
        assert found[:, 0] == pytest.approx((part @ directions).max(axis=0))
        assert found[:, 1:] == pytest.approx(part[(part @ directions).argmax(axis=0)])
