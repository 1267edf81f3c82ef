"""What samples add to the precision, and its integral."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from statistical import Z_LIMIT, quick_first, standard_score

from populations import TWO_LENGTHS
from sparsetoken.theory import optimal
from sparsetoken.theory.learning.information import information_curve
from sparsetoken.theory.token_scores import log_likelihood_ratio
from theory.learned import PROBLEMS


@pytest.mark.parametrize("name", quick_first(["several", "one token", "runs", "strengths"]))
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
    information = 0.5 * information_curve(problem, 4096).integral(overlap)[1]
    assert abs(standard_score(np.concatenate(logs), information)) < Z_LIMIT


def test_kinds_of_different_lengths_add_up():
    """The equation itself, solved from what each length adds."""
    alpha, found = 1.5, optimal(TWO_LENGTHS, 1.5)
    tables = [information_curve(kind, 4096) for kind in TWO_LENGTHS.kinds]

    def excess(overlap):
        shares = TWO_LENGTHS.shares
        added = sum(w * table(overlap)[0] for w, table in zip(shares, tables, strict=True))
        return alpha * added - overlap / (1.0 - overlap)

    assert found.overlap == pytest.approx(brentq(excess, 1e-9, 1 - 1e-9), rel=2e-3)
