"""The risk solver on random settings: ``python -m benchmarks.robustness [SETTINGS] [SEED]``.

All models and losses, with and without ridge, from few samples to infinitely many. A result must
converge or say that it did not, and raise nothing but a ValueError that names an argument. Each
converged result is checked a second way, by the five stationarity conditions of the saddle point:
with points drawn by the samplers instead of the theory's, and with averages from the loss's prox
alone, by another quadrature than the solver's. How many points are enough: ``uncertainty``.

``--out rows.csv`` keeps all numbers; ``--compare rows.csv others.csv`` prints those that differ by
more than their error bars. Two processors, or two versions, must agree.
"""

import math
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report import run
from sparsetoken import Population, SparseTokenProblem
from sparsetoken.losses import Hinge, Loss, Square
from sparsetoken.problem import Problem
from sparsetoken.sampling.features import draw_token_sums
from sparsetoken.theory import ConvergenceWarning, Risk, risk

MODELS = ("pooled", "vectorized", "attention", "hardmax", "elementwise")
LOSSES = ("logistic", "square", "hinge")
POINTS = 16384
RIDGELESS = 1e-10  # of a feature's variance: what stands for the limit of no ridge
NUMBERS = ("test_error", "train_loss", "auc", "train_error", "test_loss")
NUMBERS_AND_BARS = [*NUMBERS, *(f"{name}_uncertainty" for name in NUMBERS)]
_DRAWN = 4000  # points of the second check, per class


