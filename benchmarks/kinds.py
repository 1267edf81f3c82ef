"""Several kinds of signal: ``python -m benchmarks.kinds [PROBLEMS] [SEED]``.

Draws problems of one to five kinds, of 20 to 300 features, with 0.5 to 8 samples a dimension and
kind: errors of our classifiers beside the optimum, and how often the number of kinds is found.
"""

import math

import numpy as np

from benchmarks.families import train_and_test
from benchmarks.peers import QUICK
from benchmarks.report import Table, mean_and_error, run
from sparsetoken import SparseTokenProblem
from sparsetoken.theory import optimal


def random_problem(rng: np.random.Generator) -> tuple[SparseTokenProblem, int, int]:
    """Return a problem, a number of samples and a dimension."""
    while True:
        n_kinds = int(rng.integers(1, 6))
        lowest, highest = np.log([20, 0.5, 5]), np.log([300, 8, 60])
        drawn, alpha, length = np.exp(rng.uniform(lowest, highest)).tolist()
        dim, n_tokens, n_samples = int(drawn), int(length), int(alpha * n_kinds * int(drawn))
        signal = math.sqrt(2.0 * math.log(n_kinds * n_tokens) + rng.uniform(4.0, 14.0))
        problem = SparseTokenProblem(n_tokens, 1, signal, n_kinds=n_kinds)
        if n_samples >= 20 and n_samples * n_tokens * dim <= 1e7:
            return problem, n_samples, dim


def main(problems: int = 30, seed: int = 2026) -> None:
    names = ("bayes", "sparsetoken")
    ratios, above, right = [], 0, []
    table = Table("samples:7d", "tokens:6d", "dim:4d", "θ:5.2f", "kinds:5d", "found:12",
                  "optimum:7.4f", *(f"{name}:20s" for name in names))  # fmt: skip
    for number in range(problems):
        problem, n_samples, dim = random_problem(np.random.default_rng([seed, number]))
        floor = float(optimal(problem, n_samples / dim).test_error)
        errors: dict[str, list[float]] = {name: [] for name in names}
        found = []
        for draw in range(4 if n_samples * problem.n_tokens * dim < 2e6 else 2):
            seeds = 1000 * seed + draw, 1000 * seed + 500 + draw
            X, y, new, labels = train_and_test(problem, n_samples, dim, 2000, seeds)
            fitted = {name: QUICK[name]().fit(X, y) for name in names}
            found.append(fitted["bayes"].n_kinds_)
            for name, clf in fitted.items():
                errors[name].append(1.0 - clf.score(new, labels))
        right += [one == problem.n_kinds for one in found]
        cells, relative = [], []
        for values in errors.values():
            mean, bar = mean_and_error(values)
            bar = math.hypot(bar, math.sqrt(floor * (1.0 - floor) / 2000 / len(values)))
            far = mean > 1.3 * floor + 3.0 * bar
            above += far
            relative.append(mean / floor)
            cells.append(f"{mean:.4f} ± {bar:.4f}{' ABOVE' * far}")
        ratios.append(relative)
        size = n_samples, problem.n_tokens, dim, problem.signal, problem.n_kinds
        table.add(*size, found, floor, *cells)
    print("above 1.3 times the optimum and three standard errors:", above)
    print(
        "median ratio:", dict(zip(names, np.median(ratios, axis=0).round(3).tolist(), strict=True))
    )
    print(f"number of kinds right: {np.mean(right):.2f} of {len(right)} fits")


if __name__ == "__main__":
    run(main)
