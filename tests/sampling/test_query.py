import numpy as np
import pytest
from dense_reference import two_gradient_steps
from statistical import Z_LIMIT, assert_same_law, disagreements, quick_first, standard_score

from populations import POPULATIONS
from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Hinge, Logistic, Square
from sparsetoken.sampling import LearnedQuery, sample_query

QUANTITIES = ("cosine", "query_norm", "query_overlap", "readout_norm", "readout_overlap", "bias")
RATES = {"beta": 0.7, "lr_readout": 2.0, "lr_bias": 1.5, "lr_query": 3.0}
N_SAMPLES, DIM, TRIALS = 24, 10, 5000

# One of each corner: sparse, several signals, all tokens, one or two tokens, rare or no signal.
CASES = [
    (SparseTokenProblem(3, 1, 3.0, 0.5), Logistic()),
    (SparseTokenProblem(6, 2, 2.0, 0.3), Logistic()),
    (SparseTokenProblem(4, 2, 3.0, 0.4, n_kinds=3), Logistic()),
    (SparseTokenProblem(4, 4, 1.0, 0.6), Square()),
    (SparseTokenProblem(2, 1, 2.0, 0.5), Hinge()),
    (SparseTokenProblem(1, 1, 2.0, 0.5), Logistic()),
    (SparseTokenProblem(5, 3, 0.0, 0.9), Logistic()),
    (SparseTokenProblem(12, 1, 4.0, 0.1), Square()),
    (SparseTokenProblem(5, 2, 2.0, 1.0), Logistic()),
]


def record(queries):
    queries = list(queries)
    return {name: np.array([getattr(q, name) for q in queries]) for name in QUANTITIES}


def dense_queries(problem, loss, trials, seed, **options):
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        X, y, truth = problem.sample(N_SAMPLES, DIM, random_state=rng, return_truth=True)
        query, readout, bias = two_gradient_steps(X, y, loss, **RATES, **options)
        yield LearnedQuery(query, readout, float(bias), truth.directions, RATES["beta"])


def reduced_queries(problem, loss, trials, seed, n_samples=N_SAMPLES, **options):
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        yield sample_query(problem, n_samples, DIM, loss=loss, random_state=rng, **RATES, **options)


@pytest.mark.parametrize(("problem", "loss"), quick_first(CASES), ids=str)
def test_same_law_as_dense(problem, loss):
    dense = record(dense_queries(problem, loss, TRIALS, seed=1))
    reduced = record(reduced_queries(problem, loss, TRIALS, seed=2))
    if problem.n_tokens == 1:  # nothing to attend to: dense arithmetic leaves rounding errors only
        assert np.abs(dense["query_norm"]).max() < 1e-14
        assert np.abs(reduced["query_norm"]).max() == 0
        for name in ("cosine", "query_norm", "query_overlap"):
            del dense[name], reduced[name]
    assert_same_law(dense, reduced)


@pytest.mark.statistical
def test_centred_step_has_the_same_law_as_dense():
    problem = SparseTokenProblem(6, 2, 2.0, 0.3)
    dense = record(dense_queries(problem, Logistic(), 2000, seed=1, center=True))
    reduced = record(reduced_queries(problem, Logistic(), 4000, seed=2, center=True))
    assert_same_law(dense, reduced)


@pytest.mark.parametrize("name", quick_first(POPULATIONS))
def test_populations_have_the_same_law_as_dense(name):
    dense = record(dense_queries(POPULATIONS[name], Logistic(), 2000, seed=1))
    reduced = record(reduced_queries(POPULATIONS[name], Logistic(), 4000, seed=2))
    assert_same_law(dense, reduced)


