"""What ``diagnose`` says first about ten sets with a known fault and about five good ones.

``python -m benchmarks.diagnosis`` (about two minutes); ``--seeds 3`` repeats it on other draws.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import sparsetoken as st
from benchmarks.bags import needle_digits

Case = tuple[Any, Any, Any, Any, Any]
"""Classifier, samples and labels to fit, samples and labels to diagnose."""


def needle(
    seed: int, n_samples: int = 200, dim: int = 10, signal: float = 4.0
) -> tuple[Any, Any, Any, Any]:
    problem = st.SparseTokenProblem(10, 1, signal)
    X, y, truth = problem.sample(n_samples, dim, random_state=seed, return_truth=True)
    new = problem.sample(200, dim, random_state=seed + 100, direction=truth.direction)
    return X, y, *new


def ours(seed: int) -> Any:
    return st.SparseTokenClassifier(random_state=seed)


def attention(seed: int) -> Any:
    return st.AttentionClassifier(random_state=seed)


def labels(n_samples: int = 200) -> Any:
    return np.arange(n_samples) % 2


def noise(seed: int) -> Case:
    X, y, _, _ = needle(seed)
    y = np.random.default_rng(seed).permutation(y)
    return ours(seed), X, y, X, y


def too_weak(seed: int) -> Case:
    return ours(seed), *needle(seed, 60, 200, 0.5)


def leaking_length(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((rng.integers(8, 14) - 4 * label, 5)) for label in labels(400)]
    return ours(seed), X[:200], labels(), X[200:], labels()


def copies(seed: int) -> Case:
    X, y, _, _ = needle(seed)
    X, y = np.repeat(X[:100], 2, axis=0), np.repeat(y[:100], 2)
    return ours(seed), X, y, X, y


def five_samples(seed: int) -> Case:
    X, y, _, _ = needle(seed, 300)
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]])
    return ours(seed), X[rows], y[rows], X[rows], y[rows]


def variance(seed: int) -> Case:
    X = np.random.default_rng(seed).standard_normal((2, 200, 8, 4))
    X[:, labels() == 1, 0] *= 4.0
    return attention(seed), X[0], labels(), X[1], labels()


def wrong_sign(seed: int) -> Case:
    X, y, new, y_new = needle(seed)
    return ours(seed), X, y, new, 1 - y_new


def constant_columns(seed: int) -> Case:
    X, y, new, y_new = needle(seed)
    X, new = (np.concatenate([a, np.ones((*a.shape[:2], 2))], axis=2) for a in (X, new))
    return ours(seed), X, y, new, y_new


def one_huge_token(seed: int) -> Case:
    X, y, _, _ = needle(seed)
    X[7, 3] *= 1000.0
    return ours(seed), X, y, X, y


def large_step(seed: int) -> Case:
    problem = st.SparseTokenProblem(10, 1, 5.0)
    X, y = problem.sample(920, 100, random_state=seed)
    model = st.TwoStepAttentionClassifier(lr_readout=80.0, lr_query=0.73, random_state=seed)
    return model, X, y, X, y


def many_dimensions(seed: int) -> Case:
    return attention(seed), *needle(seed, 80, 150, 4.0)


def good_needle(seed: int) -> Case:
    return ours(seed), *needle(seed, 400)


def good_mean(seed: int) -> Case:
    X = np.random.default_rng(seed).standard_normal((2, 200, 8, 6))
    X[:, labels() == 1] += 0.4
    return ours(seed), X[0], labels(), X[1], labels()


def good_spread(seed: int) -> Case:
    X = np.random.default_rng(seed).standard_normal((2, 200, 8, 5))
    X[:, labels() == 1] *= 1.6
    return ours(seed), X[0], labels(), X[1], labels()


def good_digits(seed: int) -> Case:
    X, y = needle_digits(seed=seed)
    return ours(seed), X, y, X, y


def good_three_classes(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    y = np.arange(480) % 3
    X = [rng.standard_normal((rng.integers(4, 9), 8)) for _ in y]
    for tokens, label in zip(X, y, strict=True):
        tokens[0, label] += 4.5
    return ours(seed), X[:240], y[:240], X[240:], y[240:]


FAULTS: dict[Callable[[int], Case], str] = {
    noise: "nothing beats chance",
    too_weak: "nothing beats chance",
    leaking_length: "length predicts the label",
    copies: "duplicated sequences",
    five_samples: "few samples of a class",
    variance: "spread tells more than the model",
    wrong_sign: "scores the wrong way round",
    constant_columns: "constant features",
    one_huge_token: "outlying tokens",
    large_step: "anti-aligned query",
    many_dimensions: "unreliable query",
}
GOOD = (good_needle, good_mean, good_spread, good_digits, good_three_classes)


def findings(case: Case) -> list[str]:
    model, X, y, new, y_new = case
    return [problem.name for problem in model.fit(X, y).diagnose(new, y_new).problems]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    right, silent = 0, 0
    seeds = range(parser.parse_args().seeds)
    for seed in seeds:
        for case, fault in FAULTS.items():
            found = findings(case(seed))
            right += found[:1] == [fault]
            verdict = "ok  " if found[:1] == [fault] else "MISS"
            print(f"{verdict} {case.__name__:<20} {', '.join(found) or 'no problem'}", flush=True)
        for case in GOOD:
            found = findings(case(seed))
            silent += not found
            verdict = "MISS" if found else "ok  "
            print(f"{verdict} {case.__name__:<20} {', '.join(found) or 'no problem'}", flush=True)
    print(f"right finding first: {right} of {len(seeds) * len(FAULTS)}")
    print(f"silent on good ones: {silent} of {len(seeds) * len(GOOD)}")


if __name__ == "__main__":
    main()
