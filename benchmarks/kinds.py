"""Several kinds of signal: classifiers beside the optimum, and before and after on real bags.

``python -m benchmarks.kinds [PROBLEMS] [SEED]`` draws problems of one to five kinds, of 20 to 300
features, with 0.5 to 8 samples a dimension and kind: errors of our classifiers beside the optimum,
and how often the number of kinds is found. ``... bags FOLDER`` compares heads of one direction with
heads of several: bags of digits whose needles are of several classes, messages with several kinds
of words, and the stored bags (``benchmarks.bags``), in five folds.
"""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.bags import stored_bags
from benchmarks.report import mean_and_error
from sparsetoken import (
    BayesAttentionClassifier,
    Sequences,
    SparseTokenClassifier,
    SparseTokenProblem,
)
from sparsetoken.estimators.posterior_heads import PosteriorHeads
from sparsetoken.theory import optimal

LEARNERS: dict[str, Any] = {
    "bayes": lambda: BayesAttentionClassifier(random_state=0),
    "sparsetoken": lambda: SparseTokenClassifier(random_state=0, n_trees=100),
}
STORED = ("tiger", "fox", "musk1", "brown_creeper")


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


def learners(n_problems: int = 30, seed: int = 2026) -> None:
    """Set classifiers beside the optimum."""
    ratios: dict[str, list[float]] = {name: [] for name in LEARNERS}
    above: dict[str, int] = dict.fromkeys(LEARNERS, 0)
    right = []
    for number in range(n_problems):
        problem, n_samples, dim = random_problem(np.random.default_rng([seed, number]))
        floor = float(optimal(problem, n_samples / dim).test_error)
        errors: dict[str, list[float]] = {name: [] for name in LEARNERS}
        found = []
        for draw in range(4 if n_samples * problem.n_tokens * dim < 2e6 else 2):
            X, y, truth = problem.sample(
                n_samples, dim, random_state=1000 * seed + draw, return_truth=True
            )
            new, labels = problem.sample(
                2000, dim, random_state=1000 * seed + 500 + draw, direction=truth.directions
            )
            for name, learner in LEARNERS.items():
                clf = learner().fit(X, y)
                errors[name].append(1.0 - clf.score(new, labels))
                if name == "bayes":
                    found.append(clf.n_kinds_)
        right += [one == problem.n_kinds for one in found]
        line = f"{n_samples:5d} x {problem.n_tokens:2d} x {dim:3d}, θ={problem.signal:.2f}, "
        line += f"{problem.n_kinds} kinds, found {found}: {floor:.4f}"
        for name, values in errors.items():
            mean, bar = mean_and_error(values)
            bar = math.hypot(bar, math.sqrt(floor * (1.0 - floor) / 2000 / len(values)))
            far = mean > 1.3 * floor + 3.0 * bar
            ratios[name].append(mean / floor)
            above[name] += far
            line += f" | {name} {mean:.4f} ± {bar:.4f}{' ABOVE' if far else ''}"
        print(line, flush=True)
    print("above 1.3 times the optimum and three standard errors:", above)
    print("median ratio:", {name: round(float(np.median(r)), 3) for name, r in ratios.items()})
    print(f"number of kinds right: {np.mean(right):.2f} of {len(right)} fits")


def digits(needles: tuple[int, ...], n_bags: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Return bags of about 20 digits; each positive one holds one needle."""
    rng = np.random.default_rng(seed)
    images, classes = load_digits(return_X_y=True)
    wanted = np.isin(classes, needles)
    rare, others = rng.permutation(images[wanted]), images[~wanted]
    y = (np.arange(n_bags) < n_bags // 2).astype(np.int64)
    bags = []
    for i, label in enumerate(y):
        bag = others[rng.choice(len(others), rng.integers(15, 26), replace=False)]
        if label:
            bag[rng.integers(len(bag))] = rare[i]
        bags.append(bag)
    return Sequences.from_list(bags), y


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


def bags(folder: Path, repeats: int = 2) -> None:
    """Compare heads of one direction and of several, in five folds, the same for both."""
    sets = {f"digits {set(n)}": digits(n) for n in ((9,), (3, 9), (2, 3, 9), (1, 2, 3, 9))}
    sets |= {f"messages, {k} kinds": messages(k) for k in (1, 2, 4)}
    sets |= {n: stored_bags(folder / f"{n}.npz") for n in STORED if (folder / f"{n}.npz").exists()}
    models: dict[str, Any] = {
        "bayes 1": lambda: BayesAttentionClassifier(n_kinds=1, random_state=0),
        "bayes": LEARNERS["bayes"],
        "stack 1": lambda: OneKind(random_state=0, n_trees=100),
        "stack": LEARNERS["sparsetoken"],
    }
    for name, (X, y) in sets.items():
        rows: dict[str, list[tuple[float, float]]] = {model: [] for model in models}
        found = []
        for seed in range(repeats):
            for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(y, y):
                for model, build in models.items():
                    clf = build().fit(X[train], y[train])
                    scores = clf.decision_function(X[test])
                    accuracy = float(np.mean((scores > 0) == y[test]))
                    rows[model].append((accuracy, float(roc_auc_score(y[test], scores))))
                    if model == "bayes":
                        found.append(clf.n_kinds_)
        line = f"{name}, kinds found {found}:"
        for first, second in (("bayes 1", "bayes"), ("stack 1", "stack")):
            for k, what in enumerate(("accuracy", "AUC")):
                one, several = (np.array(rows[m])[:, k] for m in (first, second))
                gain, bar = mean_and_error(several - one)
                line += f" | {second} {what} {one.mean():.3f} → {several.mean():.3f}"
                line += f" ({gain:+.3f} ± {bar:.3f})"
        print(line, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["bags"]:
        bags(Path(sys.argv[2]))
    else:
        learners(*(int(value) for value in sys.argv[1:]))
