import numpy as np
import pytest
from numba import njit
from scipy.optimize import brentq
from scipy.special import expit

from sparsetoken.losses import Hinge, Logistic, Loss, Square, get_loss, logistic_prox, loss_names
from user_losses import SmoothedHinge

BUILT_IN = [Logistic(), Square(), Hinge()]
GRID = np.concatenate([-np.logspace(3, -6, 25), [0.0], np.logspace(-6, 3, 25)])
SCALES = np.logspace(-12, 12, 25)


class WithoutProx(Loss):
    """A built-in loss that has to use the default prox."""

    def __init__(self, loss):
        self.value, self.derivative = loss.value, loss.derivative
        self.second_derivative = loss.second_derivative


ALL = [*BUILT_IN, get_loss(SmoothedHinge())]
each_loss = pytest.mark.parametrize("loss", ALL, ids=repr)
each_built_in = pytest.mark.parametrize("loss", BUILT_IN, ids=repr)


@pytest.mark.parametrize(
    ("loss", "z", "y", "value", "derivative", "second"),
    [
        (Logistic(), 0.0, 1, np.log(2), -0.5, 0.25),
        (Logistic(), 0.0, -1, np.log(2), 0.5, 0.25),
        (Logistic(), 2.0, -1, 2.1269280110429727, 0.8807970779778823, 0.10499358540350662),
        (Logistic(), -1e3, 1, 1e3, -1.0, 0.0),
        (Logistic(), 1e3, 1, 0.0, 0.0, 0.0),
        (Logistic(), 40.0, 1, 4.248354255291589e-18, -4.248354255291589e-18, 4.248354255291589e-18),
        (Square(), 3.0, -1, 8.0, 4.0, 1.0),
        (Square(), 1e3, 1, 0.5 * 999.0**2, 999.0, 1.0),
        (Hinge(), 0.25, 1, 0.75, -1.0, 0.0),
        (Hinge(), 1.5, 1, 0.0, 0.0, 0.0),
        (Hinge(), 1e3, -1, 1001.0, 1.0, 0.0),
    ],
)
def test_exact_values(loss, z, y, value, derivative, second):
    assert loss.value(z, y) == pytest.approx(value, rel=1e-14, abs=1e-300)
    assert loss.derivative(z, y) == pytest.approx(derivative, rel=1e-14, abs=1e-300)
    assert loss.second_derivative(z, y) == pytest.approx(second, rel=1e-14, abs=1e-300)


@each_loss
@pytest.mark.parametrize("y", [-1, 1])
def test_derivatives_match_differences(loss, y):
    z = np.linspace(-8.03, 8.03, 40)  # off the kinks
    step = 1e-5
    slope = (loss.value(z + step, y) - loss.value(z - step, y)) / (2 * step)
    assert loss.derivative(z, y) == pytest.approx(slope, rel=1e-7, abs=1e-9)
    curvature = (loss.derivative(z + step, y) - loss.derivative(z - step, y)) / (2 * step)
    assert loss.second_derivative(z, y) == pytest.approx(curvature, rel=1e-7, abs=1e-9)


@each_loss
@pytest.mark.parametrize("y", [-1, 1])
def test_finite_and_convex_at_extreme_margins(loss, y):
    for method in (loss.value, loss.derivative, loss.second_derivative):
        assert np.isfinite(method(GRID, y)).all()
    assert (np.diff(loss.derivative(GRID, y)) >= 0).all()
    assert (loss.value(GRID, y) >= 0).all()
    assert (loss.second_derivative(GRID, y) >= 0).all()


@each_loss
@pytest.mark.parametrize("y", [-1, 1])
def test_prox_is_the_minimizer_from_tiny_to_huge_scales(loss, y):
    z, scale = (a.ravel() for a in np.meshgrid(GRID, SCALES))
    p = loss.prox(z, y, scale)
    assert np.isfinite(p).all()
    # 0 ∈ p − z + scale·∂ℓ(p): the residual changes sign within a few roundings of p.
    nudge = 8e-16 * np.maximum(np.abs(p), np.abs(z)) + 1e-300

    def residual(q):
        return q - z + scale * loss.derivative(q, y)

    # What cannot be resolved in ℓ′(p) itself bounds what the residual can resolve.
    slack = 4e-16 * (np.abs(z) + np.abs(p) + scale * np.abs(loss.derivative(p, y)))
    assert (residual(p - nudge) <= slack).all()
    assert (residual(p + nudge) >= -slack).all()


@pytest.mark.parametrize(
    ("z", "scale"), [(0.3, 1.7), (-40.0, 1e6), (-1e3, 1e12), (3.0, 1e-9), (30.0, 1e9)]
)
def test_logistic_prox_agrees_with_a_root_finder(z, scale):
    p = Logistic().prox(z, 1, scale)
    root = brentq(lambda q: (q - z) - scale * expit(-q), z, z + scale, xtol=1e-15, rtol=1e-15)
    assert p == pytest.approx(root, rel=1e-13)


