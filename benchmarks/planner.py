"""The planner: how long an answer takes, and whether it comes back."""

from collections.abc import Iterator
from typing import Any

from benchmarks.report import Row, at_most, seconds
from sparsetoken import SparseTokenProblem, plan
from sparsetoken.theory.features import attention_law

POOLED: dict[str, Any] = {"dim": 384, "n_tokens": 50, "signal": 30.0, "model": "pooled"}
ATTENTION: dict[str, Any] = {"dim": 384, "n_tokens": 50, "signal": 6.0}


def rows() -> Iterator[Row]:
    elapsed = seconds(lambda: plan(**POOLED, error=0.05))
    yield at_most("plan the samples for pooled", elapsed, 0.1, "s")

    def attention() -> Any:
        attention_law.cache_clear()
        return plan(**ATTENTION, error=0.05)

    yield at_most("plan the samples for attention", seconds(attention, repeats=3), 10.0, "s")
    planned = attention()
    signal = {**ATTENTION, "signal": None, "n_samples": planned.n_samples, "error": 0.05}
    yield at_most("plan the signal for attention", seconds(lambda: plan(**signal), 1), 10.0, "s")
    predicted = plan(**ATTENTION, n_samples=planned.n_samples)
    difference = abs(predicted.error / planned.error - 1.0)
    yield at_most("solve, then predict there from scratch: difference", difference, 0.01, "")
    elapsed = seconds(lambda: plan(**ATTENTION, error=0.05).curve, 1, warm=False)
    yield at_most("the same with its curve of nine points", elapsed, 30.0, "s")
    X, y = SparseTokenProblem(20, 1, 6.0).sample(100, 64, random_state=1)
    elapsed = seconds(lambda: plan.from_pilot(X, y, error=0.1), 1, warm=False)
    yield at_most("plan the samples from a pilot of 100 × 20 × 64", elapsed, 60.0, "s")
