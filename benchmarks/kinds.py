"""Several kinds of signal: classifiers beside the optimum, and before and after on real bags.

``python -m benchmarks.kinds [PROBLEMS] [SEED]`` draws problems of one to five kinds, of 20 to 300
features, with 0.5 to 8 samples a dimension and kind: errors of our classifiers beside the optimum,
and how often the number of kinds is found. ``... bags FOLDER`` compares heads of one direction with
heads of several: bags of digits whose needles are of several classes, messages with several kinds
of words, and the stored bags (``benchmarks.data``), in two rounds of five folds.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.bags import folds_of
from benchmarks.families import bag_sets, needle_digits
from benchmarks.peers import QUICK
from benchmarks.report import Table, mean_and_error, plus_minus, run
from sparsetoken import (
    BayesAttentionClassifier,
    Sequences,
    SparseTokenClassifier,
    SparseTokenProblem,
)
from sparsetoken.estimators.posterior_heads import PosteriorHeads
from sparsetoken.theory import optimal

STORED = ["tiger", "fox", "musk1", "brown_creeper"]


class OneKind(SparseTokenClassifier):
    """The stack with posterior heads of one direction."""

    def _members(self, n_tokens: int | None) -> list[Any]:
        members = super()._members(n_tokens)
        for member in members:
            if isinstance(member, PosteriorHeads):
                member.wanted_kinds = 1
        return members


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


def learners(problems: int = 30, seed: int = 2026) -> None:
    """Set classifiers beside the optimum."""
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
            X, y, truth = problem.sample(
                n_samples, dim, random_state=1000 * seed + draw, return_truth=True
            )
            new, labels = problem.sample(
                2000, dim, random_state=1000 * seed + 500 + draw, direction=truth.directions
            )
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


def messages(n_kinds: int, n_messages: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Return messages of 10 to 40 words of 30 topics; a positive one has a word of a rare topic.

    Words are vectors of 40 features, their topic's and a heavy-tailed part of their own.
    """
    rng = np.random.default_rng(seed)
    topics, rare = (1.5 * rng.standard_normal((count, 40)) for count in (30, n_kinds))
    y = (np.arange(n_messages) < n_messages // 2).astype(np.int64)
    bags = []
    for label in y:
        length, mix = rng.integers(10, 41), rng.dirichlet(np.full(30, 0.1))
        bag = topics[rng.choice(30, length, p=mix)] + rng.standard_t(4, (length, 40))
        if label:
            word = rare[rng.integers(n_kinds)] + rng.standard_t(4, 40)
            bag[rng.integers(length)] = word
        bags.append(bag)
    return Sequences.from_list(bags), y


def bags(folder: Path, rounds: int = 2) -> None:
    """Compare heads of one direction and of several, in five folds, the same for both."""
    digits = ((9,), (3, 9), (2, 3, 9), (1, 2, 3, 9))
    sets = {f"digits {set(needles)}": needle_digits(needles=needles) for needles in digits}
    sets |= {f"messages, {k} kinds": messages(k) for k in (1, 2, 4)}
    sets |= bag_sets(folder, STORED)
    pairs: dict[str, tuple[Any, Any]] = {
        "bayes": (lambda: BayesAttentionClassifier(n_kinds=1, random_state=0), QUICK["bayes"]),
        "stack": (lambda: OneKind(random_state=0, n_trees=100), QUICK["sparsetoken"]),
    }
    table = Table("set:20", "classifier:10", "measure:8", "one kind:8.3f", "several:8.3f",
                  "gain:16s", "kinds found:12")  # fmt: skip
    for name, (X, y) in sets.items():
        for label, makers in pairs.items():
            rows, found = [], []
            for _, train, test in folds_of(y, rounds, 5):
                both = [make().fit(X[train], y[train]) for make in makers]
                found += [both[1].n_kinds_] if label == "bayes" else []
                scores = [clf.decision_function(X[test]) for clf in both]
                accuracies = [float(np.mean((one > 0) == y[test])) for one in scores]
                rows.append([accuracies, [roc_auc_score(y[test], one) for one in scores]])
            by_measure = np.moveaxis(np.array(rows), 0, 2)
            for measure, (one, several) in zip(("accuracy", "AUC"), by_measure, strict=True):
                gain = plus_minus(several - one, form="+.3f")
                table.add(name, label, measure, one.mean(), several.mean(), gain, found)


if __name__ == "__main__":
    run(learners, bags=bags)
