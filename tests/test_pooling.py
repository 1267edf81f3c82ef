import numpy as np
import pytest
from dense_reference import softmax

from sparsetoken import SparseTokenProblem, theory
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import Logistic
from sparsetoken.pooling import (
    Elementwise,
    Hardmax,
    Mean,
    Pooling,
    Softmax,
    SoftmaxOne,
    Stacked,
    get_pooling,
    pooling_models,
)
from sparsetoken.theory.features import get_model
from user_poolings import Rectified

STACKED = [Stacked(), Stacked(depth=3, residual=0.3, inner=2.0)]
ALL = [Mean(), Softmax(), Hardmax(), SoftmaxOne(), Elementwise(), Rectified(), *STACKED]
COMPETING = [Mean(), Softmax(), Hardmax(), *STACKED]
each_pooling = pytest.mark.parametrize("pooling", ALL, ids=repr)


def test_exact_values():
    scores = np.array([[0.0, np.log(3.0), 0.0], [1.0, 1.0, -2.0]])
    assert Mean().weights(scores) == pytest.approx(np.full((2, 3), 1 / 3))
    assert Softmax().weights(scores)[0] == pytest.approx([0.2, 0.6, 0.2])
    assert SoftmaxOne().weights(scores)[0] == pytest.approx([1 / 6, 1 / 2, 1 / 6])
    assert Hardmax().weights(scores).tolist() == [[0, 1, 0], [0.5, 0.5, 0]]
    assert Rectified().weights(scores)[1] == pytest.approx([1 / 3, 1 / 3, 0])
    assert Elementwise().weights(scores)[0] == pytest.approx([1 / 6, 1 / 4, 1 / 6])


@each_pooling
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ragged_equals_one_sequence_at_a_time(pooling, dtype):
    rng = np.random.default_rng(0)
    lengths = np.array([3, 1, 7, 1, 2])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores = (10 * rng.standard_normal(lengths.sum())).astype(dtype)
    ragged = pooling.weights(scores, offsets)
    alone = [pooling.weights(part) for part in np.split(scores, offsets[1:-1])]
    assert ragged.dtype == dtype
    assert ragged == pytest.approx(
        np.concatenate(alone), rel=1e-6 if dtype == np.float32 else 1e-14
    )


@each_pooling
def test_leaves_the_scores_alone_and_ignores_their_layout(pooling):
    scores = np.asfortranarray(np.random.default_rng(1).standard_normal((6, 8)))[::2]
    scores.flags.writeable = False
    before = scores.copy()
    weights = pooling.weights(scores)
    assert np.array_equal(scores, before)
    assert weights.flags.writeable
    assert not np.shares_memory(weights, scores)
    assert weights == pytest.approx(pooling.weights(before), rel=1e-14)


@pytest.mark.parametrize("pooling", COMPETING, ids=repr)
def test_competing_poolings_sum_to_one(pooling):
    scores = np.random.default_rng(2).standard_normal((5, 4, 9)) * 50
    assert pooling.weights(scores).sum(axis=-1) == pytest.approx(np.ones((5, 4)))


@each_pooling
def test_no_overflow_at_extreme_scores(pooling):
    scores = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4]])
    weights = pooling.weights(scores)
    assert np.isfinite(weights).all()
    if pooling in COMPETING:
        assert weights.sum(axis=1) == pytest.approx([1, 1, 1])


def test_limits_of_softmax():
    scores = np.random.default_rng(3).standard_normal((20, 6))
    assert Softmax().weights(0 * scores) == pytest.approx(Mean().weights(scores))
    assert Softmax().weights(1e4 * scores) == pytest.approx(Hardmax().weights(scores), abs=1e-6)
    assert Softmax().weights(scores) == pytest.approx(softmax(scores))


def test_softmax_one_is_softmax_beside_a_token_of_zeros():
    scores = 5.0 * np.random.default_rng(3).standard_normal((20, 6))
    beside = Softmax().weights(np.pad(scores, ((0, 0), (0, 1))))
    assert SoftmaxOne().weights(scores) == pytest.approx(beside[:, :-1], rel=1e-12)
    assert SoftmaxOne().weights(scores + 1e3) == pytest.approx(Softmax().weights(scores))
    assert not SoftmaxOne().weights(scores - 1e3).any()


@each_pooling
def test_integer_scores_are_scores(pooling):
    assert np.array_equal(pooling.weights([1, 2, 3]), pooling.weights([1.0, 2.0, 3.0]))


@each_pooling
def test_bad_scores_are_refused(pooling):
    with pytest.raises(ValueError, match="at least one token"):
        pooling.weights(np.zeros((3, 0)))
    with pytest.raises(ValueError, match="sequence 1 has none"):
        pooling.weights([1.0, 2.0], offsets=[0, 1, 1, 2])
    with pytest.raises(ValueError, match="offsets must be integers from 0"):
        pooling.weights([1.0, 2.0], offsets=[0, 1])
    with pytest.raises(ValueError, match="offsets must be integers from 0"):
        pooling.weights([1.0, 2.0], offsets=[0.0, 2.0])
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="scores must be finite"):
            pooling.weights([1.0, value])


