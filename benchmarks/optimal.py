"""Optimal learning: time, random settings, signals in runs.

``python -m benchmarks.optimal`` prints the rows; ``... random [SETTINGS] [SEED]`` looks for a
learner that does better than the optimum; ``... learners [PROBLEMS] [SEED]`` sets our classifiers
beside it; ``... peers [PICTURE]`` asks how far others are from it, on twelve problems; ``... runs``
compares with the closed form of the published benchmark "shifted mean" (arXiv 2510.25759): bags of
15 to 45 instances, a run of which is shifted.
"""

import importlib.util
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegressionCV

from benchmarks.bag_networks import AttentionProbe, EmbeddedABMIL
from benchmarks.bag_peers import Embedded, InstanceMachine, Statistics
from benchmarks.report import Row, Table, at_most, cpu_seconds, print_rows
from sparsetoken import (
    AttentionClassifier,
    BayesAttentionClassifier,
    Population,
    Sequences,
    SparseTokenClassifier,
    SparseTokenProblem,
    TwoStepAttentionClassifier,
)
from sparsetoken.plotting import COLUMN, new_figure, plain_log, save_picture, styled
from sparsetoken.theory import (
    joint_risk,
    optimal,
    oracle_error,
    risk,
    training,
    two_step_risk,
)
from sparsetoken.theory.token_scores import log_likelihood_ratio
from sparsetoken.vocabulary import COLORS

LENGTHS = (1, 10, 5000, 100_000)


def logistic_by_folds() -> Any:
    """Return a logistic regression, its ridge chosen by the loss: an AUC may want no threshold."""
    how = {"cv": 5, "scoring": "neg_log_loss", "max_iter": 5000}
    return LogisticRegressionCV(**how, l1_ratios=(0.0,), use_legacy_attributes=False)


Learners = dict[str, Callable[[], Any]]
LEARNERS: Learners = {
    "bayes": lambda: BayesAttentionClassifier(random_state=0),
    "sparsetoken": lambda: SparseTokenClassifier(random_state=0, n_trees=100),
}
PEERS: Learners = {
    "mean token, logistic": lambda: Embedded(logistic_by_folds()),
    "extra trees on statistics": lambda: Statistics(ExtraTreesClassifier(500, random_state=0)),
    "MI-SVM, linear": lambda: InstanceMachine("linear", 0.01),
    "two-step, published protocol": lambda: TwoStepAttentionClassifier(random_state=0),
    "ABMIL (torchmil)": EmbeddedABMIL,
    "attention probe (torch)": AttentionProbe,
    "AttentionClassifier": lambda: AttentionClassifier(random_state=0),
    "SparseTokenClassifier": lambda: SparseTokenClassifier(random_state=0),
    "BayesAttentionClassifier": lambda: BayesAttentionClassifier(random_state=0),
}
DIM, DRAWS = 40, 2  # of the problems for peers


def rows() -> Iterator[Row]:
    for n_tokens in LENGTHS:
        problem = SparseTokenProblem(n_tokens, 1, 5.5, 0.4)
        alphas = iter(np.geomspace(0.3, 30.0, 40))  # none twice
        for number in ("test_error", "auc"):
            used = 1e3 * cpu_seconds(lambda: getattr(optimal(problem, next(alphas)), number))  # noqa: B023
            yield at_most(f"{number}, L={n_tokens}, after the first call", used, 20.0, "ms")


