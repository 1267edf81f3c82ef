import numpy as np
import pytest
from dense_reference import softmax
from scipy.optimize import minimize as l_bfgs
from scipy.special import expit
from statistical import Z_LIMIT, quick_first, standard_score

from sparsetoken import SparseTokenProblem
from sparsetoken.theory import ConvergenceWarning, joint_risk

PROBLEM = SparseTokenProblem(3, 1, 3.0)


def dense_minimum(problem, alpha, dim, reg, rng, informed):
    """Minimize over (q, w, b) on dense tokens; return loss, overlaps, norms and bias."""
    n_samples = round(alpha * dim)
    X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
    sign, flat = 2.0 * y - 1.0, X.reshape(-1, dim)

    def objective(point):
        q, w, b = point[:dim], point[dim:-1], point[-1]
        scores, along = ((flat @ v).reshape(n_samples, -1) for v in (q, w))
        weights = softmax(scores)
        output = (weights * along).sum(axis=1)
        margin = sign * (output + b)
        slope = -sign * expit(-margin) / n_samples
        pull = slope[:, np.newaxis] * weights
        by_q = (pull * (along - output[:, np.newaxis])).ravel() @ flat + reg * q
        by_w = pull.ravel() @ flat + reg * w
        value = np.logaddexp(0.0, -margin).mean() + 0.5 * reg * (q @ q + w @ w)
        return value, np.concatenate([by_q, by_w, [slope.sum()]])

    start = 0.1 * rng.standard_normal(2 * dim + 1) / np.sqrt(dim)
    if informed:
        start = np.concatenate([truth.direction, truth.direction, [0.0]])
    point = l_bfgs(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    q, w, b = point[:dim], point[dim:-1], point[-1]
    norms = np.linalg.norm(q), np.linalg.norm(w)
    loss = objective(point)[0] - 0.5 * reg * (norms[0] ** 2 + norms[1] ** 2)
    cosines = q @ truth.direction / norms[0], w @ truth.direction / norms[1]
    return loss, cosines[0], norms[0], cosines[1], norms[1], b


NAMES = ("train_loss", "cosine", "query_norm", "readout_cosine", "readout_norm", "bias")


@pytest.fixture(scope="module")
def plain():
    return joint_risk(PROBLEM, alpha=4.0, reg_query=0.1, reg_readout=0.1, n_points=1024)


@pytest.mark.parametrize("informed", quick_first([True, False]), ids=["informed", "uninformed"])
@pytest.mark.parametrize("dim", quick_first([100, 250]))
def test_agrees_with_dense_minimization(plain, dim, informed):
    rng = np.random.default_rng(dim)
    runs = [dense_minimum(PROBLEM, 4.0, dim, 0.1, rng, informed) for _ in range(10)]
    for name, values in zip(NAMES, np.array(runs).T, strict=True):
        assert abs(standard_score(values, getattr(plain, name))) < Z_LIMIT, name


@pytest.mark.statistical
def test_accepts_what_simulation_confirms(plain):
    """Means of L-BFGS at d = 800 and 400, from informed and uninformed starts alike."""
    assert plain.stable
    assert plain.test_error == pytest.approx(0.1374, abs=3 * 0.00045)
    assert plain.train_loss == pytest.approx(0.2497, abs=2 * 0.0021)
    other = joint_risk(PROBLEM, alpha=8.0, reg_query=0.05, reg_readout=0.05, n_points=1024)
    assert other.stable
    assert other.test_error == pytest.approx(0.1311, abs=3 * 0.0005)
    assert other.train_loss == pytest.approx(0.2231, abs=2 * 0.0024)
    for found in (plain, other):
        assert 0.0 < found.growth < 1.0
        assert found.test_error.uncertainty < 1e-3


@pytest.mark.statistical
def test_refuses_where_the_symmetric_solution_is_not_the_minimum():
    with pytest.warns(ConvergenceWarning, match="stable=False"):
        found = joint_risk(PROBLEM, alpha=4.0, reg_query=0.02, reg_readout=0.05, n_points=1024)
    assert not found.stable
    assert found.jumps > 1e-3


def test_one_token_leaves_nothing_to_attend_to():
    with pytest.raises(ValueError, match="n_tokens must be at least 2, got 1"):
        joint_risk(SparseTokenProblem(1), alpha=1.0, reg_query=0.1, reg_readout=0.1)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *[("alpha", 0.0), ("alpha", 1e300), ("reg_query", 0.0), ("reg_readout", -1.0)],
        *[("reg_readout", 1e-300), ("loss", "hinge"), ("beta", 0.0), ("beta", 1e300)],
    ],
)
def test_bad_argument_is_named(argument, value):
    arguments = {"alpha": 1.0, "reg_query": 0.1, "reg_readout": 0.1, argument: value}
    with pytest.raises(ValueError, match=f"^{argument} must"):
        joint_risk(PROBLEM, **arguments)


@pytest.mark.statistical
def test_without_signal_the_query_has_no_direction():
    """Noise of the tokens alone moves it, a little, however stiffly it is held."""
    problem = SparseTokenProblem(4, 1, 0.0, 0.4)
    for reg_query in (30.0, 1e4):
        found = joint_risk(problem, alpha=4.0, reg_query=reg_query, reg_readout=0.3, n_points=1024)
        assert found.stable
        assert found.cosine == found.readout_cosine == 0.0
        assert 0.0 < found.query_norm < 1e-2
        assert found.query_norm.uncertainty < 0.02 * found.query_norm
