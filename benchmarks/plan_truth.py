"""Are the plans true? ``python -m benchmarks.plan_truth [TRIALS] [DIM]``.

For varied problems, plan the number of samples at a finite dimension, run the planned protocol on
fresh samples again and again (by the exact reduced samplers, with the exact test error of each
trained classifier), and compare the mean error with the plan. The plan is a limit and states what
it expects at this size (``finite_size_error``); it is true if the mean differs from that by at most
three standard errors plus 10 %.

Then two plans' share, sharpness and ridge against a simulated grid around them.
"""

import sys
import time
from typing import Any, NamedTuple

import numpy as np

from sparsetoken import SparseTokenProblem, plan
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import get_loss
from sparsetoken.planner import Plan
from sparsetoken.sampling import (
    exact_test_error,
    sample_feature_law,
    sample_features,
    sample_query,
)

ALLOWANCE = 0.10  # of the error expected at this size
CASES = [  # tokens, signal tokens, signal, positive rate, target error
    (5, 1, 4.0, 0.5, 0.10),
    (5, 2, 3.0, 0.3, 0.05),
    (10, 1, 5.0, 0.5, 0.05),
    (10, 1, 5.0, 0.2, 0.04),
    (10, 3, 2.0, 0.5, 0.15),
    (20, 2, 4.0, 0.7, 0.05),
    (20, 1, 3.0, 0.5, 0.30),
    (50, 1, 6.0, 0.5, 0.05),
    (50, 1, 6.0, 0.1, 0.02),
    (50, 5, 3.0, 0.4, 0.05),
    (100, 1, 7.0, 0.3, 0.03),
    (100, 10, 2.0, 0.5, 0.15),
    (200, 2, 7.0, 0.5, 0.03),
    (200, 20, 2.0, 0.6, 0.10),
]


class Achieved(NamedTuple):
    """Mean test error over the trials, and its standard error."""

    error: float
    spread: float


def simulate(
    problem: SparseTokenProblem,
    settings: dict[str, Any],
    n_samples: int,
    dim: int,
    trials: int,
    seed: int = 0,
) -> Achieved:
    """Run the two-step protocol with ``settings`` on fresh samples, again and again."""
    errors = [
        protocol_error(problem, settings, n_samples, dim, np.random.default_rng([seed, trial]))
        for trial in range(trials)
    ]
    return Achieved(float(np.mean(errors)), float(np.std(errors, ddof=1) / np.sqrt(trials)))


def protocol_error(
    problem: SparseTokenProblem,
    settings: dict[str, Any],
    n_samples: int,
    dim: int,
    rng: np.random.Generator,
) -> float:
    loss = get_loss(settings["loss"])
    first = round(settings["split"] * n_samples)
    rates = {name: settings[name] for name in ("beta", "lr_readout", "lr_bias", "lr_query")}
    learned = sample_query(problem, first, dim, loss=loss, random_state=rng, **rates)
    query, direction, beta = learned.query, learned.direction, settings["beta"]
    features, y = sample_features(
        problem, n_samples - first, query, direction, beta=beta, random_state=rng
    )
    if np.ptp(y) == 0:
        return min(problem.positive_rate, 1.0 - problem.positive_rate)
    share = np.full(y.size, 1.0 / y.size)
    readout, bias = fit_readout(features, np.where(y == 1, 1.0, -1.0), settings["reg"], loss, share)
    law = sample_feature_law(
        problem, 20_000, cosine=learned.cosine, sharpness=learned.sharpness, random_state=rng
    )
    return exact_test_error(law, problem.positive_rate, readout, bias, query, direction)


def check_plan(case: tuple[int, int, float, float, float], dim: int, trials: int) -> bool:
    n_tokens, n_signal, signal, rate, error = case
    begun = time.perf_counter()
    planned = plan(
        dim=dim,
        n_tokens=n_tokens,
        n_signal=n_signal,
        signal=signal,
        positive_rate=rate,
        error=error,
    )
    elapsed = time.perf_counter() - begun
    achieved = simulate(planned.problem, planned.settings, planned.n_samples, dim, trials)
    expected = planned.finite_size_error
    gap = achieved.error - planned.error
    true = abs(achieved.error - expected) <= 3 * achieved.spread + ALLOWANCE * expected
    print(
        f"{'ok  ' if true else 'MISS'} L={n_tokens:<4} R={n_signal:<3} signal={signal:<4g} "
        f"rate={rate:<4g} n={planned.n_samples:<6} planned {planned.error:.4f} "
        f"expected {expected:.4f} achieved {achieved.error:.4f} ± {achieved.spread:.4f} "
        f"({gap / planned.error:+.1%})  "
        f"split={planned.settings['split']:.2f} sharpness={planned.solution.choice.sharpness:.2g} "
        f"reg={planned.settings['reg']:.2g} {planned.settings['loss']}  [{elapsed:.1f} s]",
        flush=True,
    )
    return true


def check_choice(planned: Plan, trials: int) -> bool:
    """Compare the planned settings with their neighbours, on the same random numbers."""
    settings = planned.settings
    odds = settings["split"] / (1.0 - settings["split"])
    neighbours = {
        f"{name} × {factor:g}": value
        for factor in (0.5, 2.0)
        for name, value in (
            ("share's odds", {"split": factor * odds / (1.0 + factor * odds)}),
            ("sharpness", {"lr_query": factor * settings["lr_query"]}),
            ("ridge", {"reg": factor**2 * settings["reg"]}),
        )
    }
    n_samples, dim = planned.n_samples, planned.dim
    chosen = simulate(planned.problem, settings, n_samples, dim, trials)
    print(f"{planned!r}: achieved {chosen.error:.4f} ± {chosen.spread:.4f}")
    good = True
    for name, change in neighbours.items():
        other = simulate(planned.problem, {**settings, **change}, n_samples, dim, trials)
        better = (chosen.error - other.error) / chosen.error
        near = better <= 0.05 + 3 * (chosen.spread + other.spread) / chosen.error
        good &= near
        print(f"{'ok  ' if near else 'MISS'}   {name:<20} {other.error:.4f} ± {other.spread:.4f}")
    return good


def main(trials: int = 40, dim: int = 300) -> None:
    results = [check_plan(case, dim, trials) for case in CASES]
    for n_tokens, signal, rate, error in ((10, 5.0, 0.5, 0.05), (50, 6.0, 0.3, 0.05)):
        planned = plan(dim=dim, n_tokens=n_tokens, signal=signal, positive_rate=rate, error=error)
        results.append(check_choice(planned, trials))
    print(f"{sum(results)} of {len(results)} true")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
