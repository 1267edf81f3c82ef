"""Token weights on sequences drawn from the model, before and after the two steps."""

from typing import Any

import numpy as np

from sparsetoken.losses import Logistic
from sparsetoken.pooling import Softmax
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.sampling import sample_query

__all__ = ["FULL", "QUICK", "SUMMARY", "table"]

SUMMARY = "attention weights on drawn sequences, before and after the two steps"

FULL: dict[str, Any] = {
    "n_tokens": 20,
    "n_signal": 2,
    "signal": 5.0,
    "alpha0": 4.0,
    "lr_query": 80.0,
    "dim": 1000,
    "n_sequences": 12,
    "seed": 0,
}
QUICK: dict[str, Any] = FULL | {"dim": 300}


def table(
    run: Any,
    *,
    n_tokens: int,
    n_signal: int,
    signal: float,
    alpha0: float,
    lr_query: float,
    dim: int,
    n_sequences: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Draw a query and as many positive as negative sequences; one row per token and stage."""
    problem = SparseTokenProblem(n_tokens, n_signal, signal)
    rng = np.random.default_rng(seed)
    learned = sample_query(
        problem, round(alpha0 * dim), dim, loss=Logistic(), lr_query=lr_query, random_state=rng
    )
    rows = []
    for rate in (1.0, 0.0):
        drawn = SparseTokenProblem(n_tokens, n_signal, signal, rate)
        X, _, truth = drawn.sample(
            n_sequences, dim, direction=learned.direction, random_state=rng, return_truth=True
        )
        for stage, query in (("before", np.zeros(dim)), ("after", learned.query)):
            weights = Softmax().weights(learned.beta * X @ query)
            for (sequence, token), weight in np.ndenumerate(weights):
                rows.append(
                    {
                        "n_tokens": n_tokens,
                        "n_signal": n_signal,
                        "signal": signal,
                        "alpha0": alpha0,
                        "dim": dim,
                        "label": int(rate),
                        "sequence": sequence,
                        "token": token,
                        "carries_signal": bool(truth.positions[sequence, token]),
                        "stage": stage,
                        "source": "simulation",
                        "quantity": "weight",
                        "value": float(weight),
                    }
                )
    return rows
