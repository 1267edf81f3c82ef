import numpy as np
import pytest
from dense_reference import attention_features
from statistical import Z_LIMIT, assert_same_law, disagreements, quick_first, standard_score

from populations import POPULATIONS
from sparsetoken import SparseTokenProblem
from sparsetoken.pooling import Elementwise, Hardmax, Mean, Softmax
from sparsetoken.sampling import sample_features
from user_poolings import Rectified

DIM, N_SAMPLES, BETA = 4, 60_000, 0.8

CASES = [
    (SparseTokenProblem(10, 1, 3.0, 0.5), 0.8, Softmax()),
    (SparseTokenProblem(6, 2, 2.0, 0.3), -0.6, Softmax()),
    (SparseTokenProblem(4, 4, 1.0, 0.6), 0.5, Softmax()),
    (SparseTokenProblem(1, 1, 2.0, 0.5), 0.3, Softmax()),
    (SparseTokenProblem(5, 2, 2.0, 0.4), 0.7, Hardmax()),
    (SparseTokenProblem(5, 1, 2.0, 0.5), 0.7, Mean()),
    (SparseTokenProblem(5, 1, 2.0, 0.5), 0.7, Rectified()),
    (SparseTokenProblem(5, 1, 2.0, 0.5), 1.0, Elementwise()),
]


def geometry(cosine, norm=2.0):
    """A query at the given cosine to the first axis; the signal is along the first axis."""
    query = norm * np.array([cosine, np.sqrt(1 - cosine**2), 0.0, 0.0])
    return query, np.eye(DIM)[0]


def moments(features, y, query, direction):
    """Projections that pin down the law: along the query, the rest of the signal, pure noise."""
    unit = query / np.linalg.norm(query)
    rest = direction - (direction @ unit) * unit
    rest = rest / np.linalg.norm(rest) if np.linalg.norm(rest) > 1e-9 else np.eye(DIM)[1]
    record = {"label": y}
    for label in (0, 1):
        chosen = features[y == label]
        along, second, noise = chosen @ unit, chosen @ rest, chosen[:, 2:]
        record |= {
            f"along query, {label}": along,
            f"along rest, {label}": second,
            f"noise, {label}": noise[:, 0],
            f"noise energy, {label}": (noise**2).sum(axis=1),
            f"energy with along, {label}": along * (noise**2).sum(axis=1),
            f"energy with rest, {label}": second * (noise**2).sum(axis=1),
            f"along with rest, {label}": along * second,
        }
    return record


def dense_features(problem, query, direction, pooling, seed):
    X, y = problem.sample(N_SAMPLES, DIM, random_state=seed, direction=direction)
    if pooling == Softmax():
        return attention_features(X, query, BETA), y
    return np.einsum("nld,nl->nd", X, pooling.weights(BETA * X @ query)), y


@pytest.mark.parametrize(("problem", "cosine", "pooling"), quick_first(CASES, 2), ids=str)
def test_same_law_as_dense(problem, cosine, pooling):
    query, direction = geometry(cosine)
    dense = moments(*dense_features(problem, query, direction, pooling, 1), query, direction)
    drawn = sample_features(
        problem, N_SAMPLES, query, direction, pooling=pooling, beta=BETA, random_state=2
    )
    assert_same_law(dense, moments(*drawn, query, direction))


@pytest.mark.parametrize("name", quick_first(POPULATIONS))
def test_populations_have_the_same_law_as_dense(name):
    query, direction = geometry(0.8)
    X, y = POPULATIONS[name].sample(12_000, DIM, random_state=1, direction=direction)
    dense = moments(attention_features(X, query, BETA), y, query, direction)
    drawn = sample_features(
        POPULATIONS[name], N_SAMPLES, query, direction, beta=BETA, random_state=2
    )
    assert_same_law(dense, moments(*drawn, query, direction))


def test_the_comparison_would_see_a_wrong_constant():
    problem, cosine, _ = CASES[0]
    query, direction = geometry(cosine)
    dense = moments(*dense_features(problem, query, direction, Softmax(), 1), query, direction)
    for wrong in (SparseTokenProblem(11, 1, 3.0, 0.5), SparseTokenProblem(10, 1, 3.1, 0.5)):
        drawn = sample_features(wrong, N_SAMPLES, query, direction, beta=BETA, random_state=2)
        other = moments(*drawn, query, direction)
        assert any(disagreements(dense[name], other[name]) for name in dense)


@pytest.mark.statistical
def test_many_blocks_give_the_same_law_as_one():
    """Rows are drawn in blocks; each must be a fresh sample, the last one included."""
    problem = SparseTokenProblem(3, 1, 2.0)
    direction = np.eye(5000)[0]
    F, y = sample_features(problem, 200, direction, direction, random_state=0)
    assert len(np.unique(F[:, 1])) == 200
    noise = F[:, 1:]
    scale = (noise**2).mean(axis=1)
    assert (scale > 1 / 3 * 0.9).all()  # ‖s‖² is between 1/L and 1
    assert (scale < 1.1).all()
    lengths = scale[[0, 50, 150, 199]]
    assert len(np.unique(lengths)) == 4
    assert set(y) == {0, 1}


def test_seed_and_zero_query():
    problem = SparseTokenProblem(9, 2, 1.0)
    direction = np.eye(8)[0]
    F, y = sample_features(problem, 20_000, np.zeros(8), direction, random_state=5)
    again, _ = sample_features(problem, 20_000, np.zeros(8), direction, random_state=5)
    assert np.array_equal(F, again)
    # A zero query pools: mean θR/L along the signal, variance 1/L everywhere.
    assert abs(standard_score(F[y == 1, 0], 2 / 9)) < Z_LIMIT
    assert abs(standard_score(F[:, 3] ** 2, 1 / 9)) < Z_LIMIT
    assert abs(standard_score((F[y == 0, 0]) ** 2, 1 / 9)) < Z_LIMIT


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_samples", 0),
        ("query", np.ones(3)),
        ("query", np.full(4, np.nan)),
        ("direction", np.ones(4)),
        ("beta", -1.0),
        ("pooling", "sum"),
    ],
)
def test_bad_argument_is_named(argument, value):
    query, direction = geometry(0.5)
    arguments = {"n_samples": 20, "query": query, "direction": direction, argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must"):
        sample_features(SparseTokenProblem(5), **arguments)
