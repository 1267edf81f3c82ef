import math

import numpy as np
import pytest
from statistical import Z_LIMIT, quick_first, standard_score

from sparsetoken import SparseTokenProblem
from sparsetoken.theory.single_token import SingleTokenRatio, single_token_information
from sparsetoken.theory.token_scores import log_likelihood_ratio


@pytest.mark.parametrize("prior", [1.0, 0.3])
@pytest.mark.parametrize(("n_tokens", "strength"), quick_first([(7, 0.8), (7, 3.0), (60, 2.0)]))
def test_precision_against_simulation(n_tokens, strength, prior):
    """Both forms of the overlap with the posterior mean: they agree (Nishimori)."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((60_000, n_tokens))
    positive = rng.random(60_000) < prior
    x[positive, 0] += strength
    terms = prior * np.exp(strength * x - 0.5 * strength**2) / n_tokens
    weights = terms / (terms.sum(axis=1) + 1.0 - prior)[:, np.newaxis]
    expected = single_token_information(
        n_tokens, np.array([strength]), np.ones(1), np.ones(1), np.array([prior])
    )[0]
    assert abs(standard_score(positive * weights[:, 0], expected)) < Z_LIMIT
    assert abs(standard_score((weights**2).sum(axis=1), expected)) < Z_LIMIT


@pytest.mark.parametrize(("n_tokens", "strength"), quick_first([
    (2, 0.01), (2, 0.3), (5, 4.0), (40, 1.5), (300, 3.0), (300, 0.1),
], 3))  # fmt: skip
def test_law_of_the_likelihood_ratio_against_simulation(n_tokens, strength):
    rng = np.random.default_rng(3)
    noise, signal = rng.standard_normal((2, 400_000 // n_tokens, n_tokens))
    signal[:, 0] += strength
    problem = SparseTokenProblem(n_tokens, 1, strength)
    logs = [log_likelihood_ratio(x, problem) for x in (noise, signal)]
    law = SingleTokenRatio(n_tokens, strength)
    for level in (0.01, 0.3, 0.5, 0.9, 0.999):
        limit = float(np.quantile(np.concatenate(logs), level))
        for sample, expected in zip(logs, law.below(limit), strict=True):
            error = math.sqrt(max(expected * (1.0 - expected), 1e-12) / sample.size)
            assert abs((sample <= limit).mean() - expected) < Z_LIMIT * error + 2.0 / sample.size
    above = np.searchsorted(np.sort(logs[0]), logs[1]) / len(noise)
    error = math.sqrt(1.0 / (6.0 * len(noise)))
    assert abs(above.mean() - law.auc) < Z_LIMIT * error


@pytest.mark.parametrize("strength", [1e-3, 0.1, 0.3, 0.6, 5.0, 20.0])
@pytest.mark.parametrize("n_tokens", [2, 30, 100_000])
def test_law_is_a_law_to_its_far_ends(n_tokens, strength):
    """Increasing, between 0 and 1, and smaller with the signal; rounding is not amplified."""
    grid = np.linspace(-12.0, 12.0, 25) * min(strength, 1.0)
    without, signal = np.array([SingleTokenRatio(n_tokens, strength).below(x) for x in grid]).T
    assert np.all(np.diff(without) >= -1e-10)
    assert np.all(np.diff(signal) >= -1e-10)
    assert np.all(signal <= without + 1e-10)
    assert without[-1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("strength", quick_first([0.49, 0.51, 2.0, 7.0]))
def test_laws_with_and_without_signal_differ_by_the_ratio(strength):
    law = SingleTokenRatio(1000, strength)
    grid = np.linspace(-0.5, 0.5, 801)
    without, signal = np.array([law.below(x) for x in grid]).T
    middle = np.exp(0.5 * (grid[1:] + grid[:-1]))
    assert np.diff(signal) == pytest.approx(middle * np.diff(without), rel=2e-3, abs=1e-7)
