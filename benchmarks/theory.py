"""The theory engine: what a point costs, and against how such equations are usually solved."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from benchmarks.report import Row, at_least, at_most, peak_bytes, ratio, seconds
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.theory import capacity, risk
from sparsetoken.theory.features import attention_law

PROBLEM = SparseTokenProblem(10, 1, 5.0)
QUERY: dict[str, Any] = {"cosine": 0.95, "sharpness": 1.0}


def attention_point(loss: str) -> Any:
    """One point with its error bar, its feature law made anew."""
    attention_law.cache_clear()
    result = risk(PROBLEM, "attention", alpha=2.0, reg=1e-2, loss=loss, **QUERY)
    return result.test_error, result.uncertainty


def attention_curve() -> Any:
    attention_law.cache_clear()
    alphas = np.geomspace(0.5, 10.0, 20)
    curve = risk(PROBLEM, "attention", alpha=alphas, reg=1e-2, **QUERY)
    return [(point.test_error, point.uncertainty) for point in curve]


def population_point(n_kinds: int) -> Any:
    """One point of a population of that many strengths; the kinds share the points."""
    attention_law.cache_clear()
    strengths = np.linspace(4.0, 6.0, n_kinds) if n_kinds > 1 else [5.0]
    population = Population([SparseTokenProblem(10, 1, float(signal)) for signal in strengths])
    result = risk(population, "attention", alpha=2.0, reg=1e-2, **QUERY)
    return result.test_error, result.uncertainty


def best_ridge(model: str, loss: str, n_alphas: int, reg: Any) -> Any:
    """Points along a curve, or one point, with a given ridge or the best."""
    attention_law.cache_clear()
    alphas = np.geomspace(0.5, 10.0, n_alphas) if n_alphas > 1 else [2.0]
    query = QUERY if model == "attention" else {}
    curve = risk(PROBLEM, model, alpha=alphas, reg=reg, loss=loss, **query)
    return [(point.test_error, point.uncertainty) for point in curve]


def long_point() -> Any:
    attention_law.cache_clear()
    problem = SparseTokenProblem(10_000, 1, 8.0)
    result = risk(problem, "attention", alpha=2.0, reg=1e-2, cosine=0.95, sharpness=3.0)
    return result.test_error, result.uncertainty


def plain_linear_point(alpha: float = 2.0, reg: float = 0.1) -> float:
    """Solve the pooled logistic equations with adaptive quadrature around a scalar prox.

    The damped fixed-point iteration of the literature, one expectation at a time.
    """
    mean = PROBLEM.snr
    overlap, bias, spread, chi = 0.5, -0.3, 0.8, 1.0

    def average(function: Any) -> float:
        total = 0.0
        norm = math.hypot(overlap, spread)
        for label, centre in ((1.0, mean * overlap + bias), (-1.0, bias)):

            def integrand(g: float, label: float = label, centre: float = centre) -> float:
                r = label * (centre + norm * g)
                p = brentq(lambda u: u - r - chi / (1.0 + math.exp(u)), r - 1e-9, r + chi + 1e-9)
                density = math.exp(-0.5 * g * g) / math.sqrt(2 * math.pi)
                return float(function(label, 1.0 / (1.0 + math.exp(p))) * density)

            total += 0.5 * quad(integrand, -6.5, 6.5, epsabs=1e-8, epsrel=1e-8)[0]
        return total

    for _ in range(100):
        slope = average(lambda y, s: -y * s)
        pull = average(lambda y, s: -s if y > 0 else 0.0)
        square = average(lambda y, s: s * s)
        stiffness = average(lambda y, s, chi=chi: s * (1 - s) / (1 + chi * s * (1 - s)))
        new_chi = 1.0 / (alpha * (reg + stiffness))
        update = (
            -alpha * chi * mean * pull,
            bias - slope / stiffness,
            math.sqrt(alpha * square) * chi,
            new_chi,
        )
        old = overlap, bias, spread, chi
        overlap, bias, spread, chi = (0.5 * (a + b) for a, b in zip(old, update, strict=True))
        if max(abs(a - b) for a, b in zip(old, update, strict=True)) < 1e-7:
            break
    return overlap


def rows() -> Iterator[Row]:
    def linear() -> Any:
        return risk(PROBLEM, "pooled", alpha=2.0, reg=1e-2).test_error

    yield at_most("linear logistic point", 1e3 * seconds(linear), 5.0, "ms")
    ours = risk(PROBLEM, "pooled", alpha=2.0, reg=1e-2).readout.along_rest
    difference = abs(plain_linear_point() - ours)
    yield at_most("the same by adaptive quadrature: difference", difference, 1e-5, "")
    slower = ratio(plain_linear_point, linear, repeats=1)
    yield at_least("the same by adaptive quadrature: time / ours", slower, 1000)
    for loss, bound in (("square", 30.0), ("logistic", 300.0)):
        error, uncertainty = attention_point(loss)
        elapsed = 1e3 * seconds(partial(attention_point, loss))
        yield at_most(f"attention point, {loss}, L=10", elapsed, bound, "ms")
        relative = uncertainty / error
        yield at_most(f"attention point, {loss}: relative uncertainty", relative, 1e-3, "")
    yield at_most(
        "20-point curve / one point, logistic attention",
        ratio(attention_curve, lambda: attention_point("logistic"), repeats=5),
        8.0,
    )

    for n_kinds in (4, 16):
        slower = ratio(partial(population_point, n_kinds), partial(population_point, 1), repeats=5)
        yield at_most(f"attention point of {n_kinds} kinds / of one", slower, 1.5)
    for model in ("pooled", "attention"):
        for loss in ("logistic", "square", "hinge"):
            for n_alphas, what in ((1, "point"), (20, "curve")):
                one, best = (partial(best_ridge, model, loss, n_alphas, r) for r in (1e-2, "best"))
                slower = ratio(best, one, repeats=3)
                yield at_most(f'{model} {what}, {loss}: reg="best" / one ridge', slower, 5.0)

    def separability() -> Any:
        attention_law.cache_clear()
        return capacity(PROBLEM, "attention", **QUERY)

    yield at_most("capacity of attention", 1e3 * seconds(separability), 50.0, "ms")
    yield at_most("attention point at L=10,000", seconds(long_point, repeats=3), 2.0, "s")
    memory = peak_bytes(long_point) / 1e9
    yield at_most("attention point at L=10,000: peak memory", memory, 1.0, "GB")
