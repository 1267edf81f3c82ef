"""Averages over the Gaussian against Monte Carlo."""

import numpy as np
import pytest
from dense_reference import softmax
from statistical import Z_LIMIT, standard_score

from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic, Square
from sparsetoken.theory.features import token_noise
from sparsetoken.theory.open.averages import (
    gaussian_averages,
    influence_sums,
    signal_tokens,
)


@pytest.mark.parametrize("loss", [Logistic(), Square()], ids=repr)
def test_averages_over_the_gaussian_agree_with_monte_carlo(loss):
    """Given h_q, the readout's side is integrated out; here all of h is drawn."""
    problem, beta, rng = SparseTokenProblem(5, 2, 1.7, 0.3), 1.3, np.random.default_rng(0)
    covariance = np.array([[1.1, -0.4], [-0.4, 0.8]])
    shift, offset, size = np.array([0.9, 0.6]), 0.3, 20_000
    for group in problem.groups:
        n_signal = signal_tokens(group)
        law = shift * (n_signal > 0), covariance, offset
        exact = gaussian_averages(group, *law, token_noise(problem, 65536, 0), beta, loss)
        h = rng.standard_normal((size, 5, 2)) @ np.linalg.cholesky(covariance).T
        h[:, :n_signal] += shift
        weights = softmax(beta * h[:, :, 0])
        score = (weights * h[:, :, 1]).sum(axis=1)
        label = np.full(size, group.label)
        slopes = [
            np.broadcast_to(f(score + offset, label), size)
            for f in (loss.derivative, loss.second_derivative)
        ]
        delta = h[:, :, 1] - score[:, np.newaxis]
        sums = influence_sums(weights, delta, slopes, beta, group)
        values = loss.value(score + offset, label)
        wrong = (group.label * (score + offset) < 0).astype(float)
        for value, drawn in zip(exact, [*sums, values, wrong], strict=True):
            if np.ptp(drawn) > 1e-9:
                assert abs(standard_score(drawn, value)) < Z_LIMIT
        # The sums themselves, from the definition of the influence.
        a = np.stack([beta * slopes[0][:, np.newaxis] * weights * delta,
                      slopes[0][:, np.newaxis] * weights])  # fmt: skip
        assert sums[5:8] == pytest.approx(
            np.stack([(a[0] ** 2).sum(1), (a[0] * a[1]).sum(1), (a[1] ** 2).sum(1)])
        )
        pull = problem.signal * a[:, :, :n_signal].sum(axis=2)
        assert sums[:2] == pytest.approx(pull)
        if isinstance(loss, Logistic):  # Stein: E[zᵀA] = covariance · response
            z = h - shift * (np.arange(5) < n_signal)[:, np.newaxis]
            stein = np.einsum("nla,bnl->nab", z, a)
            response = np.array([[exact[2], exact[3]], [exact[3], exact[4]]])
            for i in range(2):
                for j in range(2):
                    limit = (covariance @ response)[i, j]
                    assert abs(standard_score(stein[:, i, j], limit)) < Z_LIMIT