def random_setting(rng: np.random.Generator, models: Any = MODELS) -> dict[str, Any]:
    """Draw the arguments of a risk, the corners often; a quarter are populations."""

    def log_uniform(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    longest = rng.choice([10, 200, 5_000, 100_000], p=[0.4, 0.55, 0.04, 0.01])
    n_tokens = int(rng.integers(1, longest + 1))
    few = rng.random() < 0.5
    n_signal = int(rng.integers(1, (min(n_tokens, 5) if few else n_tokens) + 1))
    signal = 0.0 if rng.random() < 0.05 else float(rng.uniform(0, 10))
    rate = log_uniform(1e-4, 0.05) if rng.random() < 0.2 else float(rng.uniform(0.05, 0.95))
    rate = 1.0 - rate if rng.random() < 0.2 else 0.5 if rng.random() < 0.2 else rate
    model = str(rng.choice(models))
    problem: Problem
    problem = single = SparseTokenProblem(n_tokens, n_signal, signal, rate)
    if rng.random() < 0.25:
        problem = random_population(single, rng, one_length=model == "vectorized")
    setting = {
        "problem": problem,
        "model": model,
        "alpha": math.inf if rng.random() < 0.05 else log_uniform(0.05, 1e3),
        "reg": 0.0 if rng.random() < 0.1 else log_uniform(1e-8, 1e3),
        "loss": str(rng.choice(LOSSES)),
    }
    if model not in ("pooled", "vectorized"):
        setting["cosine"] = float(rng.choice([-1.0, 0.0, 1.0, *rng.uniform(-1, 1, 17)]))
        kind = rng.random()
        sharpness = 0.0 if kind < 0.05 else log_uniform(*((1e-16, 0.1), (0.1, 50.0))[kind > 0.2])
        setting["sharpness"] = sharpness
    return setting


def random_population(
    problem: SparseTokenProblem, rng: np.random.Generator, *, one_length: bool = False
) -> Population:
    """Draw further kinds beside a problem, of other lengths, strengths and rates; wrong labels."""
    kinds = [problem]
    for _ in range(int(rng.choice([0, 1, 3, 9], p=[0.1, 0.5, 0.3, 0.1]))):
        n_tokens = problem.n_tokens if one_length else int(rng.integers(1, 51))
        n_signal = int(rng.integers(1, min(n_tokens, 5) + 1))
        rate = problem.positive_rate if rng.random() < 0.5 else float(rng.uniform(0.05, 0.95))
        kinds.append(SparseTokenProblem(n_tokens, n_signal, float(rng.uniform(0, 10)), rate))
    shares = rng.dirichlet(np.ones(len(kinds)))
    errors = rng.uniform(0.0, 0.3, 2) * (rng.random(2) < 0.7)
    return Population(kinds, shares.tolist(), errors.tolist())


def stationarity(result: Risk) -> float:
    """Largest violation of the five conditions, over six standard errors and one percent."""
    label, along_query, along_rest, scale, weight, group = _draw(result)
    x, loss = result.readout, result.loss
    finite = math.isfinite(result.alpha)
    chi, norm = math.exp(x.log_chi) if finite else 0.0, max(x.norm_rest, 1e-300)
    step = 0.005 if isinstance(loss, Hinge) else min(0.2, 0.5 / (norm * scale.max()))
    g = np.arange(-7.0, 7.0 + step, max(step, 0.002))
    density = np.exp(-0.5 * g**2) / np.exp(-0.5 * g**2).sum()
    mean = along_query * x.along_query + along_rest * x.along_rest + x.bias
    h, gh, hh = np.zeros((3, mean.size))
    for node, share in zip(g, density, strict=True):
        slope = _slope(loss, mean + scale * norm * node, label, chi * scale**2 + result._smoothing)
        h += share * slope
        gh += share * node * slope
        hh += share * slope**2
    reg = result.reg
    if result.reg == 0.0 and isinstance(loss, Square) and finite:
        reg = RIDGELESS * float(weight @ scale**2)
    alpha = result.model.ratio(result.problem, result.alpha)
    typical = math.sqrt(float(weight @ hh))  # |ℓ′|
    # Each condition: a constant, what is averaged over the points, and the size of its terms.
    pull = scale * gh / norm  # E[c²ℓ″/(1 + χc²ℓ″)] by Stein's identity
    tension = 1.0 / (alpha * chi) if finite else 0.0
    conditions = [
        (reg * x.along_query, along_query * h, typical * _size(weight, along_query, scale)),
        (0.0, h, typical),
    ]
    rest = typical * _size(weight, along_rest, scale)
    if finite:
        least = x.spread**2 + 1e-12 * weight @ mean**2  # a millionth of the scores is nothing
        conditions += [
            (tension * x.along_rest, along_rest * h, rest),
            (-(x.spread**2), alpha * chi**2 * scale**2 * hh, least),
            (reg - tension, pull, tension),
        ]
    else:
        conditions += [(reg * x.along_rest, along_rest * h + x.along_rest * pull, rest)]
    worst = 0.0
    for constant, each, size in conditions:
        missing = constant + float(weight @ each)
        noise = _standard_error(group, weight, each)
        worst = max(worst, abs(missing) / (6.0 * noise + 0.01 * size + 1e-300))
    return worst


def _draw(result: Risk) -> tuple[Any, ...]:
    """Points of the features by plain Monte Carlo, and the group of each."""
    model, groups = result.model, result.problem.groups
    if model.pooling is None:  # one point each is exact
        points = result.law.points
        return *points, np.arange(points.weight.size)
    rng = np.random.default_rng(0)
    columns = []
    for index, (kind, positive, label, probability) in enumerate(groups):
        n = min(2 * _DRAWN // len(groups), max(200, 10_000_000 // kind.n_tokens))
        mask = np.full(n, positive)
        sums = draw_token_sums(kind, mask, model.cosine, model.sharpness, model.pooling, rng)
        along = kind.signal * model.cosine * sums.signal + sums.noise
        rest = kind.signal * math.sqrt(1.0 - model.cosine**2) * sums.signal
        facts = np.full(n, label), np.full(n, probability / n), np.full(n, index)
        columns.append((facts[0], along, rest, sums.scale, *facts[1:]))
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True))


def _size(weight: Any, along: Any, scale: Any) -> float:
    return math.sqrt(float(weight @ (along**2 + scale**2)))


def _standard_error(group: Any, weight: Any, each: Any) -> float:
    """Monte Carlo error of an average over groups, each drawn separately."""
    parts = [group == index for index in np.unique(group)]
    return math.sqrt(sum(weight[p].sum() ** 2 * each[p].var() / p.sum() for p in parts))


def _slope(loss: Loss, r: Any, label: Any, scale: Any) -> Any:
    """ℓ′ at the prox, from (r − p)/s where that is accurate."""
    p = loss.prox(r, label, scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 1e-8, (r - p) / scale, loss.derivative(p, label))


