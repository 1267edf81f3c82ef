"""The features that a readout is trained on, as the theory sees them (docs/theory, section 2).

A model has a feature law and a sample ratio. For a pooling the law is integrated over the
token noise g by several independent scramblings of a Sobol sequence ("batches"), whose disagreement
gives the error bars. For the linear models one point is exact.

Tokens are exchangeable, so the noise is drawn sorted, the largest first: the few leading Sobol
coordinates then carry the tokens that get the weight, and the error falls by four to ten.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from sparsetoken._types import Floats
from sparsetoken._validation import check_count, check_instance, check_real
from sparsetoken.law import FeatureLaw, Part, linear_law
from sparsetoken.pooling import Pooling, get_pooling, pooling_models
from sparsetoken.problem import Problem, SparseTokenProblem
from sparsetoken.vocabulary import PARAMETERS

DEFAULT_POINTS: int = PARAMETERS["n_points"].default  # of every prediction, here and in commands
LARGEST_SHARPNESS = 1e15
_LINEAR = ("vectorized", "pooled")
BATCHES = 8
_SOBOL_COLUMNS = 64  # the largest tokens; the others are drawn at random
_MOST_NUMBERS = 10_000_000  # tokens drawn for one law at most; long sequences get fewer points
_FEWEST = 1024  # points per class of a kind
_CACHED_NUMBERS = 500_000  # per batch
_MOST_COLUMNS = 2000  # of Sobol points in sobol_normals; the others are drawn at random
_SEED = 20250925


@dataclass(frozen=True)
class FeatureModel:
    """A linear model, or a pooling with a query at a known cosine and sharpness."""

    name: str
    pooling: Pooling | None
    cosine: float
    sharpness: float
    n_points: int

    def law(self, problem: Problem, trained: Problem, n_windows: int = 1) -> FeatureLaw:
        """Law of the features under a problem, for a readout trained on the same or another one.

        Of several equal windows, that of the one with all of the signal if there is one.
        """
        problem = problem.windows(n_windows)
        if problem.n_kinds != trained.n_kinds:
            raise ValueError(
                f"problem.n_kinds must stay the same, got {problem.n_kinds} after training on "
                f"{trained.n_kinds}: one query knows the mean of the directions only"
            )
        seen = problem.seen_by_one_query()
        if self.pooling is not None:
            return attention_law(seen, self.pooling, self.cosine, self.sharpness, self.n_points)
        if self.name == "pooled":
            return linear_law(seen, 1)
        lengths = [p.only_length("model 'vectorized' needs") for p in (trained, problem)]
        if lengths[0] != lengths[1]:
            raise ValueError(
                "problem.n_tokens must stay the same for a vectorized model, "
                f"got {lengths[1]} after training on {lengths[0]}"
            )
        return linear_law(seen, lengths[0])

    def ratio(self, problem: Problem, alpha: float) -> float:
        """Return the samples per weight: a vectorized readout has L weights per dimension."""
        if self.name == "vectorized":
            return alpha / problem.only_length("model 'vectorized' needs")
        return alpha


def get_model(
    model: str | Pooling, cosine: Any = None, sharpness: Any = None, n_points: Any = DEFAULT_POINTS
) -> FeatureModel:
    """Return the model for a name or a pooling, its arguments checked."""
    check_instance("model", model)
    if isinstance(model, Pooling) or (isinstance(model, str) and ":" in model):
        pooling = get_pooling(model)
        name = repr(pooling)
    elif model in _LINEAR:
        for argument, value in (("cosine", cosine), ("sharpness", sharpness)):
            if value is not None:
                raise ValueError(f"{argument} has no meaning for model {model!r}, got {value!r}")
        return FeatureModel(model, None, 0.0, 0.0, 0)
    elif isinstance(model, str) and model in pooling_models():
        name, pooling = model, pooling_models()[model]
    elif model == "two-step":
        raise ValueError(
            "model must have a given query, got 'two-step': use two_step_risk, "
            "or alignment for its cosine and sharpness and then model 'attention'"
        )
    else:
        names = ", ".join(map(repr, (*_LINEAR, *pooling_models())))
        raise ValueError(f"model must be one of {names} or a Pooling, got {model!r}")
    if cosine is None:
        raise ValueError(
            f"cosine must be given for model {name!r}: the cosine between query and signal"
        )
    if sharpness is None and pooling.sharpened:
        raise ValueError(f"sharpness must be given for model {name!r}: it is β‖q‖")
    sharpness = 1.0 if sharpness is None else sharpness
    return FeatureModel(
        name,
        pooling,
        check_real("cosine", cosine, low=-1.0, high=1.0),
        check_real("sharpness", sharpness, low=0.0, high=LARGEST_SHARPNESS),
        check_count("n_points", n_points, minimum=256),
    )


@lru_cache(maxsize=16)
def attention_law(
    problem: Problem, pooling: Pooling, cosine: float, sharpness: float, n_points: int
) -> FeatureLaw:
    """Law of pooled features for a query at the given cosine and sharpness.

    ``n_points`` per class, fewer for very long sequences, shared by the kinds of samples. The
    positives of a kind and the negatives of the same length share the token noise.
    """
    kinds = list(dict.fromkeys(replace(group.kind, positive_rate=0.5) for group in problem.groups))
    each = max(n_points // len(kinds), min(n_points, _FEWEST))
    # Law by what it depends on: length, signal tokens and strength; for negatives the length.
    columns: dict[Any, list[Floats]] = {}
    for batch in range(BATCHES):
        drawn: Counter[tuple[int, int]] = Counter()
        for kind in kinds:
            shape = kind.n_tokens, kind.n_signal
            noise = token_noise(kind, each, batch + BATCHES * drawn[shape])
            drawn[shape] += 1
            for name, signal in ((kind.n_tokens, 0.0), ((*shape, kind.signal), kind.signal)):
                triple = _features(noise, kind.n_signal, signal, pooling, cosine, sharpness)
                columns.setdefault(name, []).append(triple)
    joined = {key: np.concatenate(column, axis=1) for key, column in columns.items()}
    probabilities: Counter[tuple[Any, bool, float]] = Counter()
    for kind, positive, label, probability in problem.groups:
        key = (kind.n_tokens, kind.n_signal, kind.signal) if positive else kind.n_tokens
        probabilities[key, positive, label] += probability  # type: ignore[assignment]
    return FeatureLaw.mixture(
        (Part(label, positive, probability, *joined[key])
         for (key, positive, label), probability in probabilities.items()),
        BATCHES,
    )  # fmt: skip


def _features(
    noise: Floats, n_signal: int, signal: float, pooling: Pooling, cosine: float, sharpness: float
) -> Floats:
    """Return the triples of samples with this noise: along the query, along the rest, scale."""
    scores = sharpness * noise
    scores[:, :n_signal] += sharpness * signal * cosine
    weights = pooling.weights(scores)
    on_signal = signal * weights[:, :n_signal].sum(axis=1)
    along = cosine * on_signal + np.einsum("nl,nl->n", weights, noise)
    sine = math.sqrt(max(0.0, 1.0 - cosine**2))
    scale = np.sqrt(np.einsum("nl,nl->n", weights, weights))
    return np.stack([along, sine * on_signal, scale])


def token_noise(problem: SparseTokenProblem, n_points: int, batch: int) -> Floats:
    """Return the normals of one batch, (points, n_tokens), the same for the same arguments.

    :data:`BATCHES` of them have ``n_points`` rows, or as many as bounded work allows. The columns
    of the signal tokens come first; theirs, and the others', are sorted in each row.
    """
    affordable = max(16 * BATCHES, min(n_points, _MOST_NUMBERS // problem.n_tokens))
    rows = 1 << max(4, round(math.log2(affordable / BATCHES)))  # Sobol points come in powers of 2
    small = rows * problem.n_tokens <= _CACHED_NUMBERS
    draw = _cached_noise if small else _draw_noise
    return draw(problem.n_tokens, problem.n_signal, rows, batch)


def _draw_noise(n_tokens: int, n_signal: int, n_points: int, batch: int) -> Floats:
    groups = [n for n in (n_signal, n_tokens - n_signal) if n > 0]
    rng = np.random.default_rng([_SEED, n_tokens, n_signal, batch])
    # The Sobol columns go to the largest of both groups, then to the second largest, ...
    rank = np.concatenate([np.arange(n) for n in groups])
    leading = np.argsort(rank, kind="stable")[:_SOBOL_COLUMNS]
    uniform = np.empty((n_points, n_tokens))
    if n_tokens > _SOBOL_COLUMNS:
        rng.random(out=uniform)
    uniform[:, leading] = qmc.Sobol(leading.size, scramble=True, rng=rng).random(n_points)
    np.clip(uniform, 1e-12, 1.0 - 1e-12, out=uniform)
    # The largest of n uniforms is U^(1/n), the next that times V^(1/(n−1)), and so on.
    np.log(uniform, out=uniform)
    start = 0
    for n in groups:
        logs = uniform[:, start : start + n]
        logs /= np.arange(n, 0, -1)
        np.cumsum(logs, axis=1, out=logs)
        start += n
    np.negative(np.expm1(uniform, out=uniform), out=uniform)
    np.negative(ndtri(uniform, out=uniform), out=uniform)
    noise = np.asfortranarray(uniform)  # sums over the tokens of all points at once are quicker
    noise.flags.writeable = False
    return noise


_cached_noise = lru_cache(maxsize=128)(_draw_noise)


def sobol_normals(n_rows: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """Return standard normals at Sobol points, (n_rows, n_columns)."""
    uniform = np.empty((n_rows, n_columns))
    leading = min(n_columns, _MOST_COLUMNS)
    uniform[:, :leading] = qmc.Sobol(leading, scramble=True, rng=rng).random(n_rows)
    uniform[:, leading:] = rng.random((n_rows, n_columns - leading))
    return ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
