"""The risk solver on random settings: ``python -m benchmarks.robustness [SETTINGS] [SEED]``.

Every result must converge or say that it did not, be free of NaN, and satisfy the five stationarity
conditions of the saddle point, which are checked here from the loss and its prox alone, by another
quadrature than the solver's.
"""

import math
import sys
import time
import warnings
from typing import Any

import numpy as np

from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Hinge, Loss
from sparsetoken.theory import ConvergenceWarning, Risk, risk

LOSSES = ("logistic", "square", "hinge")


def random_setting(rng: np.random.Generator) -> dict[str, Any]:
    n_tokens = int(rng.integers(1, 201))
    return {
        "problem": SparseTokenProblem(
            n_tokens,
            int(rng.integers(1, n_tokens + 1)),
            float(rng.uniform(0, 10)),
            float(rng.uniform(0.01, 0.99)),
        ),
        "alpha": float(np.exp(rng.uniform(np.log(0.05), np.log(1e3)))),
        "reg": float(np.exp(rng.uniform(np.log(1e-8), np.log(1e3)))),
        "cosine": float(rng.uniform(-1, 1)),
        "sharpness": float(rng.uniform(0, 50)),
        "loss": str(rng.choice(LOSSES)),
    }


def stationarity(result: Risk) -> float:
    """Largest violation of the five conditions, each relative to the size of its terms."""
    p, x, loss = result.law.points, result.readout, result.loss
    chi, norm = math.exp(x.log_step), x.norm_rest
    step = min(0.2, 0.5 / (norm * p.scale.max()))
    if isinstance(loss, Hinge):  # its derivative jumps: the rule converges only slowly
        step = 0.01
    g = np.arange(-7.0, 7.0 + step, step)
    w = np.exp(-0.5 * g**2)
    w /= w.sum()
    h, gh, hh = np.zeros((3, p.weight.size))
    mean = p.along_query * x.along_query + p.along_rest * x.along_rest + x.bias
    for node, weight in zip(g, w, strict=True):
        scale = chi * p.scale**2 + result.smoothing
        slope = _slope(loss, mean + p.scale * norm * node, p.label, scale)
        h += weight * slope
        gh += weight * node * slope
        hh += weight * slope**2
    reg = result.model.ridge(result.problem, result.reg)
    alpha = result.model.ratio(result.problem, result.alpha)
    size = float(p.weight @ np.sqrt(hh))  # typical |ℓ′|
    typical = float(p.weight @ np.abs(p.along_query)) or 1.0
    pull = float(p.weight @ (p.scale * gh)) / norm
    tension = 1.0 / (alpha * chi)
    spent, used = x.spread**2, alpha * chi**2 * float(p.weight @ (p.scale**2 * hh))
    return max(
        abs(reg * x.along_query + float(p.weight @ (p.along_query * h))) / (size * typical),
        abs(float(p.weight @ h)) / size,
        abs(tension * x.along_rest + float(p.weight @ (p.along_rest * h)))
        / (size * max(float(p.weight @ np.abs(p.along_rest)), 1e-3)),
        abs(spent - used) / spent,
        abs(tension - reg - pull) / tension,
    )


def _slope(loss: Loss, r: Any, label: Any, scale: Any) -> Any:
    """ℓ′ at the prox, from (r − p)/s where that is accurate."""
    p = loss.prox(r, label, scale)
    return np.where(scale > 1e-4, (r - p) / scale, loss.derivative(p, label))


def main(n_settings: int = 2000, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    failed, wrong, bad, slow, times = [], [], [], [], []
    for index in range(n_settings):
        setting = random_setting(rng)
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = risk(
                setting["problem"],
                "attention",
                **{k: v for k, v in setting.items() if k != "problem"},
            )
            numbers = [result.test_error, result.uncertainty, result.train_loss, result.auc]
            numbers += [result.train_error, result.test_loss]
        times.append(time.perf_counter() - start)
        flagged = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        strange = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
        if not np.all(np.isfinite(numbers)) or strange:
            bad.append((index, setting, numbers, strange))
        if times[-1] > 10:
            slow.append((index, setting))
        if not result.converged:
            failed.append((index, setting))
            assert flagged
        elif index % 5 == 0 and stationarity(result) > 1e-2:
            wrong.append((index, setting, stationarity(result)))
        if (index + 1) % 100 == 0:
            print(
                f"{index + 1} settings: {len(failed)} not converged, {len(wrong)} wrong, "
                f"{len(bad)} not finite, {len(slow)} over 10 s; "
                f"median {np.median(times):.3f} s, longest {max(times):.2f} s",
                flush=True,
            )
    for name, rows in (
        ("not converged", failed),
        ("wrong", wrong),
        ("not finite", bad),
        ("slow", slow),
    ):
        for row in rows[:20]:
            print(name, *row)
    print(f"converged: {100 * (1 - len(failed) / n_settings):.2f} % of {n_settings}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
