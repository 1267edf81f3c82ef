"""Several kinds of signal: ``python -m benchmarks.kinds [PROBLEMS] [SEED]``.

Draws problems of one to five kinds, of 20 to 300 features, with 0.5 to 8 samples a dimension and
kind: errors of our classifiers beside the optimum, and how often the number of kinds is found. The
theory's optimum is that of many dimensions; with few samples the best at this size is sampled.

``... bags [FOLDER]`` compares posterior heads of one direction with those of several: bags of
digits whose needles are of several classes, messages with several kinds of words, and stored bags.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, logsumexp
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.families import STORED, needle_digits, stored_bags, train_and_test
from benchmarks.peers import QUICK
from benchmarks.report import Table, mean_and_error, run
from sparsetoken import BayesAttentionClassifier, Sequences, SparseTokenProblem
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


FEW = 60  # samples for which the best possible is sampled
SWEEPS, WARM = 3000, 1000


def best_predictions(problem: SparseTokenProblem, X: Any, y: Any, new: Any, seed: int) -> Any:
    """Return the labels predicted by the posterior, sampled, of a learner that knows all numbers.

    Its prior of the directions is Gaussian. Gibbs sampling draws in turn which token carries which
    kind in each positive sample, and the directions; it is cooled from three random starts.
    """
    rng, theta, n_kinds = np.random.default_rng(seed), problem.signal, problem.n_kinds
    positives, dim = X[y == 1], X.shape[2]
    chance = np.zeros(len(new))

    def log_ratios(tokens: Any, directions: Any) -> Any:
        along = theta * tokens @ directions.T - 0.5 * theta**2 * (directions**2).sum(axis=1)
        return along.reshape(len(tokens), -1)  # a column for each token and kind

    for _ in range(3):
        directions = rng.standard_normal((n_kinds, dim)) / math.sqrt(dim)
        for sweep in range(SWEEPS):
            belief = min(1.0, 0.1 + sweep / (0.7 * WARM))
            odds = belief * log_ratios(positives, directions)
            place, kind = np.divmod((odds + rng.gumbel(size=odds.shape)).argmax(axis=1), n_kinds)
            carriers = positives[np.arange(len(positives)), place]
            for k in range(n_kinds):
                mine = carriers[kind == k]
                precision = dim + belief * theta**2 * len(mine)
                noise = rng.standard_normal(dim) / math.sqrt(precision)
                directions[k] = belief * theta * mine.sum(axis=0) / precision + noise
            if sweep >= WARM and sweep % 10 == 0:
                odds = log_ratios(new, directions)
                mean = logsumexp(odds, axis=1) - math.log(odds.shape[1])
                chance += expit(mean + logit(problem.positive_rate))
    return chance > 0.5 * 3 * (SWEEPS - WARM) / 10


def main(problems: int = 30, seed: int = 2026) -> None:
    names = ("bayes", "sparsetoken")
    ratios, above, right = [], 0, []
    table = Table("samples:7d", "tokens:6d", "dim:4d", "θ:5.2f", "kinds:5d", "found:12",
                  "optimum:7.4f", "at this size:12s",
                  *(f"{name}:20s" for name in names))  # fmt: skip
    for number in range(problems):
        problem, n_samples, dim = random_problem(np.random.default_rng([seed, number]))
        floor = float(optimal(problem, n_samples / dim).test_error)
        errors: dict[str, list[float]] = {name: [] for name in names}
        found, best = [], []
        for draw in range(4 if n_samples * problem.n_tokens * dim < 2e6 else 2):
            seeds = 1000 * seed + draw, 1000 * seed + 500 + draw
            X, y, new, labels = train_and_test(problem, n_samples, dim, 2000, seeds)
            fitted = {name: QUICK[name]().fit(X, y) for name in names}
            found.append(fitted["bayes"].n_kinds_)
            if n_samples < FEW:
                predicted = best_predictions(problem, X, y, new, draw)
                best.append(float(np.mean(predicted != labels)))
            for name, clf in fitted.items():
                errors[name].append(1.0 - clf.score(new, labels))
        right += [one == problem.n_kinds for one in found]
        limit, floor = floor, max(floor, float(np.mean(best or 0.0)))
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
        table.add(*size, found, limit, f"{floor:.4f}" if best else "", *cells)
    print("above 1.3 times the optimum and three standard errors:", above)
    print(
        "median ratio:", dict(zip(names, np.median(ratios, axis=0).round(3).tolist(), strict=True))
    )
    print(f"number of kinds right: {np.mean(right):.2f} of {len(right)} fits")


def messages(n_kinds: int) -> tuple[Any, Any]:
    """Return messages of 10 to 40 words of 30 topics; a positive one has a word of a rare topic.

    Words are vectors of 40 features, their topic's and a heavy-tailed part of their own.
    """
    rng = np.random.default_rng(0)
    topics, rare = (1.5 * rng.standard_normal((count, 40)) for count in (30, n_kinds))
    y, bags = (np.arange(300) < 150).astype(np.int64), []
    for label in y:
        length, mix = rng.integers(10, 41), rng.dirichlet(np.full(30, 0.1))
        bag = topics[rng.choice(30, length, p=mix)] + rng.standard_t(4, (length, 40))
        if label:
            word = rare[rng.integers(n_kinds)] + rng.standard_t(4, 40)
            bag[rng.integers(length)] = word
        bags.append(bag)
    return Sequences.from_list(bags), y


def compare_on_bags(folder: Path | None = None, *, repeats: int = 2) -> None:
    """Compare heads of one direction and of several, in five folds, the same for both."""
    digits = ((9,), (3, 9), (2, 3, 9), (1, 2, 3, 9))
    sets = {f"digits {set(n)}": needle_digits(needles=n) for n in digits}
    sets |= {f"messages, {k} kinds": messages(k) for k in (1, 2, 4)}
    for name in STORED if folder else ():
        sets[name] = stored_bags(Path(str(folder), f"{name}.npz"))
    table = Table("set:20", "kinds found:30", "accuracy of one:8.3f", "of several:8.3f", "gain:16",
                  "AUC of one:8.3f", "of several:8.3f", "gain:16")  # fmt: skip
    for name, (X, y) in sets.items():
        rows, found = [], []
        for seed in range(repeats):
            for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(y, y):
                row = []
                for n_kinds in (1, "auto"):
                    clf = BayesAttentionClassifier(n_kinds=n_kinds, random_state=0)
                    scores = clf.fit(X[train], y[train]).decision_function(X[test])
                    accuracy = float(np.mean((scores > 0) == y[test]))
                    row.append((accuracy, float(roc_auc_score(y[test], scores))))
                rows.append(row)
                found.append(clf.n_kinds_)
        cells: list[Any] = []
        for one, several in np.array(rows).transpose(2, 1, 0):
            gain, bar = mean_and_error(several - one)
            cells += [one.mean(), several.mean(), f"{gain:+.3f} ± {bar:.3f}"]
        table.add(name, found, *cells)


if __name__ == "__main__":
    run(main, bags=compare_on_bags)
