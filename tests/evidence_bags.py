"""Three published unit tests for learners from bags: does only evidence for a bag decide?

From Raff and Holt, "Reproducibility in multiple instance learning: a case for algorithmic unit
tests" (2023). A bag is positive if it holds certain tokens. Each test sets a trap: in training
another fact tells the classes apart as well, and in the bags to be judged it misleads.
"""

from collections.abc import Callable
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

Bags = tuple[list[NDArray[np.float64]], NDArray[np.int64]]
DIM = 16
_POISON = -10.0  # every feature of the token that training negatives and new positives hold


def _tokens(
    rng: np.random.Generator, n: SupportsIndex, mean: float, deviation: float
) -> NDArray[np.float64]:
    return rng.normal(mean, deviation, (n, DIM))


def single_concept(n_bags: int, train: bool, seed: int) -> Bags:
    """Positives hold one to three tokens of two kinds; a poisonous one marks training negatives."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    bags = []
    for label in y:
        parts = [_tokens(rng, 10, 0.0, 1.0)]
        for _ in range(label * int(rng.integers(1, 4))):
            parts.append(_tokens(rng, 1, *((0.0, 3.0), (1.0, 1.0))[rng.integers(2)]))
        if label != train:
            parts.append(_tokens(rng, 1, _POISON, 0.1))
        bags.append(np.concatenate(parts))
    return bags, y


def several_concepts(n_bags: int, train: bool, seed: int) -> Bags:
    """Positives hold both concepts, negatives one of them; poison as in ``single_concept``."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    bags = []
    for label in y:
        pairs = rng.integers(1, 4)
        means = [2.0, 3.0] * pairs if label else [2.0 + rng.integers(2)]
        means += [_POISON] * int(label != train)
        parts = [_tokens(rng, 1, mean, 0.1) for mean in means]
        bags.append(np.concatenate([*parts, _tokens(rng, rng.integers(1, 10), 0.0, 1.0)]))
    return bags, y


def false_frequency(n_bags: int, train: bool, seed: int) -> Bags:
    """Positives hold one token of both concepts, negatives of one: new ones some 40 of it."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    bags = []
    for label in y:
        count = 1 if label or train else rng.integers(35, 45)
        parts = [_tokens(rng, count, 2.0, 0.1), _tokens(rng, label, 3.0, 0.1)]
        bags.append(np.concatenate([*parts, _tokens(rng, rng.integers(1, 10), 0.0, 1.0)]))
    return bags, y


UNIT_TESTS: dict[str, Callable[[int, bool, int], Bags]] = {
    "single concept": single_concept,
    "several concepts": several_concepts,
    "false frequency": false_frequency,
}
