"""How far from the best possible learner? ``python -m benchmarks.optimal [COMMAND]``.

``learners [PROBLEMS] [SEED]`` sets our classifiers beside the optimum on random problems; ``peers
[PICTURE]`` asks how far others are from it, on twelve problems; ``unlabelled [PROBLEMS] [SEED]``
adds 300 to 400 unlabelled sequences to 20 to 60 labelled ones: how near the optimum, and never
worse than without them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks.families import train_and_test
from benchmarks.peers import (
    MODELS,
    QUICK,
    Embedded,
    InstanceMachine,
    Makers,
    installed,
    logistic_by_folds,
)
from benchmarks.report import Table, mean_and_error, run
from sparsetoken import Sequences, SparseTokenProblem, TwoStepAttentionClassifier
from sparsetoken.plotting import COLUMN, new_figure, plain_log, save_picture, styled
from sparsetoken.theory import optimal
from sparsetoken.vocabulary import COLORS

PEERS: Makers = {
    # The ridge is chosen by the loss: an AUC may want no threshold.
    "mean token, logistic": lambda: Embedded(logistic_by_folds("neg_log_loss")),
    "extra trees on statistics": MODELS["extra"],
    "MI-SVM, linear": lambda: InstanceMachine("linear", 0.01),
    "two-step, published protocol": lambda: TwoStepAttentionClassifier(random_state=0),
    "ABMIL (torchmil)": MODELS["abmil"],
    "attention probe (torch)": MODELS["probe"],
    "AttentionClassifier": MODELS["attention"],
    "SparseTokenClassifier": MODELS["sparsetoken"],
    "BayesAttentionClassifier": MODELS["bayes"],
}
DIM, DRAWS = 40, 2  # of the problems for peers


Seeds = list[tuple[int, int]]
"""Of the samples to train on and of the new ones, for each draw."""
Study = tuple[Any, int, int, Seeds]
"""Problem, samples, dimension and draws."""


def pairs(draws: int, first: int = 1000, new: int = 2000) -> Seeds:
    return [(first + draw, new + draw) for draw in range(draws)]


def fits(
    makers: Makers, problem: Any, size: tuple[int, int], n_new: int, seeds: Seeds
) -> Iterator[tuple[str, Any, float]]:
    """Yield name, fit and test error of classifiers, told nothing but so many samples."""
    for pair in seeds:
        X, y, new, labels = train_and_test(problem, *size, n_new, pair)
        if min(np.bincount(y, minlength=2)) < 3:
            continue
        train, test = Sequences.from_list(list(X)), Sequences.from_list(list(new))
        for name, make in makers.items():
            fitted = make().fit(train, y)
            yield name, fitted, float(np.mean((fitted.decision_function(test) > 0) != labels))


def beyond(errors: Any, optimum: float, n_new: int) -> bool:
    """Whether the mean error exceeds 1.3 times the optimum by more than three standard errors."""
    mean, bar = mean_and_error(errors)
    bar = math.hypot(bar, math.sqrt(optimum * (1.0 - optimum) / n_new / len(errors)))
    return mean > 1.3 * optimum + 3.0 * bar


def beside_optimum(
    makers: Makers,
    studies: Iterable[Study],
    watch: Callable[[Any, str, Any], None] = lambda *_: None,
) -> dict[str, Any]:
    """Divide everybody's error by the optimum; ``watch`` is called with problem, name and fit."""
    columns = ("samples:7d", "tokens:6d", "dim:4d", "R:2d", "kinds:5d", "θ:5.2f", "optimum:7.4f")
    table, rows = Table(*columns, *(f"{name}:6.3f" for name in makers)), []
    far = Counter(dict.fromkeys(makers, 0))
    for problem, n_samples, dim, seeds in studies:
        n_new = int(np.clip(2e7 / (problem.n_tokens * dim), 500, 4000))
        errors: dict[str, list[float]] = {name: [] for name in makers}
        for name, fitted, error in fits(makers, problem, (n_samples, dim), n_new, seeds):
            errors[name].append(error)
            watch(problem, name, fitted)
        best = float(optimal(problem, n_samples / dim).test_error)
        far.update(name for name in makers if beyond(errors[name], best, n_new))
        rows.append([float(np.mean(each)) / best for each in errors.values()])
        facts = problem.n_tokens, dim, problem.n_signal, problem.n_kinds, problem.signal
        table.add(n_samples, *facts, best, *rows[-1])
    ratios = dict(zip(makers, np.array(rows).T, strict=True))
    for name, values in ratios.items():
        print(
            f"{name:<30} median {np.median(values):6.3f}, worst {max(values):6.3f}, beyond 1.3 "
            f"times the optimum plus three standard errors {far[name]} of {len(rows)}"
        )
    return ratios