@pytest.mark.statistical
@pytest.mark.parametrize("wrong", ["n_tokens", "n_samples", "scale"])
def test_the_comparison_would_see_a_wrong_constant(wrong):
    """L for L − 1, a sample too few, or a norm 3 % off must not pass."""
    problem, loss = CASES[1]
    dense = record(dense_queries(problem, loss, TRIALS, seed=1))
    if wrong == "n_tokens":
        other = SparseTokenProblem(7, 2, 2.0, 0.3)
        reduced = record(reduced_queries(other, loss, TRIALS, seed=2))
    else:
        n_samples = N_SAMPLES - 1 if wrong == "n_samples" else N_SAMPLES
        reduced = record(reduced_queries(problem, loss, TRIALS, 2, n_samples))
        if wrong == "scale":
            reduced["query_norm"] = 1.03 * reduced["query_norm"]
    assert any(disagreements(dense[name], reduced[name]) for name in QUANTITIES)


@pytest.mark.parametrize(
    ("problem", "loss", "rates", "cosine", "query_norm"),
    quick_first(
        [
            (SparseTokenProblem(10, 1, 5.0), Logistic(), {}, 0.947565, 1.400704),
            (
                SparseTokenProblem(6, 2, 3.0, 0.3),
                Logistic(),
                {"alpha": 1.0, "lr_readout": 2.0, "lr_query": 1.0},
                0.350099,
                0.111333,
            ),
            (
                SparseTokenProblem(10, 1, 5.0),
                Square(),
                {"lr_readout": 5.0, "lr_bias": 0.0, "lr_query": 1.0},
                -0.368094,
                0.477544,
            ),
        ]
    ),
    ids=["aligned", "two signals", "anti-aligned"],
)
def test_large_samples_approach_the_limit(problem, loss, rates, cosine, query_norm):
    """Checked values of the high-dimensional limit; what is left shrinks like 1/d."""
    dim, rates = 20_000, dict(rates)
    n_samples = int(rates.pop("alpha", 2.0) * dim)
    rng = np.random.default_rng(0)
    drawn = [
        sample_query(problem, n_samples, dim, loss=loss, random_state=rng, **rates)
        for _ in range(100)
    ]
    assert abs(standard_score([q.cosine for q in drawn], cosine)) < Z_LIMIT
    assert np.mean([q.query_norm for q in drawn]) == pytest.approx(query_norm, rel=0.003)


def test_direction_and_seed():
    problem = SparseTokenProblem(10, 1, 5.0)
    direction = np.eye(30)[4]
    arguments = {"loss": Logistic(), "direction": direction}
    first = sample_query(problem, 500, 30, random_state=7, **arguments)
    again = sample_query(problem, 500, 30, random_state=7, **arguments)
    assert np.array_equal(first.query, again.query)
    assert np.array_equal(first.direction, direction)
    assert first.cosine == pytest.approx(first.query[4] / np.linalg.norm(first.query))
    assert np.argmax(np.abs(first.query)) == 4
    assert "cosine=0.9" in repr(first)


@pytest.mark.parametrize("rate", ["lr_readout", "lr_query"])
def test_a_zero_rate_learns_nothing(rate):
    learned = sample_query(SparseTokenProblem(5), 20, 4, loss=Logistic(), **{rate: 0.0})
    assert learned.query_norm == 0
    assert learned.cosine == 0
    assert learned.sharpness == 0


def test_long_sequences_in_high_dimension():
    problem = SparseTokenProblem(10_000, 3, 8.0)
    learned = sample_query(problem, 20_000, 10_000, loss=Logistic(), random_state=0)
    assert learned.query.shape == (10_000,)
    assert np.isfinite(learned.query).all()


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_samples", 0),
        ("dim", 1.5),
        ("beta", -1.0),
        ("lr_readout", np.nan),
        ("lr_bias", -0.1),
        ("lr_query", np.inf),
        ("direction", np.ones(4)),
    ],
)
def test_bad_argument_is_named(argument, value):
    arguments = {"n_samples": 20, "dim": 4, "loss": Logistic(), argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must"):
        sample_query(SparseTokenProblem(5), **arguments)
