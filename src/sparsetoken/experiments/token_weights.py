"""The attention map: the weights that a learned query gives to the tokens of drawn sequences."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparsetoken import models
from sparsetoken._types import Bools, Floats
from sparsetoken.pooling import Softmax
from sparsetoken.problem import SparseTokenProblem


def draw_token_weights(
    problem: SparseTokenProblem,
    n_samples: int,
    dim: int,
    *,
    n_sequences: int,
    random_state: int,
    **settings: Any,
) -> tuple[Floats, Bools]:
    """Teach a query by two steps on fresh samples, and let it look at sequences of each class.

    ``settings`` are those of the model "two-step". Returns the weights of the tokens, and which of
    them carry the signal, of shape (2, n_sequences, n_tokens): the positive sequences first.
    """
    rng, size = np.random.default_rng(random_state), (n_samples / dim, None)
    query = models.get("two-step").trial(problem, size, dim, settings, rng).query
    weights, carries = [], []
    for rate in (1.0, 0.0):
        one_class = replace(problem, positive_rate=rate)
        X, _, truth = one_class.sample(
            n_sequences, dim, direction=query.directions, random_state=rng, return_truth=True
        )
        weights.append(Softmax().weights(query.beta * X @ query.query))
        carries.append(truth.positions)
    return np.array(weights), np.array(carries)