def test_get_pooling():
    assert get_pooling("softmax") == Softmax()
    assert get_pooling("elementwise") == Elementwise()
    deep = Stacked(depth=3)
    assert get_pooling(deep) is deep
    assert deep != Stacked(depth=2)
    assert len({Stacked(depth=3), deep, Mean()}) == 2
    with pytest.raises(ValueError, match=r"pooling must be one of 'mean', 'softmax', .*'max'"):
        get_pooling("max")
    with pytest.raises(ValueError, match="depth must be"):
        Stacked(depth=-1)


def test_passing_a_class_is_named():
    for check in (get_pooling, lambda pooling: get_model(pooling, 0.9, 1.0)):
        with pytest.raises(
            ValueError, match=r"must be an object, got the class Mean: pass Mean\(\)"
        ):
            check(Mean)


class First(Pooling):
    """All the weight on the first token."""

    name = "first"

    def weigh(self, scores, segments):
        weights = np.zeros_like(scores)
        weights[segments.offsets[:-1]] = 1.0
        return weights


def test_a_subclass_is_known_by_its_name_or_import_path():
    assert get_pooling("first") == First()
    assert get_pooling(f"{__name__}:First") == First()
    assert get_pooling(f"{__name__}:COMPETING_MEAN") == Mean()
    assert pooling_models()["first"] == First()
    with pytest.raises(ValueError, match=r"pooling must be one of .*, got 'math:pi'"):
        get_pooling("math:pi")
    with pytest.raises(ValueError, match="pooling must be importable"):
        get_pooling("nowhere:First")


COMPETING_MEAN = Mean()


def test_models_and_traits():
    known = pooling_models()
    assert known["attention"] == Softmax()
    assert known["hardmax"] == Hardmax()
    assert known["elementwise"] == Elementwise()
    assert Mean() not in known.values()
    scores = np.random.default_rng(0).standard_normal((20, 5))
    for pooling in ALL:
        changes = not np.allclose(pooling.weights(scores), pooling.weights(3.0 * scores))
        assert changes == pooling.sharpened, pooling
        varies = not np.allclose(pooling.weights(scores), pooling.weights(scores[::-1]))
        assert varies == pooling.uses_scores, pooling


def layered_features(tokens, query, layers):
    """Return what layers of real matrices on dense tokens, then the query, make of them."""
    for _ in range(layers.depth):
        keys = tokens @ np.outer(query, query)  # keys and queries share one direction
        mixing = softmax(layers.inner * keys @ tokens.transpose(0, 2, 1))
        tokens = (tokens + layers.residual * mixing @ tokens) / (1.0 + layers.residual)
    return np.einsum("nl,nld->nd", softmax(tokens @ query), tokens)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_stacked_is_self_attention_on_the_tokens(depth):
    X, _ = SparseTokenProblem(6, 2, 3.0).sample(20, 30, random_state=0)
    query = np.random.default_rng(1).standard_normal(30) / 3.0
    layers = Stacked(depth, 0.7, 0.4)
    weights = layers.weights(X @ query)
    expected = layered_features(X, query, layers)
    assert np.einsum("nl,nld->nd", weights, X) == pytest.approx(expected, rel=1e-10)


def test_theory_of_stacked_agrees_with_layers_of_matrices_on_dense_tokens():
    problem, layers, dim, cosine = SparseTokenProblem(4, 1, 4.0), Stacked(2), 80, 0.8
    risk = theory.risk(problem, layers, alpha=3.0, reg=0.1, cosine=cosine, sharpness=1.5)
    direction, other = np.eye(2, dim)
    query = 1.5 * (cosine * direction + np.sqrt(1.0 - cosine**2) * other)
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        samples = [
            problem.sample(n, dim, random_state=rng, direction=direction) for n in (3 * dim, 4000)
        ]
        (train, sign), (test, truth) = (
            (layered_features(X, query, layers), 2.0 * y - 1.0) for X, y in samples
        )
        coef, intercept = fit_readout(train, sign, 0.1, Logistic())
        errors.append(
            [
                np.mean(signs * (rows @ coef + intercept) < 0.0)
                for rows, signs in ((train, sign), (test, truth))
            ]
        )
    expected = np.array([risk.train_error, risk.test_error])
    bars = np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))
    assert np.all(np.abs(np.mean(errors, axis=0) - expected) < 4.0 * bars + 2.0 * expected / dim)


def test_limits_of_stacked():
    scores = np.random.default_rng(4).standard_normal((5, 6))
    plain = Softmax().weights(scores)
    assert Stacked(depth=0).weights(scores) == pytest.approx(plain)
    assert Stacked(depth=4, residual=0.0).weights(scores) == pytest.approx(plain)
    even = Stacked(depth=60, inner=0.0).weights(scores)  # layers that average all tokens
    assert even == pytest.approx(np.full((5, 6), 1 / 6), abs=1e-6)
    with pytest.raises(ValueError, match=r"^depth must"):
        Stacked(depth=-1)
    with pytest.raises(ValueError, match=r"^inner must"):
        Stacked(inner=np.nan)
