"""Are the plans true? ``python -m benchmarks.plan_truth [default|law|estimate]``.

``default``: the plan of the default classifier. 40 random problems (20 to 400 dimensions, 2 to 200
tokens, from 20 samples on): train the planned classifier at the planned size on fresh samples and
compare its mean error with the plan, which should be within 15 % plus two standard errors.

``law``: what a finite sample costs this classifier, on other problems; the constants of
``models/sparse_token.py`` were fitted to them.

``estimate``: ``estimate_problem`` on 60 random problems (20 to 400 dimensions, 0.5 to 8 samples per
dimension): relative error of the signal, numbers of signal tokens, and how many truths lie within
two standard errors.
"""

import contextlib
import math
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.report import Table, mean_and_error, run
from sparsetoken import SparseTokenProblem, estimate_problem, models, plan
from sparsetoken.inspection.estimation import PilotWarning
from sparsetoken.planner import Plan
from sparsetoken.planner.solve import fewest_samples
from sparsetoken.theory import optimal


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def random_problem(rng: np.random.Generator) -> SparseTokenProblem:
    """Return a problem of up to 200 tokens, a quarter of which may carry the signal."""
    n_tokens = round(log_uniform(rng, 2, 200))
    n_signal = round(log_uniform(rng, 1, max(1, n_tokens / 4)))
    signal, rate = round(rng.uniform(1.5, 8.0), 2), round(rng.uniform(0.1, 0.7), 2)
    return SparseTokenProblem(n_tokens, n_signal, signal, rate)


def simulate(planned: Plan, trials: int) -> list[float]:
    """Return the errors of the planned classifier on fresh samples, again and again."""
    model, rate, errors = models.get(planned.model), planned.problem.positive_rate, []
    alpha = planned.n_samples / planned.dim
    for trial in range(trials):
        rng = np.random.default_rng([0, trial])
        try:
            trained = model.trial(planned.problem, alpha, planned.dim, planned.settings, rng)
            errors.append(float(trained.test_error))
        except models.OneClassError:
            errors.append(min(rate, 1.0 - rate))
    return errors


Study = tuple[SparseTokenProblem, int, int]
"""A problem, a dimension and a number of samples."""


def drawn_studies(seed: int, most: float, least: float = 0.0) -> Iterator[tuple[Study, float]]:
    """Draw studies in which something but not everything is learned; yield the optimum too.

    ``most`` is the largest number of numbers in a training set, which the time grows with;
    ``least`` is of dimensions per token of the training set.
    """
    rng = np.random.default_rng(seed)
    while True:
        dim, problem = round(log_uniform(rng, 20, 400)), random_problem(rng)
        rate = problem.positive_rate
        n_samples = round(log_uniform(rng, max(20, fewest_samples(rate)), 2000))
        n_tokens = n_samples * problem.n_tokens
        if n_tokens * dim > most or dim < least * n_tokens:
            continue
        reached = float(optimal(problem, n_samples / dim).from_nothing.test_error)
        if 0.003 < reached < 0.85 * min(rate, 1.0 - rate):
            yield (problem, dim, n_samples), reached


def default_plans(seed: int, most: float) -> Iterator[Plan]:
    """Plan for the error that is expected of about as many samples as were drawn."""
    for (problem, dim, n_samples), _ in drawn_studies(seed, most):
        expected = plan(problem=problem, dim=dim, n_samples=n_samples).error
        try:
            yield plan(problem=problem, dim=dim, error=float(f"{expected:.2g}"))
        except ValueError:  # the error of chance, or rounded beyond the floor
            continue


def check_default(*, problems: int = 40, trials: int = 5, seed: int = 2, most: float = 2e6) -> None:
    true, ratios = [], []
    table = Table(
        *(":4", "L:4d", "R:3d", "signal:6.2f", "rate:5.2f", "dim:4d", "n:6d"),
        *("optimum:7.4f", "planned:7.4f", "achieved:16s", "ratio:6.2f"),
    )
    for planned in islice(default_plans(seed, most), problems):
        mean, error = mean_and_error(simulate(planned, trials))
        true.append(bool(abs(mean - planned.error) <= 2.0 * error + 0.15 * planned.error))
        ratios.append((mean / planned.error, error / planned.error))
        p: Any = planned.problem
        facts = p.n_tokens, p.n_signal, p.signal, p.positive_rate, planned.dim, planned.n_samples
        table.add(
            "ok" if true[-1] else "MISS", *facts, planned.limit_error,
            planned.error, f"{mean:.4f} ± {error:.4f}", mean / planned.error,
        )  # fmt: skip
    print(f"within 15 % plus two standard errors: {sum(true)} of {len(true)}")
    ratio, noise = np.array(ratios).T
    off = np.exp(np.abs(np.log(ratio)))
    print(
        f"mean ratio {ratio.mean():.3f}, scatter {np.log(ratio).std():.3f}, worst factor "
        f"{off.max():.2f}, without two standard errors {np.max(off / (1.0 + 2.0 * noise)):.2f}"
    )


