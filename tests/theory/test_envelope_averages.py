"""The averages over G against adaptive quadrature, and the fast routes against the plain one."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from sparsetoken.losses import Hinge, Logistic, Loss, Square, get_loss
from sparsetoken.theory.envelope_averages import envelope_moments
from theory.smoothed import settings
from user_losses import SmoothedHinge


def integrands(loss, label, mean, deviation, scale, g):
    r = mean + deviation * g
    p = loss.prox(r, label, scale)
    h = (r - p) / scale
    if isinstance(loss, Hinge):
        k = float(1 - scale < label * r < 1) / scale
    else:
        curvature = loss.second_derivative(p, label)
        k = curvature / (1 + scale * curvature)
    envelope = loss.value(p, label) + 0.5 * scale * h**2
    return envelope, h, g * h, h**2, k, g * k, g**2 * k, h * k, g * h * k, h**2 * k


def by_quadrature(loss, label, mean, deviation, scale):
    kinks = [(label * (edge - label * mean)) / deviation for edge in (1.0, 1.0 - scale, -scale)]
    bounds = [-9.0, *sorted(k for k in kinks if -9 < k < 9), 9.0]
    totals = []
    for index in range(10):

        def weighted(g, index=index):
            value = integrands(loss, label, mean, deviation, scale, g)[index]
            return float(value) * np.exp(-0.5 * g * g) / np.sqrt(2 * np.pi)

        pieces = [
            quad(weighted, a, b, epsabs=1e-13, epsrel=1e-10, limit=200)[0]
            for a, b in itertools.pairwise(bounds)
        ]
        totals.append(sum(pieces))
    return np.array(totals)


def found_and_expected(loss, count, log_deviation, log_scale):
    """Yield the averages, and those by adaptive quadrature, at random places."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        label, mean = float(rng.choice([-1, 1])), float(rng.normal(0, 2))
        deviation, scale = 10 ** rng.uniform(*log_deviation), 10 ** rng.uniform(*log_scale)
        place = loss, np.array([label]), np.array([mean]), np.ones(1), deviation, scale
        found = np.concatenate(envelope_moments(*place))
        yield found, by_quadrature(loss, label, mean, deviation, scale)


@pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)
def test_agrees_with_adaptive_quadrature(loss):
    for found, expected in found_and_expected(loss, 25, (-2, 1), (-3, 3)):
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.statistical
def test_the_kinks_of_a_loss_of_ones_own():
    """With a step of 0.2, as for smooth losses, E[h] is off by up to one in a thousand."""
    for found, expected in found_and_expected(get_loss(SmoothedHinge()), 12, (-1, 1), (-2, 2)):
        assert found[:4] == pytest.approx(expected[:4], rel=2e-5, abs=2e-6)


def test_logistic_kernel_agrees_with_plain_numpy():
    loss = Logistic()

    class Plain(Loss):  # the same loss, unknown to the dispatch: integrated in NumPy with its prox
        value, derivative = staticmethod(loss.value), staticmethod(loss.derivative)
        second_derivative, prox = staticmethod(loss.second_derivative), staticmethod(loss.prox)

    arguments = settings(200)
    for norm, chi in [(0.5, 0.1), (3.0, 10.0), (12.0, 1e5), (1.0, 0.0)]:
        fast = envelope_moments(loss, *arguments, norm, chi)
        slow = envelope_moments(get_loss(Plain()), *arguments, norm, chi)
        for a, b in zip(fast, slow, strict=True):
            assert a == pytest.approx(b, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("loss", [Logistic(), Square(), Hinge()], ids=repr)
def test_derivatives_are_moments(loss):
    """∂E[M]/∂mean = E[h], ∂E[M]/∂deviation = E[Gh], ∂E[M]/∂scale = −E[h²]/2, and one order up."""
    label, mean, scale = settings(50)
    norm, chi, step = 1.3, 2.0, 1e-5

    def at(shift=0.0, wider=0.0, stiffer=0.0):
        return envelope_moments(loss, label, mean + shift, scale, norm + wider, chi + stiffer)

    here = at()
    pairs = [
        ({"shift": step}, here.h, here.k, here.gk, 2 * here.hk),
        ({"wider": step}, scale * here.gh, scale * here.gk, scale * here.ggk, 2 * scale * here.ghk),
        (
            {"stiffer": step},
            *(-(scale**2) * m for m in (0.5 * here.hh, here.hk, here.ghk, 2 * here.hhk)),
        ),
    ]
    for move, *expected in pairs:
        back = {name: -value for name, value in move.items()}
        for name, value in zip(("envelope", "h", "gh", "hh"), expected, strict=True):
            difference = (getattr(at(**move), name) - getattr(at(**back), name)) / (2 * step)
            assert value == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_smoothing_adds_to_the_scale():
    label, mean, _ = settings(30)
    one = np.ones(30)
    smoothed = envelope_moments(Hinge(), label, mean, one, 0.7, 0.5, smoothing=0.25)
    assert np.array_equal(smoothed, envelope_moments(Hinge(), label, mean, one, 0.7, 0.75))


def test_no_noise_and_no_envelope_give_the_loss_itself():
    label, mean, one = *settings(30)[:2], np.ones(30)
    for loss in (Logistic(), Square(), Hinge()):
        bare = envelope_moments(loss, label, mean, one, 1e-9, 0.0)
        assert bare.envelope == pytest.approx(loss.value(mean, label), abs=1e-6)
        assert bare.h == pytest.approx(loss.derivative(mean, label), abs=1e-6)


@pytest.mark.parametrize("norm", [1e-3, 1.0, 20.0, 75.0, 100.0])
def test_the_quick_kernel_of_the_logistic_loss_is_the_limit_of_its_envelopes(norm):
    label, mean, scale = settings(300)
    plain = envelope_moments(Logistic(), label, mean, scale, norm, 0.0)
    almost = envelope_moments(Logistic(), label, mean, scale, norm, 1e-12)
    for quick, slow in zip(plain, almost, strict=True):
        assert quick == pytest.approx(slow, rel=1e-8, abs=1e-10)