def judge(setting: dict[str, Any]) -> dict[str, Any]:
    """Solve one setting and check the result: its numbers, the verdict and the reason for it."""
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = risk(**setting, n_points=POINTS)
            estimates = {name: getattr(result, name) for name in NUMBERS}
        elapsed = time.process_time() - start
        numbers = {name: float(number) for name, number in estimates.items()}
        numbers |= {f"{name}_uncertainty": each.uncertainty for name, each in estimates.items()}
        verdict, reason = _check(result, numbers, caught)
        return {"verdict": verdict, "reason": reason, **numbers, "seconds": elapsed}
    except ValueError as error:
        refused = "reg must be > 0" in str(error)
        return {"verdict": "refused" if refused else "exception", "reason": str(error)}
    except Exception:
        return {"verdict": "exception", "reason": traceback.format_exc(limit=-3)}


def _check(result: Risk, numbers: dict[str, float], caught: list[Any]) -> tuple[str, str]:
    """Return the verdict on a result, and its reason."""
    told = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    strange = [str(w.message) for w in caught if not issubclass(w.category, ConvergenceWarning)]
    finite = np.all(np.isfinite(list(numbers.values())))
    if strange or not finite or result.auc > 1.0 or told == result.converged:
        return "wrong", f"numbers {numbers}, warnings {strange}, {result}"
    if not result.converged:
        # Fitted perfectly without a ridge, larger readouts are always better: no minimum.
        no_minimum = result.reg == 0.0 and result.train_loss < 1e-11
        return ("undetermined" if no_minimum or _any_bias(result) else "flagged"), repr(result)
    off = stationarity(result)
    if off > 1.0:
        return "wrong", f"stationarity {off:.3g}: {result} {result.readout}"
    return "converged", ""


def _any_bias(result: Risk) -> bool:
    """Whether any bias is as good: the hinge loss of balanced classes, every margin below 1."""
    p, x = result.law.points, result.readout
    mean = p.along_query * x.along_query + p.along_rest * x.along_rest
    reach = np.abs(mean) + 5.0 * p.scale * x.norm_rest
    balanced = result.problem.positive_rate == 0.5
    return isinstance(result.loss, Hinge) and balanced and float(reach.max()) < 1.0


def main(
    settings: int = 2000,
    seed: int = 0,
    *,
    out: Path | None = None,
    compare: list[Path] | None = None,
) -> None:
    """Judge random settings; keep the numbers of each in ``out``."""
    if compare:
        sys.exit(differences(*compare) > 0)
    rng = np.random.default_rng(seed)
    judged = []
    for index in range(settings):
        setting = random_setting(rng)
        judged.append(judge(setting))
        verdict, reason = judged[-1]["verdict"], judged[-1]["reason"]
        if reason and verdict not in ("refused", "undetermined"):
            print(f"{verdict} #{index}: {setting}\n    {reason}", flush=True)
    table = pd.DataFrame(judged, columns=["verdict", "reason", "seconds", *NUMBERS_AND_BARS])
    verdicts, seconds = Counter(table["verdict"]), table["seconds"].fillna(0.0)
    solved = settings - verdicts["refused"] - verdicts["undetermined"]
    percent = 100 * verdicts["converged"] / max(solved, 1)
    print(f"converged: {percent:.2f} % of {solved}; {dict(verdicts)}; "
          f"median {seconds.median():.3f} s, longest {seconds.max():.2f} s")  # fmt: skip
    if out is not None:
        table.drop(columns=["reason", "seconds"]).to_csv(out, index_label="setting")


def differences(first: Path, second: Path) -> int:
    """Print the numbers of two tables that differ by more than their bars; return how many."""
    one, other = pd.read_csv(first), pd.read_csv(second)
    solved = (one["verdict"] == "converged") & one["test_error"].notna()
    bars = {
        name: (one[name] - other[name]).abs()
        / np.maximum(one[f"{name}_uncertainty"], other[f"{name}_uncertainty"])
        for name in NUMBERS
    }
    each = pd.DataFrame(bars)[solved].stack()
    verdicts, off = one["verdict"].compare(other["verdict"]), each[each > 1.0]
    for differing in (verdicts, off):
        if len(differing):
            print(differing.to_string())
    print(f"{len(off)} of {len(each)} numbers and {len(verdicts)} of {len(one)} verdicts differ; "
          f"the largest difference is {each.max():.2g} bars")  # fmt: skip
    return len(verdicts) + len(off)


if __name__ == "__main__":
    run(main)
