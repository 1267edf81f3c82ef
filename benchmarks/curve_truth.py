"""Do plans from learning curves hold? ``python -m benchmarks.curve_truth probe_curves.csv``.

The file has columns ``dataset``, ``method``, ``num_train``, ``test_acc`` and ``test_auc``, as those
of JoshEngels/SAE-Probes: one draw a point, all points of a curve on the same test samples. Or it
has curves of LCDB (Mohr and others, 2022), with columns ``openmlid``, ``learner``, ``size_train``,
``n_test``, ``chance``, ``one_error`` (of one draw, given) and ``error`` (the mean of many, to be
predicted). Each curve is given up to about 50, 100 and 200 samples (LCDB: 64, 128 and 256). The
errors at twice and four times that are predicted by ``plan.from_curve``, and by a power law, POW4
and MMF4 fitted by least squares, with intervals from their residuals. Rivals do best without the
smallest sizes, so they are given those from 10 on.

The prior was chosen on every other data set in sorted order (``--half chosen``) and judged on the
others (``--half judged``); ``--every 4`` takes every fourth of them, ``--methods`` only these.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares

from benchmarks.intervals import INTERVAL, figures, interval_table
from benchmarks.report import run
from sparsetoken import plan

Array = NDArray[np.float64]

LCDB_ENDS = ((64, (128, 256)), (128, (256, 512)), (256, (512, 1024)))
ENDS = ((53, (103, 198)), (103, (198, 382)), (198, (382, 737)))
FIRST = 10
N_TEST = 1000  # not in the file; the noise of draws is larger
LEAST_CHANCE = 0.02  # a table whose classes are rarer, or unknown, is left out
LEAST = 1e-3  # errors below are equally good
Z80 = 1.2816


def power(p: Array, n: Array) -> Array:
    """Return c + a n^−b."""
    return np.exp(p[0]) + np.exp(p[1] - np.exp(p[2]) * np.log(n))


def pow4(p: Array, n: Array) -> Array:
    """Return c + a (n + d)^−b."""
    return np.exp(p[0]) + np.exp(p[1] - np.exp(p[2]) * np.log(n + np.exp(p[3])))


def mmf4(p: Array, n: Array) -> Array:
    """Return (a b + c n^d) / (b + n^d)."""
    left = 1.0 / (1.0 + np.exp(np.clip(np.exp(p[3]) * np.log(n) - p[1], -500, 500)))
    return np.exp(p[0]) * left + np.exp(p[2]) * (1.0 - left)


RIVALS: dict[str, tuple[Callable[[Array, Array], Array], list[list[float]]]] = {
    "power law": (power, [[-3, -0.7, -0.7], [-6, -0.5, -1.6], [-2, 0, 0]]),
    "POW4": (pow4, [[-3, -0.7, -0.7, 0], [-6, -0.5, -1.6, 1], [-2, 1, 0, 3]]),
    "MMF4": (mmf4, [[-0.7, 2, -3, 0], [-0.7, 3, -6, -0.5], [-0.7, 6, -2, 0.7]]),
}
METHODS = ["ours", *RIVALS]


def rival_predictions(name: str, sizes: Array, errors: Array, ahead: Array) -> Array:
    """Return predictions (k, 3) of a rival fitted by least squares: lower, median and upper."""
    function, starts = RIVALS[name]

    def at(p: Array, n: Array) -> Array:
        return np.nan_to_num(function(np.clip(p, -30.0, 30.0), n), nan=1e3, posinf=1e3)

    fits = [
        least_squares(lambda p: at(p, sizes) - errors, start, method="lm", max_nfev=400)
        for start in starts
        if len(start) <= sizes.size
    ]
    best = min(fits, key=lambda fit: fit.cost)
    bar = Z80 * math.sqrt(2.0 * best.cost / max(sizes.size - best.x.size, 1))
    median = at(best.x, ahead)
    return np.stack([median - bar, median, median + bar], axis=1)


class Curve(NamedTuple):
    """A curve: what is given of it, and what is true at each size."""

    sizes: Array
    errors: Array
    true: Array
    aucs: Array | None
    n_test: int | None
    chance: float


def read(path: Path) -> dict[tuple[str, str], Curve]:
    """Return the curves of a file, by set and method."""
    table, curves = pd.read_csv(path), {}
    if "openmlid" in table:
        table = table.dropna(subset=["one_error", "error"]).sort_values("size_train")
        for (name, method), rows in table.groupby(["openmlid", "learner"], sort=False):
            sizes, errors, true = rows[["size_train", "one_error", "error"]].to_numpy(float).T
            n_test, chance = rows[["n_test", "chance"]].to_numpy(float)[0]
            curves[str(name), method] = Curve(sizes, errors, true, None, int(n_test), chance)
    else:
        table = table.sort_values("num_train")
        for (name, method), rows in table.groupby(["dataset", "method"], sort=False):
            sizes, right, aucs = rows[["num_train", "test_acc", "test_auc"]].to_numpy(float).T
            curves[name, method] = Curve(sizes, 1.0 - right, 1.0 - right, aucs, None, 0.5)
    return curves


def predictions(curve: Curve, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield what one method predicts from each beginning of a curve: the factor, and intervals."""
    true = dict(zip(curve.sizes.tolist(), curve.true, strict=True))
    for end, ahead in ENDS if curve.n_test is None else LCDB_ENDS:
        given = curve.sizes <= end
        sizes, errors = curve.sizes[given], curve.errors[given]
        asked = [size for size in ahead if size in true]
        if not asked or sizes.size < 4 or not curve.chance > LEAST_CHANCE:
            continue
        if name == "ours":
            options: dict[str, Any] = {"n_test": curve.n_test or N_TEST, "chance": curve.chance}
            if curve.aucs is not None:
                options["aucs"] = curve.aucs[given]
            table = plan.from_curve(sizes, errors, error=0.01, **options).predict(asked)
        else:
            late = sizes >= FIRST
            table = rival_predictions(name, sizes[late], errors[late], np.array(asked, float))
        for size, row in zip(asked, table, strict=True):
            yield 2 if size == ahead[0] else 4, true[size], *row


def main(path: Path, *, half: str = "judged", every: int = 1, methods: list[str] = METHODS) -> None:
    curves = read(path)
    sets = sorted(
        {name for name, _ in curves}, key=lambda name: (name.isdecimal() and int(name), name)
    )
    halves = {"chosen": sets[::2], "judged": sets[1::2], "both": sets}
    used = set(halves[half][::every])
    table = interval_table()
    for name in methods:
        rows = [
            (learner, *row)
            for (dataset, learner), curve in curves.items()
            if dataset in used
            for row in predictions(curve, name)
        ]
        predicted = pd.DataFrame(rows, columns=["learner", "factor", *INTERVAL])
        for factor, those in predicted.groupby("factor"):
            table.add(f"{name}, {factor} ×", *figures(those, LEAST))
            for learner, its_rows in those.groupby("learner"):
                table.add(f"  {learner}", *figures(its_rows, LEAST))


if __name__ == "__main__":
    run(main)