def random_problem(rng: np.random.Generator) -> Any:
    """Return a problem or a population, some with label errors and some with runs."""

    def one() -> SparseTokenProblem:
        n_tokens = round(math.exp(rng.uniform(0.0, math.log(60.0))))
        n_signal = int(rng.integers(1, min(n_tokens, 4) + 1)) if rng.random() < 0.4 else 1
        signal, rate = rng.uniform(0.5, 6.0), rng.uniform(0.1, 0.9)
        return SparseTokenProblem(n_tokens, n_signal, signal, rate, bool(rng.random() < 0.3))

    if rng.random() < 0.75:
        return one()
    errors = rng.uniform(0.0, 0.3, 2) if rng.random() < 0.5 else (0.0, 0.0)
    kinds = [one() for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.5:
        kinds = [replace(kind, n_tokens=max(kinds[0].n_tokens, 4)) for kind in kinds]
    return Population(kinds, label_errors=errors)


def rivals(problem: Any, alpha: float, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Return the errors of other learners with as many samples, where they converge."""
    split = rng.uniform(0.2, 0.8)
    yield "pooled", risk(problem, "pooled", alpha=alpha, reg="best").test_error
    if isinstance(problem, SparseTokenProblem) and not problem.in_runs:
        yield "vectorized", risk(problem, "vectorized", alpha=alpha, reg="best").test_error
    two = two_step_risk(
        problem, alpha0=split * alpha, alpha1=(1 - split) * alpha, reg="best", n_points=1024
    )
    if two.converged:
        yield "two-step", two.test_error
    rates = {"lr_query": rng.uniform(2.0, 20.0), "lr_readout": rng.uniform(0.5, 4.0)}
    for batches, samples in (("fresh", alpha / 3), ("reused", alpha)):
        steps = training(
            problem, steps=3, alpha=samples, batches=batches, n_points=1024, **rates
        ).test_error
        yield f"training, {batches}", min(steps)
    if max(problem.lengths) <= 4 and rng.random() < 0.2:  # it takes minutes
        ridge = 10.0 ** rng.uniform(-1.5, -0.5)
        joint = joint_risk(problem, alpha=alpha, reg_query=ridge, reg_readout=ridge, n_points=256)
        if joint.stable:
            yield "joint", joint.test_error


def random_settings(count: int, seed: int = 0) -> None:
    """Count the settings where something beats the optimum or it beats the known direction."""
    closest: dict[str, float] = {}
    tally: Counter[str] = Counter()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        problem, alpha = random_problem(rng), math.exp(rng.uniform(math.log(0.2), math.log(8.0)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best = optimal(problem, alpha, n_points=1024)
            floor = oracle_error(problem, "bayes", n_points=4096)
            unlabelled = optimal(problem, alpha, 0.5 * alpha, n_points=1024)
            more = optimal(problem, 1.5 * alpha, n_points=1024)
            others = list(rivals(problem, alpha, rng))
        bar = 3.0 * math.hypot(best.uncertainty, floor.uncertainty) + 1e-9
        tally["below the Bayes error"] += best.test_error < floor - bar
        tally["unlabelled samples hurt"] += unlabelled.overlap < best.overlap - 1e-9
        tally["unlabelled better than labelled"] += unlabelled.overlap > more.overlap + 1e-9
        tally["hard"] += best.hard
        for name, error in others:
            bars = 3.0 * math.hypot(best.uncertainty, getattr(error, "uncertainty", 1e-3))
            tally[f"{name}: compared"] += 1
            beaten = error < best.test_error - bars
            tally[f"{name}: better"] += beaten
            closest[name] = min(closest.get(name, math.inf), error / max(best.test_error, 1e-12))
            if beaten:
                print("BETTER", name, problem, alpha, best, error, flush=True)
        if number % 50 == 49:
            print(number + 1, dict(tally), flush=True)
    print({name: round(ratio, 4) for name, ratio in closest.items()}, "least error / optimum")


def _errors(
    problem: Any, n_samples: int, dim: int, draws: int, learners: Learners = LEARNERS
) -> dict[str, list[float]]:
    """Return test errors of classifiers, told nothing but the samples."""
    found: dict[str, list[float]] = {name: [] for name in learners}
    n_new = int(np.clip(2e7 / (problem.n_tokens * dim), 500, 4000))
    for draw in range(draws):
        X, y, truth = problem.sample(n_samples, dim, random_state=1000 + draw, return_truth=True)
        new, labels = problem.sample(
            n_new, dim, random_state=2000 + draw, direction=truth.direction
        )
        if min(np.bincount(y, minlength=2)) < 3:
            continue
        train, test = Sequences.from_list(list(X)), Sequences.from_list(list(new))
        for name, learner in learners.items():
            scores = learner().fit(train, y).decision_function(test)
            found[name].append(float(np.mean((scores > 0) != labels)))
    return found


def peers(picture: str | None = None) -> None:
    """Divide everybody's error by the optimum, on problems from few tokens to many."""
    learners = dict(PEERS)
    for name, needs in (("attention probe (torch)", "torch"), ("ABMIL (torchmil)", "torchmil")):
        if importlib.util.find_spec(needs) is None:
            print(f"{name}: skipped, {needs} is not installed")
            del learners[name]
    ratios: dict[str, list[float]] = {name: [] for name in learners}
    columns = ("L:3d", "R:2d", "signal:5.2f", "samples:5d", "optimum:7.4f")
    table = Table(*columns, *(f"{name}:5.2f" for name in learners))
    for n_tokens, n_signal, n_samples in product((5, 15, 40), (1, 3), (60, 200)):
        signal = math.sqrt((2.0 * math.log(n_tokens) + 10.0) / n_signal)
        problem = SparseTokenProblem(n_tokens, n_signal, signal)
        floor = float(optimal(problem, n_samples / DIM).test_error)
        for name, errors in _errors(problem, n_samples, DIM, DRAWS, learners).items():
            ratios[name].append(float(np.mean(errors)) / floor)
        last = [values[-1] for values in ratios.values()]
        table.add(n_tokens, n_signal, signal, n_samples, floor, *last)
    for name, values in ratios.items():
        print(f"{name:<30} median {np.median(values):5.2f}, worst {max(values):5.2f}")
    if picture:
        draw_peers(ratios, picture)


def draw_peers(ratios: dict[str, list[float]], picture: str) -> None:
    """Draw each problem as a point, and the median of each learner as a line."""
    with styled():
        figure, ((axes,),) = new_figure(1, 1, width=1.5 * COLUMN, height=2.6)
        for row, (name, values) in enumerate(ratios.items()):
            color = COLORS[0] if name.endswith("Classifier") else "0.45"
            axes.plot(values, np.full(len(values), row), "o", color=color, alpha=0.5, ms=3.5)
            axes.plot([np.median(values)] * 2, [row - 0.35, row + 0.35], color=color, lw=2.0)
            axes.text(
                1.01,
                row,
                f"{np.median(values):.2f}",
                transform=axes.get_yaxis_transform(),
                va="center",
            )
        axes.axvline(1.0, color="black", lw=0.8)
        axes.set_xscale("log")
        plain_log(axes.xaxis)
        axes.set_yticks(range(len(ratios)), list(ratios))
        axes.invert_yaxis()
        axes.set_xlabel("test error / error of the best possible learner")
        axes.text(1.01, -1.0, "median", transform=axes.get_yaxis_transform(), va="center")
    save_picture(figure, picture)


def learners(n_problems: int = 30, seed: int = 2026) -> None:
    """Set classifiers beside the optimum on random problems of any shape."""
    rng = np.random.default_rng(seed)
    ratios: dict[str, list[float]] = {name: [] for name in LEARNERS}
    for _ in range(n_problems):
        size, n_samples = math.inf, 0
        while size > 2.5e7 or n_samples < 20:
            lowest, highest = np.log([20, 0.5, 2]), np.log([400, 8, 200])
            drawn, alpha, length = np.exp(rng.uniform(lowest, highest)).tolist()
            dim, n_tokens = int(drawn), int(length)
            n_samples = int(alpha * dim)
            size = n_samples * n_tokens * dim
        n_signal = 1 if rng.random() < 0.7 else int(rng.integers(2, 5))
        n_signal = min(n_signal, max(1, n_tokens // 2))
        strength = math.sqrt((2.0 * math.log(n_tokens) + rng.uniform(4.0, 14.0)) / n_signal)
        problem = SparseTokenProblem(n_tokens, n_signal, strength, float(rng.uniform(0.3, 0.7)))
        floor = float(optimal(problem, n_samples / dim).test_error)
        line = f"{n_samples:5d} x {n_tokens:3d} x {dim:3d}, R={n_signal}, θ={strength:.2f}:"
        line += f" {floor:.4f}"
        errors = _errors(problem, n_samples, dim, 6 if size < 4e6 else 3)
        for (name, values), most in zip(errors.items(), (1.15, 1.3), strict=True):
            bar = float(np.std(values, ddof=1)) / math.sqrt(len(values))
            ratios[name].append(float(np.mean(values)) / floor)
            above = "" if np.mean(values) <= most * floor + 3.0 * bar else " ABOVE"
            line += f" | {name} {np.mean(values):.4f} ± {bar:.4f}{above}"
        print(line, flush=True)
    print("median ratio:", {name: round(float(np.median(r)), 3) for name, r in ratios.items()})


def shifted_mean(n_bags: int = 20_000) -> None:
    """Compare the posteriors: K features are shifted by Δ, so the strength is Δ√K."""
    rng = np.random.default_rng(0)
    for run, features, shift in ((3, 1, 3.0), (5, 2, 1.0)):
        strength = shift * math.sqrt(features)
        kinds = [
            SparseTokenProblem(length, run, strength, contiguous=True) for length in range(15, 46)
        ]
        wrong, gap = [], 0.0
        for kind in kinds:
            positive = rng.random(n_bags // len(kinds)) < 0.5
            starts = rng.integers(0, kind.n_tokens - run + 1, positive.size)
            after = np.arange(kind.n_tokens) - starts[:, np.newaxis]
            shifted = (after >= 0) & (after < run) & positive[:, np.newaxis]
            bags = rng.standard_normal((*shifted.shape, features)) + shift * shifted[:, :, None]
            # Mean over places of the density with the run there, over that without.
            gains = (shift * bags - 0.5 * shift**2).sum(axis=2)
            places = [gains[:, u : u + run].sum(axis=1) for u in range(kind.n_tokens - run + 1)]
            posterior = 1.0 / (1.0 + 1.0 / np.exp(places).mean(axis=0))
            ours = log_likelihood_ratio(bags.sum(axis=2) / math.sqrt(features), kind)
            gap = max(gap, float(np.abs(posterior - 1.0 / (1.0 + np.exp(-ours))).max()))
            wrong.append((posterior > 0.5) != positive)
        found = oracle_error(Population(kinds), "bayes", n_points=65_536)
        counted = np.concatenate(wrong)
        bar = math.hypot(found.uncertainty, counted.std() / math.sqrt(counted.size))
        print(
            f"R={run} K={features} Δ={shift}: posteriors differ by at most {gap:.1e}; error "
            f"{counted.mean():.4f} | {found:.4f} ({(counted.mean() - found) / bar:+.1f} se)"
        )


if __name__ == "__main__":
    topic, *given = sys.argv[1:] or ["rows"]
    numbers = [int(value) for value in given if value.isdecimal()]
    if topic == "peers":
        peers(*given)
    elif topic == "random":
        random_settings(*(numbers or [500]))
    elif topic == "learners":
        learners(*(numbers or [30]))
    elif topic == "runs":
        shifted_mean()
    else:
        print_rows("optimal", rows())
