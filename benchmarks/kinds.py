"""Several kinds of signal: ``python -m benchmarks.kinds [PROBLEMS] [SEED]``.

Draws problems of one to five kinds, of 20 to 300 features, with 0.5 to 8 samples a dimension and
kind: errors of our classifiers beside the optimum of many dimensions, and how often the number of
kinds is found.

``... bags`` compares posterior heads of one direction with those of several: bags of digits whose
needles are of several classes, and messages with several kinds of words.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.families import needle_digits
from benchmarks.optimal import Study, beside_optimum, pairs
from benchmarks.peers import QUICK
from benchmarks.report import Table, mean_and_error, run
from sparsetoken import BayesAttentionClassifier, Sequences, SparseTokenProblem


def random_studies(problems: int, seed: int) -> Iterator[Study]:
    """Draw problems of several kinds, with sizes and draws."""
    for number in range(problems):
        rng, size, n_samples = np.random.default_rng([seed, number]), math.inf, 0
        while size > 1e7 or n_samples < 20:
            n_kinds = int(rng.integers(1, 6))
            lowest, highest = np.log([20, 0.5, 5]), np.log([300, 8, 60])
            drawn, alpha, length = np.exp(rng.uniform(lowest, highest)).tolist()
            dim, n_tokens, n_samples = int(drawn), int(length), int(alpha * n_kinds * int(drawn))
            signal = math.sqrt(2.0 * math.log(n_kinds * n_tokens) + rng.uniform(4.0, 14.0))
            size = n_samples * n_tokens * dim
        problem = SparseTokenProblem(n_tokens, 1, signal, n_kinds=n_kinds)
        draws = 4 if size < 2e6 else 2
        yield problem, n_samples, dim, pairs(draws, 1000 * seed, 1000 * seed + 500)


def main(problems: int = 30, seed: int = 2026) -> None:
    right: list[bool] = []

    def count(problem: SparseTokenProblem, name: str, fitted: Any) -> None:
        if name == "bayes":
            right.append(fitted.n_kinds_ == problem.n_kinds)

    makers = {name: QUICK[name] for name in ("bayes", "sparsetoken")}
    beside_optimum(makers, random_studies(problems, seed), count)
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


def compare_on_bags(*, repeats: int = 2) -> None:
    """Compare heads of one direction and of several, in five folds, the same for both."""
    digits = ((9,), (3, 9), (2, 3, 9), (1, 2, 3, 9))
    sets = {f"digits {set(n)}": needle_digits(needles=n) for n in digits}
    sets |= {f"messages, {k} kinds": messages(k) for k in (1, 2, 4)}
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
