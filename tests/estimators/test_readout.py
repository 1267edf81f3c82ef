import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.losses import Hinge, Logistic, Loss, Square, get_loss

SHAPES = [(60, 8), (30, 200), (50, 50)]  # the last two are separable
REGS = [1.0, 1e-2, 1e-5, 1e-8]


class SquaredHinge(Loss):
    def value(self, z, y):
        return 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2

    def derivative(self, z, y):
        return -y * np.maximum(0.0, 1.0 - y * z)

    def second_derivative(self, z, y):
        return np.where(y * z < 1.0, 1.0, 0.0)


def problem(shape, seed=0, offset=3.0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal(shape) + offset
    noise = 0.7 * rng.standard_normal(shape[0])
    sign = np.where(features[:, 0] - offset + noise > 0.4, 1.0, -1.0)
    return features, sign, rng.uniform(0.2, 2.0, shape[0])


def objective(found, features, sign, weight, reg, loss):
    score = features @ found.coef + found.intercept
    return weight / weight.sum() @ loss.value(score, sign) + 0.5 * reg * found.coef @ found.coef


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize(
    "loss", [Logistic(), Square(), get_loss(SquaredHinge())], ids=["logistic", "square", "custom"]
)
def test_gradient_is_zero(shape, reg, loss):
    """Relative to its two parts, which cancel; rounding of the losses is what is left."""
    features, sign, weight = problem(shape)
    found = fit_readout(features, sign, reg, loss, weight)
    normed = weight / weight.sum()
    slope = normed * loss.derivative(features @ found.coef + found.intercept, sign)
    centered = features - normed @ features
    parts = np.abs(slope) @ np.abs(centered)
    assert np.abs(slope @ centered + reg * found.coef).max() < 1e-9 * parts.max() + 1e-14
    assert abs(slope.sum()) < 1e-9 * np.abs(slope).sum() + 1e-14


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reg", REGS)
def test_hinge_reaches_its_dual_bound(shape, reg):
    """No value of the objective is below a value of the dual, which a linear program can improve.

    Given the scores, the best prices solve min over a of ‖Σ a y f/λ − w‖ with 0 ≤ a ≤ s, Σ a y = 0;
    samples beyond the margin have a = 0 and those inside it a = s, so only the margin's are free.
    """
    features, sign, weight = problem(shape)
    found = fit_readout(features, sign, reg, Hinge(), weight)
    normed = weight / weight.sum()
    margin = sign * (features @ found.coef + found.intercept)
    free = np.abs(margin - 1.0) < 1e-4
    price = np.where(margin < 1.0, normed, 0.0)
    rows = (sign[:, np.newaxis] * np.column_stack([features, np.ones(len(sign))])).T
    target = np.append(reg * found.coef, 0.0) - rows[:, ~free] @ price[~free]
    scale = np.abs(rows) @ normed
    # min t  with  |rows a − target| ≤ t·scale
    count = int(free.sum())
    bound = np.column_stack([rows[:, free], -scale])
    lower = np.column_stack([-rows[:, free], -scale])
    result = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.vstack([bound, lower]),
        b_ub=np.append(target, -target),
        bounds=[*zip(np.zeros(count), normed[free], strict=True), (0, None)],
    )
    assert result.status == 0
    assert result.x[-1] < 1e-5 * max(np.abs(reg * found.coef).max() / scale.max(), 1e-3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reg", [1.0, 1e-2, 1e-4])
def test_agrees_with_scikit_learn(shape, reg):
    features, sign, weight = problem(shape, seed=1)
    scaled, C = weight / weight.mean(), 1.0 / (len(sign) * reg)
    logistic = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    logistic.fit(features, sign, sample_weight=scaled)
    found = fit_readout(features, sign, reg, Logistic(), weight)
    assert found.coef == pytest.approx(logistic.coef_[0], abs=1e-6 * np.abs(found.coef).max())
    assert found.intercept == pytest.approx(logistic.intercept_[0], abs=1e-5)

    machine = SVC(kernel="linear", C=C, tol=1e-8).fit(features, sign, sample_weight=scaled)
    found = fit_readout(features, sign, reg, Hinge(), weight)
    other = LinearReadout(machine.coef_[0], machine.intercept_[0])
    mine, theirs = (
        objective(which, features, sign, weight, reg, Hinge()) for which in (found, other)
    )
    assert mine <= theirs * (1 + 1e-9)
    assert found.coef == pytest.approx(other.coef, abs=2e-3 * np.abs(found.coef).max())


@pytest.mark.parametrize(
    "loss", [Logistic(), Square(), get_loss(SquaredHinge())], ids=["logistic", "square", "custom"]
)
def test_agrees_with_a_general_optimizer(loss):
    features, sign, weight = problem((60, 5), seed=2)

    def value(point):
        return objective(LinearReadout(point[:-1], point[-1]), features, sign, weight, 0.1, loss)

    general = minimize(value, np.zeros(6), method="BFGS", options={"gtol": 1e-7})
    found = fit_readout(features, sign, 0.1, loss, weight)
    assert np.append(found.coef, found.intercept) == pytest.approx(general.x, abs=1e-4)


@pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)
def test_the_bias_is_free(loss):
    """A shift of all features moves the bias only."""
    features, sign, weight = problem((40, 100), offset=0.0)
    plain = fit_readout(features, sign, 1e-2, loss, weight)
    moved = fit_readout(features + 10.0, sign, 1e-2, loss, weight)
    assert moved.coef == pytest.approx(plain.coef, abs=1e-5)
    assert moved.intercept == pytest.approx(plain.intercept - 10 * plain.coef.sum(), abs=1e-3)


@pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)
def test_weights_count_samples(loss):
    features, sign, _ = problem((30, 4))
    counts = np.random.default_rng(0).integers(0, 3, 30)
    weighted = fit_readout(features, sign, 0.1, loss, counts.astype(float))
    repeated = fit_readout(np.repeat(features, counts, axis=0), np.repeat(sign, counts), 0.1, loss)
    assert weighted.coef == pytest.approx(repeated.coef, abs=1e-6)
    assert weighted.intercept == pytest.approx(repeated.intercept, abs=1e-6)


def test_many_more_features_than_samples():
    """A matrix of d×d numbers would take 80 GB."""
    features = np.random.default_rng(0).standard_normal((20, 100_000))
    sign = np.where(np.arange(20) < 10, 1.0, -1.0)
    for loss in (Logistic(), Square(), Hinge()):
        found = fit_readout(features, sign, 1e-6, loss)
        assert (sign * (features @ found.coef + found.intercept) > 0.5).all()


@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=repr)
def test_an_unfinished_solution_says_so(loss, monkeypatch):
    monkeypatch.setattr("sparsetoken.estimators.readout._MOST_STEPS", 2)
    features, sign, _ = problem((60, 8))
    with pytest.warns(ConvergenceWarning, match="readout is not optimal"):
        fit_readout(features, sign, 1e-5, loss)
