import math

import numpy as np
import pytest
from statistical import Z_LIMIT, standard_score

from sparsetoken import Population, SparseTokenProblem


def test_is_a_comparable_printable_record():
    problem = SparseTokenProblem(n_tokens=np.int64(10), n_signal=2, signal=3, positive_rate=0.25)
    assert problem == SparseTokenProblem(10, 2, 3.0, 0.25)
    assert hash(problem) == hash(SparseTokenProblem(10, 2, 3.0, 0.25))
    assert problem != SparseTokenProblem(10, 2, 3.0, 0.5)
    assert (
        repr(problem)
        == "SparseTokenProblem(n_tokens=10, n_signal=2, signal=3.0, positive_rate=0.25)"
    )
    with pytest.raises(AttributeError):
        problem.signal = 1.0


def test_derived_quantities():
    problem = SparseTokenProblem(16, 2, 3.0)
    assert problem.sparsity == 0.125
    assert problem.snr == pytest.approx(3.0 * 2 / math.sqrt(16))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_tokens", 0),
        ("n_tokens", 10.5),
        ("n_tokens", "10"),
        ("n_tokens", True),
        ("n_tokens", None),
        ("n_signal", 0),
        ("n_signal", 11),
        ("n_signal", 1.0),
        ("signal", -1.0),
        ("signal", math.inf),
        ("signal", math.nan),
        ("signal", "strong"),
        ("positive_rate", -0.1),
        ("positive_rate", 1.1),
        ("positive_rate", math.nan),
    ],
)
def test_bad_field_is_named_with_what_is_allowed(argument, value):
    fields = {"n_tokens": 10, "n_signal": 1, "signal": 1.0, "positive_rate": 0.5, argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must be .*(integer|number).*got {value!r}"):
        SparseTokenProblem(**fields)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_samples", 0),
        ("n_samples", 2.5),
        ("dim", 0),
        ("dim", -3),
        ("direction", [1.0, 0.0]),
        ("direction", [2.0, 0.0, 0.0]),
        ("direction", [math.nan, 0.0, 0.0]),
        ("dtype", int),
        ("dtype", "long"),
    ],
)
def test_bad_sample_argument_is_named(argument, value):
    arguments = {"n_samples": 5, "dim": 3, argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must"):
        SparseTokenProblem(4).sample(**arguments)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sample_shapes_types_and_reproducibility(dtype):
    problem = SparseTokenProblem(7, 3, 2.0)
    X, y = problem.sample(50, 11, random_state=3, dtype=dtype)
    assert X.shape == (50, 7, 11)
    assert X.dtype == dtype
    assert set(np.unique(y)) == {0, 1}
    again, labels, truth = problem.sample(50, 11, random_state=3, dtype=dtype, return_truth=True)
    assert np.array_equal(X, again)
    assert np.array_equal(y, labels)
    assert np.linalg.norm(truth.direction) == pytest.approx(1.0)
    assert truth.positions.dtype == bool
    assert np.array_equal(truth.positions.sum(axis=1), 3 * y)
    given, _, same = problem.sample(
        9, 11, random_state=np.random.default_rng(1), direction=truth.direction, return_truth=True
    )
    assert given.shape == (9, 7, 11)
    assert np.allclose(same.direction, truth.direction)


@pytest.mark.parametrize(
    "problem",
    [
        SparseTokenProblem(6, 2, 3.0, 0.3),
        SparseTokenProblem(1, 1, 1.5, 0.5),
        SparseTokenProblem(4, 4, 0.7, 0.8),
        SparseTokenProblem(5, 1, 0.0, 0.5),
    ],
)
def test_sample_follows_the_model(problem):
    X, y, truth = problem.sample(4000, 5, random_state=0, return_truth=True)
    assert abs(standard_score(y, problem.positive_rate)) < Z_LIMIT
    noise = X - problem.signal * truth.positions[..., np.newaxis] * truth.direction
    assert abs(standard_score(noise.ravel(), 0.0)) < Z_LIMIT
    assert abs(standard_score(noise.ravel() ** 2, 1.0)) < Z_LIMIT
    # Every position is equally likely, and pairs of positions too.
    chosen = truth.positions[y == 1].astype(float)
    for token in range(problem.n_tokens):
        if problem.n_signal < problem.n_tokens:
            assert abs(standard_score(chosen[:, token], problem.sparsity)) < Z_LIMIT
    if 1 < problem.n_signal < problem.n_tokens:
        both = problem.sparsity * (problem.n_signal - 1) / (problem.n_tokens - 1)
        assert abs(standard_score(chosen[:, 0] * chosen[:, 1], both)) < Z_LIMIT


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_one_class_only(rate):
    _, y = SparseTokenProblem(3, positive_rate=rate).sample(20, 2, random_state=0)
    assert (y == rate).all()


RUNS = SparseTokenProblem(9, 3, 2.0, 0.4, contiguous=True)


def test_runs_are_a_field_like_the_others():
    assert SparseTokenProblem(9, 3, 2.0, 0.4) != RUNS
    assert hash(RUNS) == hash(SparseTokenProblem(9, 3, 2.0, 0.4, contiguous=np.bool_(True)))
    assert eval(repr(RUNS)) == RUNS
    assert "contiguous" not in repr(SparseTokenProblem(9, 3))
    assert RUNS.in_runs
    for n_signal in (1, 9):
        assert not SparseTokenProblem(9, n_signal, contiguous=True).in_runs
    for wrong in ("yes", 2, None):
        with pytest.raises(ValueError, match=f"^contiguous must be True or False, got {wrong!r}"):
            SparseTokenProblem(9, 3, contiguous=wrong)


def test_runs_are_contiguous_and_start_anywhere():
    _, y, truth = RUNS.sample(4000, 1, random_state=0, return_truth=True)
    assert (truth.positions.sum(axis=1) == 3 * y).all()
    first = truth.positions[y == 1].argmax(axis=1)
    assert all(truth.positions[y == 1][range(first.size), first + k].all() for k in range(3))
    counts = np.bincount(first, minlength=7)
    assert counts.size == 7
    assert abs(counts - counts.mean()).max() < Z_LIMIT * math.sqrt(counts.mean())


def test_signal_of_runs_is_where_the_truth_says():
    X, _, truth = RUNS.sample(2000, 3, random_state=1, return_truth=True)
    along = X @ truth.direction
    assert abs(standard_score(along[truth.positions], 2.0)) < Z_LIMIT
    assert abs(standard_score(along[~truth.positions], 0.0)) < Z_LIMIT


KINDS = SparseTokenProblem(6, 2, 3.0, 0.7, n_kinds=3)


def test_kinds_of_signal_are_a_field_like_the_others():
    assert eval(repr(KINDS)) == KINDS != SparseTokenProblem(6, 2, 3.0, 0.7)
    assert "n_kinds" not in repr(SparseTokenProblem(9, 3))
    for wrong in (0, 1.5, "two", None):
        with pytest.raises(ValueError, match=f"^n_kinds must be .*got {wrong!r}"):
            SparseTokenProblem(9, n_kinds=wrong)
    with pytest.raises(ValueError, match=r"^dim must be an integer >= 3"):
        KINDS.sample(5, 2)


def test_each_positive_has_the_signal_of_its_kind():
    X, y, truth = KINDS.sample(4000, 5, random_state=0, return_truth=True)
    assert np.allclose(truth.directions @ truth.directions.T, np.eye(3))
    assert (truth.kinds[y == 0] == -1).all()
    counts = np.bincount(truth.kinds[y == 1], minlength=3)
    assert abs(counts - counts.mean()).max() < Z_LIMIT * math.sqrt(counts.mean())
    shift = 3.0 * truth.positions[..., np.newaxis] * truth.directions[truth.kinds][:, np.newaxis]
    noise = (X - shift) @ truth.directions.T
    assert abs(standard_score(noise.ravel(), 0.0)) < Z_LIMIT
    assert abs(standard_score(noise.ravel() ** 2, 1.0)) < Z_LIMIT
    with pytest.raises(AttributeError, match="ask for directions"):
        _ = truth.direction
    more = KINDS.sample(9, 5, direction=truth.directions, return_truth=True)[2]
    assert np.array_equal(more.directions, truth.directions)
    for wrong in (truth.directions[:2], 2.0 * truth.directions, truth.directions[[0, 0, 1]]):
        with pytest.raises(ValueError, match=r"^direction must be orthogonal unit vectors"):
            KINDS.sample(9, 5, direction=wrong)


def test_one_query_sees_less_of_several_kinds():
    seen = KINDS.seen_by_one_query()
    assert seen == SparseTokenProblem(6, 2, 1.0 / math.sqrt(3.0) * 3.0, 0.7)
    assert seen.seen_by_one_query() is seen


def test_training_and_test_sequences_have_one_direction():
    problem = SparseTokenProblem(4, 4, 3.0)
    X, X_test, y, y_test = problem.sample_train_test(300, 200, 20, random_state=0)
    assert (X.shape, X_test.shape, y.shape, y_test.shape) == (
        (300, 4, 20), (200, 4, 20), (300,), (200,)
    )  # fmt: skip
    means = [x[t == 1].mean(axis=(0, 1)) for x, t in ((X, y), (X_test, y_test))]
    assert means[0] @ means[1] == pytest.approx(9.0, rel=0.1)  # of one direction
    again = problem.sample_train_test(300, 200, 20, random_state=0)
    assert np.array_equal(X_test, again[1])
    given = problem.sample_train_test(5, 5, 3, direction=[1.0, 0.0, 0.0], dtype="float32")
    assert given[0].dtype == np.float32
    with pytest.raises(ValueError, match="n_test must be"):
        problem.sample_train_test(300, 0, 20)


def test_ragged_training_and_test_sequences():
    population = Population([SparseTokenProblem(2), SparseTokenProblem(5)])
    X, X_test, y, y_test = population.sample_train_test(6, 3, 2, random_state=0)
    assert (len(X), len(X_test), len(y), len(y_test)) == (6, 3, 6, 3)


def test_the_first_line_about_samples_warns_of_new_directions():
    first = SparseTokenProblem.sample.__doc__.splitlines()[0]
    assert "new signal direction unless one is given" in first


def test_windows_divide_the_tokens_and_hold_the_signal():
    assert SparseTokenProblem(12, 3).windows(4) == SparseTokenProblem(3, 3)
    for n_windows in (5, 6):
        with pytest.raises(ValueError, match=f"^n_windows must divide .* got {n_windows}"):
            SparseTokenProblem(12, 3).windows(n_windows)