def peers(picture: str | None = None) -> None:
    """Set everybody beside the optimum, on problems from few tokens to many."""
    studies = []
    for n_tokens, n_signal, n_samples in product((5, 15, 40), (1, 3), (60, 200)):
        signal = math.sqrt((2.0 * math.log(n_tokens) + 10.0) / n_signal)
        problem = SparseTokenProblem(n_tokens, n_signal, signal)
        studies.append((problem, n_samples, DIM, pairs(DRAWS)))
    ratios = beside_optimum({name: PEERS[name] for name in installed([*PEERS])}, studies)
    if picture:
        draw_peers(ratios, picture)


def draw_peers(ratios: dict[str, Any], picture: str) -> None:
    """Draw each problem as a point, and the median of each learner as a line."""
    with styled():
        figure, ((axes,),) = new_figure(1, 1, width=1.5 * COLUMN, height=2.6)
        beside = {"transform": axes.get_yaxis_transform(), "va": "center"}
        for row, (name, values) in enumerate(ratios.items()):
            color, median = COLORS[0] if name.endswith("Classifier") else "0.45", np.median(values)
            axes.plot(values, np.full(len(values), row), "o", color=color, alpha=0.5, ms=3.5)
            axes.plot([median] * 2, [row - 0.35, row + 0.35], color=color, lw=2.0)
            axes.text(1.01, row, f"{median:.2f}", **beside)
        axes.axvline(1.0, color="black", lw=0.8)
        axes.set_xscale("log")
        plain_log(axes.xaxis)
        axes.set_yticks(range(len(ratios)), list(ratios))
        axes.invert_yaxis()
        axes.set_xlabel("test error / error of the best possible learner")
        axes.text(1.01, -1.0, "median", **beside)
    save_picture(figure, picture)


def random_studies(problems: int, seed: int) -> Iterator[Study]:
    """Draw problems of any shape, with sizes and draws."""
    rng = np.random.default_rng(seed)
    for _ in range(problems):
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
        yield problem, n_samples, dim, pairs(6 if size < 4e6 else 3)


def learners(problems: int = 30, seed: int = 2026) -> None:
    """Set our classifiers beside the optimum on random problems."""
    ours = {name: QUICK[name] for name in ("bayes", "sparsetoken")}
    beside_optimum(ours, random_studies(problems, seed))


def unlabelled_errors(
    problem: SparseTokenProblem, dim: int, labelled: int, unlabelled: int, seed: int
) -> tuple[float, float]:
    """Return the errors with the unlabelled sequences and without them."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(dim)
    draw: dict[str, Any] = {"random_state": rng, "direction": direction / np.linalg.norm(direction)}
    y = np.zeros(1)
    while min(y[:labelled].sum(), (1 - y[:labelled]).sum()) < 2:
        X, y = problem.sample(labelled + unlabelled, dim, **draw)
    new, y_new = problem.sample(4000, dim, **draw)
    helped = MODELS["bayes"]().fit(X, np.where(np.arange(len(y)) < labelled, y, -1))
    alone = MODELS["bayes"]().fit(X[:labelled], y[:labelled])
    return 1.0 - helped.score(new, y_new), 1.0 - alone.score(new, y_new)


def unlabelled(problems: int = 10, seed: int = 0) -> None:
    """Compare the error with unlabelled sequences with the optimum, and with that without them."""
    rng, over, worse = np.random.default_rng(seed), 0, 0
    table = Table("labelled:8d", "unlabelled:10d", "without:8.4f", "with:15s", "optimum:8.4f",
                  "ratio:5.2f", "dim:4d", "problem:60")  # fmt: skip
    for index in range(problems):
        n_tokens, n_signal = int(rng.integers(5, 31)), int(rng.choice([1, 1, 1, 2]))
        signal = float(rng.uniform(4.5, 6.5)) / math.sqrt(n_signal)
        problem = SparseTokenProblem(n_tokens, n_signal, signal, float(rng.uniform(0.2, 0.6)))
        sizes = int(rng.integers(20, 61)), int(rng.integers(300, 401))
        dim = int(rng.integers(30, 101))
        best = optimal(problem, sizes[0] / dim, sizes[1] / dim).test_error
        seeds = [seed + 1000 * index + draw for draw in range(6)]
        each = np.array([unlabelled_errors(problem, dim, *sizes, one) for one in seeds])
        (helped, bar), gain = mean_and_error(each[:, 0]), mean_and_error(each[:, 1] - each[:, 0])
        over += beyond(each[:, 0], best, 4000)
        worse += gain[0] < -3.0 * gain[1]
        cells = f"{helped:7.4f} ± {bar:.4f}", best, helped / best, dim, problem
        table.add(*sizes, each[:, 1].mean(), *cells)
    print(f"{over} of {problems} beyond 1.3 times the optimum plus three standard errors; "
          f"{worse} worse than without")  # fmt: skip


if __name__ == "__main__":
    run(learners, learners=learners, peers=peers, unlabelled=unlabelled)
