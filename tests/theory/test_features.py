"""What a name of a model stands for."""

import inspect
import math

import numpy as np
import pytest
from scipy.special import ndtr
from statistical import Z_LIMIT, quick_first

from populations import STRENGTHS, TWO_LENGTHS
from sparsetoken import SparseTokenProblem, theory
from sparsetoken.pooling import Elementwise, Hardmax, Softmax
from sparsetoken.sampling import sample_feature_law
from sparsetoken.theory import capacity, risk
from sparsetoken.theory.features import BATCHES, attention_law, token_noise
from sparsetoken.vocabulary import PARAMETERS
from user_poolings import Rectified


def test_linear_models_on_another_problem():
    problem = SparseTokenProblem(10, 1, 5.0)
    pooled = risk(problem, "pooled", alpha=2.0, reg=1e-2)
    longer = SparseTokenProblem(20, 3, 4.0, 0.3)
    mean = pooled.readout_overlap * 4.0 * 3 / 20
    deviation = pooled.readout_norm / math.sqrt(20)
    expected = 0.3 * ndtr(-(mean + pooled.bias) / deviation) + 0.7 * ndtr(pooled.bias / deviation)
    assert pooled.on(longer).test_error == pytest.approx(expected, rel=1e-10)
    vectorized = risk(problem, "vectorized", alpha=2.0, reg=1e-2)
    assert vectorized.on(SparseTokenProblem(10, 2, 5.0)).test_error < vectorized.test_error
    with pytest.raises(ValueError, match="n_tokens must stay the same"):
        vectorized.on(longer)


def test_elementwise_and_custom_poolings():
    problem = SparseTokenProblem(10, 1, 4.0)
    sigmoid = risk(problem, "elementwise", alpha=2.0, reg=1e-3, cosine=0.8, sharpness=1.0)
    same = risk(problem, Elementwise(), alpha=2.0, reg=1e-3, cosine=0.8, sharpness=1.0)
    assert same.test_error == sigmoid.test_error
    # A rectifier is homogeneous: twice the sharpness and four times the ridge change nothing.
    one, two = (
        risk(problem, Rectified(), alpha=2.0, reg=reg, cosine=0.8, sharpness=s)
        for s, reg in ((1.0, 4e-3), (2.0, 16e-3))
    )
    assert one.test_error == pytest.approx(two.test_error, rel=1e-3)
    assert one.test_error != pytest.approx(sigmoid.test_error, rel=1e-3)


def test_vectorized_needs_one_length():
    with pytest.raises(ValueError, match="'vectorized' needs sequences of one length, got lengths"):
        risk(TWO_LENGTHS, "vectorized", alpha=2.0, reg=1e-2)
    with pytest.raises(ValueError, match="'vectorized' needs sequences of one length"):
        capacity(TWO_LENGTHS, "vectorized")
    found = risk(STRENGTHS, "vectorized", alpha=2.0, reg=1e-2)
    assert 0.2 < found.test_error < 0.5


def test_one_default_for_the_number_of_points():
    """In the library as on the command line, so that both print the same digits."""
    default = PARAMETERS["n_points"].default
    # Optimal learning is exact for one signal token, and its points cost much more.
    others = {"optimal", "learning_thresholds"}
    functions = [getattr(theory, name) for name in theory.__all__ if name not in others]
    signatures = [inspect.signature(f) for f in functions if inspect.isfunction(f)]
    defaults = [s.parameters["n_points"].default for s in signatures if "n_points" in s.parameters]
    assert len(defaults) >= 7
    assert set(defaults) == {default}


CASES = [
    (SparseTokenProblem(10, 1, 5.0, 0.4), Softmax(), 0.9, 1.0),
    (SparseTokenProblem(20, 4, 2.0, 0.5), Softmax(), -0.5, 3.0),
    (SparseTokenProblem(6, 6, 1.0, 0.5), Softmax(), 0.3, 2.0),
    (SparseTokenProblem(1, 1, 2.0, 0.5), Softmax(), 0.6, 1.0),
    (SparseTokenProblem(300, 2, 4.0, 0.5), Softmax(), 1.0, 1.5),
    (SparseTokenProblem(8, 2, 2.0, 0.5), Hardmax(), 0.7, 1.0),
    (SparseTokenProblem(8, 2, 2.0, 0.5), Rectified(), 0.7, 1.0),
]


def summaries(triples):
    a, m, c = triples.along_query, triples.along_rest, triples.scale
    return np.stack([a, m, c, a**2, c**2, a * c, m * c, a * m, m**2, np.exp(-0.5 * a**2)], axis=1)


@pytest.mark.parametrize(
    ("problem", "pooling", "cosine", "sharpness"), quick_first(CASES, 2), ids=str
)
def test_agrees_with_monte_carlo(problem, pooling, cosine, sharpness):
    law = attention_law(problem, pooling, cosine, sharpness, 4096)
    drawn = sample_feature_law(
        problem, 40_000, cosine=cosine, sharpness=sharpness, pooling=pooling, random_state=0
    )
    for exact, sample in ((law.positive, drawn.positive), (law.negative, drawn.negative)):
        expected, values = summaries(exact), summaries(sample)
        batches = expected.reshape(BATCHES, -1, 10).mean(axis=1)
        error = np.sqrt(values.var(axis=0) / len(values) + batches.var(axis=0, ddof=1) / BATCHES)
        score = (values.mean(axis=0) - expected.mean(axis=0)) / np.maximum(error, 1e-12)
        assert np.abs(score).max() < Z_LIMIT + 0.5


@pytest.mark.parametrize(("n_tokens", "n_signal"), [(5, 2), (200, 3), (7, 7)])
def test_sorted_noise_is_a_sample_of_independent_normals(n_tokens, n_signal):
    """Any symmetric statistic within a group has the law of independent standard normals."""
    problem = SparseTokenProblem(n_tokens, n_signal)
    noise = np.concatenate([token_noise(problem, 8192, batch) for batch in range(BATCHES)])
    assert noise.shape == (8192, n_tokens)
    for group in (noise[:, :n_signal], noise[:, n_signal:]):
        if group.shape[1] == 0:
            continue
        assert (np.diff(group, axis=1) <= 0).all()
        n = group.shape[1]
        for power, expected, variance in [
            (1, 0, n),
            (2, n, 2 * n),
            (3, 0, 15 * n),
            (4, 3 * n, 96 * n),
        ]:
            total = (group**power).sum(axis=1)
            assert abs(total.mean() - expected) < 4 * np.sqrt(variance / 8192)
        largest = (group[:, 0] < 1.0).mean()
        chance = 0.8413447460685429**n
        assert abs(largest - chance) < 4 * np.sqrt(chance * (1 - chance) / 8192) + 1e-12


def test_same_arguments_same_noise_and_batches_differ():
    problem = SparseTokenProblem(10, 2)
    assert np.array_equal(token_noise(problem, 1024, 0), token_noise(problem, 1024, 0))
    assert not np.array_equal(token_noise(problem, 1024, 0), token_noise(problem, 1024, 1))


@pytest.mark.statistical
def test_very_long_sequences_stay_affordable():
    law = attention_law(SparseTokenProblem(100_000, 1, 8.0), Softmax(), 0.9, 3.0, 16384)
    assert np.isfinite(law.positive.scale).all()
    assert law.positive.scale.size < 1000