@each_built_in
def test_default_prox_agrees_with_the_explicit_one(loss):
    z, scale = (a.ravel() for a in np.meshgrid(GRID, SCALES))
    for y in (-1, 1):
        assert WithoutProx(loss).prox(z, y, scale) == pytest.approx(
            loss.prox(z, y, scale), rel=1e-12
        )


@each_loss
def test_prox_at_scale_zero_is_the_point_itself(loss):
    assert np.array_equal(loss.prox(GRID, 1, 0.0), GRID)


@each_loss
def test_methods_broadcast(loss):
    z, y, scale = np.zeros((3, 1)), np.array([-1.0, 1.0]), 2.0
    assert np.shape(loss.value(z, y)) == (3, 2)
    assert np.shape(loss.derivative(z, y)) == (3, 2)
    assert np.shape(loss.prox(z, y, scale)) == (3, 2)
    assert np.ndim(loss.prox(0.5, 1, 2.0)) == 0


def test_the_logistic_loss_is_usable_from_a_numba_kernel():
    value, derivative, prox = Logistic.value, Logistic.derivative, logistic_prox

    @njit
    def kernel(z, y, scale):
        p = prox(z, y, scale)
        return p, value(p, y), derivative(p, y)

    p = Logistic().prox(0.3, -1.0, 2.0)
    expected = p, value(p, -1.0), derivative(p, -1.0)
    assert kernel(0.3, -1.0, 2.0) == pytest.approx(expected, rel=1e-15)


def test_get_loss():
    assert get_loss("logistic") == Logistic()
    assert get_loss("square") != Hinge()
    own = Square()
    assert get_loss(own) is own
    with pytest.raises(
        ValueError, match=r"loss must be one of 'logistic', 'square', 'hinge'.*'log'"
    ):
        get_loss("log")
    with pytest.raises(ValueError, match=r"an object of a subclass of .*, got 3"):
        get_loss(3)
    with pytest.raises(
        ValueError, match=r"^loss must be an object, got the class Logistic: pass Logistic\(\)"
    ):
        get_loss(Logistic)


class HingeAtTwo(Loss):
    """A hinge loss with its corner elsewhere, known by its class alone."""

    name = "hinge at two"
    smooth = False
    corner = 2.0

    def value(self, z, y):
        return np.maximum(0.0, 2.0 - y * z)

    def derivative(self, z, y):
        return -y * (y * z < 2.0)

    def second_derivative(self, z, y):
        return 0.0 * z


def test_a_subclass_is_known_by_its_name_or_import_path():
    assert loss_names()[:3] == ("logistic", "square", "hinge")
    assert get_loss("hinge at two") == HingeAtTwo()
    assert get_loss(f"{__name__}:HingeAtTwo") == HingeAtTwo()
    assert get_loss(f"{__name__}:BUILT_IN_HINGE") == Hinge()
    with pytest.raises(ValueError, match=r"loss must be importable, got 'nowhere:Loss'"):
        get_loss("nowhere:Loss")
    with pytest.raises(ValueError, match=r"loss must be importable.*no attribute 'Nothing'"):
        get_loss(f"{__name__}:Nothing")


BUILT_IN_HINGE = Hinge()


class Bump(Loss):
    """Not convex: a bounded loss."""

    def value(self, z, y):
        return expit(-y * z)

    def derivative(self, z, y):
        return -y * expit(y * z) * expit(-y * z)

    def second_derivative(self, z, y):
        return expit(y * z) * expit(-y * z) * (1.0 - 2.0 * expit(-y * z))


def test_a_loss_that_is_not_convex_is_refused_where_it_bends_down():
    with pytest.raises(ValueError, match=r"convex.*derivative falls from .* at z=.*, y=-1 to"):
        get_loss(Bump())


def test_traits():
    assert [loss.smooth for loss in BUILT_IN] == [True, True, False]
    assert [loss.quadratic for loss in BUILT_IN] == [False, True, False]
    assert [loss.corner for loss in BUILT_IN] == [None, None, 1.0]

    class Kinked(SmoothedHinge):
        smooth = False

    assert not get_loss(Kinked()).smooth
    assert get_loss(SmoothedHinge()).smooth


@each_loss
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_average_agrees_with_quadrature(loss, y):
    mean, deviation = np.array([-30.0, -1.0, 0.3, 1.0, 8.0]), np.array([0.1, 1e-3, 1.0, 5.0, 20.0])
    nodes = np.linspace(-9.0, 9.0, 40_001)
    weights = np.exp(-0.5 * nodes**2)
    values = loss.value(mean[:, np.newaxis] + deviation[:, np.newaxis] * nodes, y)
    expected = values @ weights / weights.sum()
    assert loss.average(mean, deviation, y) == pytest.approx(expected, rel=2e-5, abs=1e-9)
    assert loss.average(0.5, 0.0, y) == pytest.approx(float(loss.value(0.5, y)), abs=1e-9)


def test_probability():
    score = np.array([-1e3, -1.0, 0.0, 0.5, 1e3])
    assert Logistic().probability(score) == pytest.approx(expit(score))
    assert get_loss(SmoothedHinge()).probability(score).tolist() == [0.0, 0.0, 0.5, 0.75, 1.0]
