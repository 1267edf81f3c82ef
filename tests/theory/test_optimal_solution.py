"""The free entropy of the solutions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from statistical import Z_LIMIT, standard_score

from sparsetoken.theory.likelihood import log_likelihood_ratio
from sparsetoken.theory.optimal_precision import tabulate_precision
from theory.learned import PROBLEMS, learn


@pytest.mark.parametrize("name", ["one token", "several", "runs", "strengths"])
def test_free_entropy_is_the_information_in_the_tokens(name):
    """The integral of the precision of unlabelled samples is twice E log likelihood."""
    problem, rng = PROBLEMS[name], np.random.default_rng(2)
    overlap = 0.6
    seen = [replace(kind, signal=math.sqrt(overlap) * kind.signal) for kind in problem.kinds]
    shares = getattr(problem, "shares", (1.0,))
    logs = []
    for kind, share in zip(seen, shares, strict=True):
        X, y = kind.sample(max(round(60_000 * share), 1), 1, random_state=rng, direction=[1.0])
        terms = np.stack([
            np.log(w * k.positive_rate) + log_likelihood_ratio(X[:, :, 0], k)
            for k, w in zip(seen, shares, strict=True)
        ] + [np.full(len(y), math.log(1.0 - problem.positive_rate))])  # fmt: skip
        logs.append(np.logaddexp.reduce(terms, axis=0))
    # per sample log evidence against noise alone
    information = 0.5 * tabulate_precision(problem, 4096).integral(overlap)[1]
    assert abs(standard_score(np.concatenate(logs), information)) < Z_LIMIT


@pytest.mark.parametrize("name", ["one token", "runs", "two lengths"])
def test_free_entropy_grows_with_samples_by_their_information(name):
    problem = PROBLEMS[name]
    low, middle, high = (learn(problem, 1.0 + shift) for shift in (-1e-3, 0.0, 1e-3))
    slope = (high.free_entropy - low.free_entropy) / 2e-3
    information = 0.5 * tabulate_precision(problem, 512).integral(middle.overlap)[0]
    assert slope == pytest.approx(information, rel=1e-3)
