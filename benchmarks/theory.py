"""The theory engine: what a point, a curve or a plan costs."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.report import Row, at_most, cpu_seconds, peak_bytes, ratio, seconds
from sparsetoken import SparseTokenProblem, plan
from sparsetoken.theory import capacity, joint_risk, optimal, risk, training
from sparsetoken.theory.features import attention_law

PROBLEM = SparseTokenProblem(10, 1, 5.0)
QUERY: dict[str, Any] = {"cosine": 0.95, "sharpness": 1.0}
CURVE = np.geomspace(0.5, 10.0, 20)


def solve(model: str, problem: Any = PROBLEM, alpha: Any = 2.0, **options: Any) -> Any:
    """Return errors with their bars, the feature law made anew."""
    attention_law.cache_clear()
    settings = {"reg": 1e-2, **(QUERY if model == "attention" else {}), **options}
    curve = risk(problem, model, alpha=np.atleast_1d(alpha), **settings)
    return [(point.test_error, point.uncertainty) for point in curve]


attention = partial(solve, "attention")


def rows() -> Iterator[Row]:
    def linear() -> Any:
        return risk(PROBLEM, "pooled", alpha=2.0, reg=1e-2).test_error

    yield at_most("linear logistic point", 1e3 * seconds(linear), 5.0, "ms")
    for loss, bound in (("square", 30.0), ("logistic", 300.0)):
        ((error, uncertainty),) = attention(loss=loss)
        elapsed = 1e3 * seconds(partial(attention, loss=loss))
        yield at_most(f"attention point, {loss}, L=10", elapsed, bound, "ms")
        relative = uncertainty / error
        yield at_most(f"attention point, {loss}: relative uncertainty", relative, 1e-3, "")
    slower = ratio(partial(attention, alpha=CURVE), attention, repeats=5)
    yield at_most("20-point curve / one point, logistic attention", slower, 8.0)
    for model, loss in product(("pooled", "attention"), ("logistic", "square", "hinge")):
        one, best = (partial(solve, model, loss=loss, reg=reg) for reg in (1e-2, "best"))
        slower = ratio(best, one, repeats=3)
        yield at_most(f'{model} point, {loss}: reg="best" / one ridge', slower, 5.0)

    def separability() -> Any:
        attention_law.cache_clear()
        return capacity(PROBLEM, "attention", **QUERY)

    yield at_most("capacity of attention", 1e3 * seconds(separability), 50.0, "ms")
    long = partial(attention, SparseTokenProblem(10_000, 1, 8.0), sharpness=3.0)
    yield at_most("attention point at L=10,000", seconds(long, repeats=3), 2.0, "s")
    yield at_most("attention point at L=10,000: peak memory", peak_bytes(long) / 1e9, 1.0, "GB")
    for n_tokens in (10, 100_000):
        problem = SparseTokenProblem(n_tokens, 1, 5.5, 0.4)
        alphas = iter(np.geomspace(0.3, 30.0, 10))  # none twice
        used = 1e3 * cpu_seconds(lambda: optimal(problem, next(alphas)).test_error)  # noqa: B023
        yield at_most(f"best possible error, L={n_tokens}, after the first call", used, 20.0, "ms")
    yield from training_and_joint()
    yield from plans()


def training_and_joint() -> Iterator[Row]:
    for batches, bound in (("fresh", 5.0), ("online", 5.0), ("reused", 30.0)):
        how: dict[str, Any] = {"batches": batches, "lr_query": 8.0, "lr_readout": 2.0}
        used = cpu_seconds(partial(training, PROBLEM, steps=10, alpha=2.0, **how), 1)
        yield at_most(f"training, {batches} samples, 10 steps", used, bound, "s")
    problem = SparseTokenProblem(3, 1, 3.0)
    used = cpu_seconds(partial(joint_risk, problem, alpha=4.0, reg_query=0.1, reg_readout=0.1), 1)
    yield at_most("joint minimum, L=3", used, 15.0, "s")


def plans() -> Iterator[Row]:
    """How long a plan takes."""
    asked: dict[str, Any] = {"dim": 384, "n_tokens": 50}
    pooled = partial(plan, **asked, signal=30.0, model="pooled", error=0.05)
    yield at_most("plan the samples for pooled", seconds(pooled), 0.1, "s")

    def samples() -> Any:
        attention_law.cache_clear()
        return plan(**asked, signal=6.0, error=0.05)

    yield at_most("plan the samples for the default classifier", seconds(samples, 3), 10.0, "s")
    planned = samples()
    signal = partial(plan, **asked, n_samples=planned.n_samples, error=0.05)
    yield at_most("plan the signal", seconds(signal, 1), 10.0, "s")
    elapsed = seconds(lambda: samples().curve, 1, warm=False)
    yield at_most("the same with its curve of nine points", elapsed, 30.0, "s")
