"""Message passing without tokens: the law of a hidden matrix, and of the whole iteration."""

import itertools
import math

import numpy as np
import pytest
from statistical import assert_same_law, quick_first

from populations import TWO_LENGTHS
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.sampling import sample_posterior_mean
from sparsetoken.sampling.posterior import HiddenNoise, _draw_blocks, iterate

PROBLEMS = {
    "one token": SparseTokenProblem(6, 1, 3.0),
    "kinds": SparseTokenProblem(5, 2, 3.0, n_kinds=2),
    "runs": SparseTokenProblem(7, 3, 2.0, 0.4, contiguous=True),
    "population": Population(TWO_LENGTHS.kinds, TWO_LENGTHS.shares, (0.1, 0.05)),
}


class DenseNoise:
    """The same noise, drawn at once."""

    def __init__(self, n_rows, n_columns, rng):
        self.matrix = rng.standard_normal((n_rows, n_columns))

    def times(self, vector, transposed=False):
        return (self.matrix.T if transposed else self.matrix) @ vector


@pytest.mark.parametrize("name", quick_first(PROBLEMS, 2))
def test_same_law_as_on_dense_tokens(name):
    problem, dim = PROBLEMS[name], 12

    def learn(noise_type, seed):
        rng = np.random.default_rng(seed)
        blocks = [b for b in _draw_blocks(problem, 24, rng, True) if b.chances.sum() > 0.0]
        n_tokens = sum(block.signal.size for block in blocks) // problem.n_kinds
        noise, directions = noise_type(n_tokens, dim, rng), np.eye(problem.n_kinds, dim)
        found = iterate(problem, blocks, noise, directions, False, rng, 4)
        return found.cosine, found.norm, found.overlap

    samples = []
    for start, noise_type in enumerate((DenseNoise, HiddenNoise)):
        rows = np.array([learn(noise_type, [start, trial]) for trial in range(400)])
        samples.append(dict(zip(("cosine", "norm", "overlap"), rows.T, strict=True)))
    assert_same_law(*samples)


def test_informed_start_knows_more_where_learning_is_hard():
    problem = SparseTokenProblem(2000, 1, 6.0)
    stuck, informed = (
        sample_posterior_mean(problem, 60, 60, start=start, random_state=1)
        for start in ("nothing", "informed")
    )
    assert informed.cosine > 0.8
    assert abs(stuck.cosine) < 0.5


def test_same_seed_same_result_and_unlabelled_samples_help():
    problem = SparseTokenProblem(8, 1, 4.0)
    first, second = (sample_posterior_mean(problem, 60, 100, random_state=3) for _ in range(2))
    assert (first.mean == second.mean).all()
    alone, more = (
        [
            sample_posterior_mean(
                problem, 60, 100, n_unlabelled=n_unlabelled, random_state=seed
            ).cosine
            for seed in range(12)
        ]
        for n_unlabelled in (0, 300)
    )
    assert np.mean(more) > np.mean(alone) + 2.0 * np.std(alone) / math.sqrt(12)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("n_samples", 0), ("dim", 0), ("n_unlabelled", -1), ("start", "luck")],
)
def test_bad_argument_is_named(argument, value):
    arguments = {"n_samples": 5, "dim": 3, argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must"):
        sample_posterior_mean(SparseTokenProblem(4, 1, 3.0), **arguments)


def test_without_positives_nothing_is_learned():
    learned = sample_posterior_mean(SparseTokenProblem(4, 1, 3.0, 1e-6), 5, 10, random_state=0)
    assert (learned.cosine, learned.norm) == (0.0, 0.0)
    chances, labels = learned.judge(100, random_state=0)
    assert np.allclose(chances, 1e-6)
    assert labels.shape == chances.shape


def test_hidden_noise_is_one_matrix():
    noise, rng = HiddenNoise(5, 4, np.random.default_rng(0)), np.random.default_rng(1)
    columns = np.stack([noise.times(rng.standard_normal(4)) for _ in range(2)])
    again = rng.standard_normal(5)
    first = noise.times(again, transposed=True)
    matrix = np.stack([noise.times(unit) for unit in np.eye(4)], axis=1)
    assert matrix.shape == (5, 4)
    assert np.isfinite(columns).all()
    assert noise.times(again, transposed=True) == pytest.approx(first)
    assert matrix.T @ again == pytest.approx(first)
    for unit in np.eye(5):
        assert noise.times(unit, transposed=True) == pytest.approx(matrix.T @ unit)


def test_hidden_noise_is_normal_whatever_is_asked_first():
    drawn = []
    for seed in range(3000):
        noise = HiddenNoise(3, 2, np.random.default_rng(seed))
        left = noise.times(np.array([1.0, 1.0, 0.0]), transposed=True)
        noise.times(left)  # asks along what it has just seen
        drawn.append([noise.times(unit) for unit in np.eye(2)])
    entries = np.array(drawn).reshape(3000, 6)
    normal = np.random.default_rng(9).standard_normal((3000, 6))
    pairs = list(itertools.combinations(range(6), 2))
    assert_same_law(
        {f"entry {k}": entries[:, k] for k in range(6)}
        | {f"product {i} {j}": entries[:, i] * entries[:, j] for i, j in pairs},
        {f"entry {k}": normal[:, k] for k in range(6)}
        | {f"product {i} {j}": normal[:, i] * normal[:, j] for i, j in pairs},
    )