def fit_law(*, problems: int = 60, trials: int = 4) -> None:
    """Print what a finite sample costs the default classifier, and the law fitted to it.

    As many problems again have few tokens for their dimensions, where the law is off most.
    """
    rows: list[tuple[float, ...]] = []
    model = models.get(models.DEFAULT)
    table = Table("optimum:8.4f", "1/n:8.4f", "d/(nL):8.4f", "error:8.4f", "s.e.:8.4f", "dim:4d",
                  "problem:60")  # fmt: skip
    for seed, most, least in ((101, 1e6, 0.0), (177, 6e5, 0.3)):
        studies = islice(drawn_studies(seed, most, least), problems)
        for number, ((problem, dim, n_samples), reached) in enumerate(studies):
            alpha, errors = n_samples / dim, []
            for one in np.random.SeedSequence(seed + number).spawn(trials):
                rng = np.random.default_rng(one)
                with contextlib.suppress(models.OneClassError):
                    errors.append(float(model.trial(problem, alpha, dim, {}, rng).test_error))
            cost = 1.0 / n_samples, 1.0 / (alpha * problem.n_tokens)
            rows.append((reached, *cost, *mean_and_error(errors)))
            table.add(*rows[-1], dim, problem)
    best, by_sample, by_token, error, spread = np.array(rows).T
    columns = -np.log(best)[:, None] * np.stack([by_sample, by_token], axis=1)
    excess, weight = np.log(error / best), 1.0 / np.hypot(0.1, spread / error)
    law, *_ = np.linalg.lstsq(columns * weight[:, None], excess * weight, rcond=None)
    print(f"k = {law[0]:.2f}, c = {law[1]:.3f}")
    for name, part in (("all", slice(None)), ("few tokens", slice(problems, None))):
        scatter = np.std((excess - columns @ law)[part])
        noise = math.sqrt(np.mean((spread / error)[part] ** 2))
        print(f"{name}: scatter {scatter:.3f}, by the trials {noise:.3f}")


# What pilots say about a problem


def check_estimates(*, problems: int = 60, seed: int = 0, most: float = 2e6) -> None:
    """Compare estimated problems with those that were drawn."""
    rng, silent = np.random.default_rng(seed), 0
    rows: list[list[float]] = []
    while len(rows) + silent < problems:
        dim = round(log_uniform(rng, 20, 400))
        n_samples = round(dim * log_uniform(rng, 0.5, 8))
        n_tokens = round(log_uniform(rng, 4, 60))
        n_signal = int(rng.choice([1, 1, 2, 3]))
        signal, rate = float(rng.uniform(3.0, 7.0)), float(rng.uniform(0.25, 0.6))
        signal /= math.sqrt(n_signal)
        if n_samples * n_tokens * dim > most or n_samples * min(rate, 1.0 - rate) < 10:
            continue
        problem = SparseTokenProblem(n_tokens, n_signal, signal, rate)
        X, y = problem.sample(n_samples, dim, random_state=rng)
        cosine = float(optimal(problem, n_samples / dim).from_nothing.cosine)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PilotWarning)
            found = estimate_problem(X, y)
        print(f"{problem} dim={dim} n={n_samples} cosine {cosine:.2f}: {found}", flush=True)
        if not found.reliable:
            silent += 1
            continue
        by_signal, by_number = found.signal - signal, found.n_signal - n_signal
        within = [
            abs(by_signal) <= 2 * found.standard_errors["signal"],
            abs(by_number) <= 2 * found.standard_errors["n_signal"],
        ]
        rows.append([abs(by_signal / signal), by_number == 0, *within, found.holds, cosine])
    off, right, signal_in, number_in, holds, cosines = np.array(rows).T
    print(
        f"{len(rows)} told, {silent} not: signal off by {np.median(off):.1%} (median), n_signal "
        f"right {right.mean():.0%}, within two standard errors {signal_in.mean():.0%} and "
        f"{number_in.mean():.0%}, holds {holds.mean():.0%}; least cosine told {cosines.min():.2f}"
    )


if __name__ == "__main__":
    run(check_default, default=check_default, law=fit_law, estimate=check_estimates)
