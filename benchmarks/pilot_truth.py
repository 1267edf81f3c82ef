"""Do plans from pilots hold? ``python -m benchmarks.pilot_truth --data FOLDER --out FILE``.

For families of real and simulated data: train a classifier on parts of small pilots, extrapolate to
twice and four times the pilot, and compare with the mean error of the classifier at these sizes, by
fresh samples or by held-out ones. Real sets are smaller than four times the larger pilots: there
the largest size is 0.9 of the set. Everything computed is kept in FILE, a line of JSON each; run
again to continue. FOLDER has the sets of ``benchmarks.data``; those that are missing are left out.
``--families``, ``--pilots`` (their sizes), ``--repeats`` (pilots of each size) and ``--truths``
(trainings for each true error) make it smaller; ``--report`` computes nothing more.

With ``--tables`` the families are ten ordinary tables, stored and made by scikit-learn, the
classifiers six of its learners, the pilots of 60 to 150 rows. Nothing was chosen on these.

The prior was chosen on the other families, with the quick classifier. Those of ``FRESH`` were
written later, to judge whether a prior of steeper curves suits the default classifier better. It
did not, so the prior stayed as it was.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.families import Simulated, generator
from benchmarks.families import families as all_families
from benchmarks.peers import Makers
from benchmarks.report import Kept, Table, run
from sparsetoken import AttentionClassifier, SparseTokenClassifier
from sparsetoken.planner.curves import PILOT, CurvePoints, LearningCurves, extrapolate
from sparsetoken.planner.metric import Metric, get_metric
from sparsetoken.planner.pilot import cut_pilot, pilot_points, train_on_parts

FRESH = ("sevens", "either", "scales", "words", "strong", "weak", "lengths", "unequal")
PILOTS = [40, 80, 120]
ROWS_OF_PILOTS = [60, 100, 150]
LEAST = 1e-3  # what a true error below counts as
ERROR = get_metric("error")
STORED = ("sizes", "errors", "bars", "n_tested", "unit", "chance", "fixed")
"""What is kept of the measurements of a pilot: of errors and, for two classes, of ranks."""


class Rows:
    """A table, a row a sample: pilots are parts of it, the truth is tested on what is left."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, y
        self.most = int(0.9 * len(y))

    def split(self, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        train, test = train_test_split(
            np.arange(len(self.y)), train_size=n, stratify=self.y,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        return (self.X[train], self.y[train]), (self.X[test], self.y[test])


def ordinary_tables() -> dict[str, Any]:
    """Return ten tables: four that scikit-learn has, and six that it makes."""
    made: dict[str, tuple[Any, Any]] = {
        "sparse": datasets.make_classification(3000, 40, n_informative=5, random_state=1),
        "noisy": datasets.make_classification(3000, 20, flip_y=0.2, random_state=2),
        "three": datasets.make_classification(
            3000, 15, n_informative=6, n_classes=3, random_state=3
        ),
        "moons": datasets.make_moons(3000, noise=0.25, random_state=4),
        "hastie": datasets.make_hastie_10_2(3000, random_state=5),
        "rare": datasets.make_classification(
            3000, 12, n_informative=4, weights=[0.85], random_state=6
        ),
    }
    loaders = {name: getattr(datasets, f"load_{name}") for name in ("digits", "wine", "iris")}
    stored = {name: load(return_X_y=True) for name, load in loaders.items()}
    stored["cancer"] = datasets.load_breast_cancer(return_X_y=True)
    return {name: Rows(*table) for name, table in (stored | made).items()}


ESTIMATORS: Makers = {
    "attention": lambda: AttentionClassifier(
        reg=0.03, shrinkage=1.0, cv=2, refine_steps=30, random_state=0
    ),
    "default": lambda: SparseTokenClassifier(random_state=0),
}
LEARNERS: Makers = {
    "logistic": lambda: make_pipeline(
        StandardScaler(), GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.01, 1.0]}, cv=2)
    ),
    "neighbors": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "forest": lambda: RandomForestClassifier(50, random_state=0),
    "bayes": GaussianNB,
    "kernel": lambda: make_pipeline(StandardScaler(), SVC()),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
}


def observe_pilot(family: Any, name: str, estimator: str, n: int, index: int) -> dict[str, Any]:
    (X, y), _ = family.split(n, generator(name, n, index))
    rng = generator(name, n, index, "cuts")
    cuts = [cut_pilot(y, None, rng) for _ in range(2)]
    measured = pilot_points(train_on_parts((ESTIMATORS | LEARNERS)[estimator](), X, y, cuts))
    return {name: np.asarray(getattr(measured, name)).tolist() for name in STORED}


def true_error(family: Any, name: str, estimator: str, n: int, index: int) -> float:
    (X, y), (X_test, y_test) = family.split(n, generator(name, n, index, "truth"))
    return 1.0 - float((ESTIMATORS | LEARNERS)[estimator]().fit(X, y).score(X_test, y_test))


def targets(n: int, most: int) -> list[int]:
    """Return twice and four times the pilot, as far as the family has samples."""
    return sorted({m for m in (2 * n, min(4 * n, most)) if n * 1.3 <= m <= most})


def cells(
    by_name: dict[str, Any], estimator: str, pilots: list[int], repeats: int, truths: int
) -> Iterator[tuple[Any, ...]]:
    """Yield what to compute, a pilot of each family first; so an early stop leaves no gap."""
    sizes = {
        name: [n for n in pilots if targets(n, family.most)] for name, family in by_name.items()
    }
    for index in range(repeats):
        for name in by_name:
            for n in sizes[name]:
                yield ("pilot", estimator, name, n, index)
        for name, family in by_name.items():
            # Held-out parts of a stored set are small: more of them.
            total = truths if isinstance(family, Simulated) else 5 * truths // 2
            for n in sorted({m for pilot in sizes[name] for m in targets(pilot, family.most)}):
                for one in range(index * total // repeats, (index + 1) * total // repeats):
                    yield ("truth", estimator, name, n, one)


class PowerLaws(LearningCurves):
    """The rival: e = c [f + (1 − f) (1 + n/n₀)^−b], c the error of chance."""

    def __init__(self, normal: Any, chance: float, prior: Any) -> None:
        super().__init__(normal, chance, prior)
        self.chance = chance
        self.exponent = 0.8 * np.exp(0.6 * normal[:, :1])
        self.scale = 0.6 * np.exp(1.8 * normal[:, 1:2])
        self.floor = betaincinv(0.5, 3.0, ndtr(normal[:, 2:3]))

    def error(self, metric: Metric, size: Any) -> Any:
        """Return the error, or the ranks of two Gaussian classes with this error."""
        fall = (1.0 + size / self.scale) ** -self.exponent
        error = self.chance * (self.floor + (1.0 - self.floor) * fall)
        if metric.name == "error":
            return error
        distance = -2.0 * ndtri(np.minimum(0.5 * error / self.chance, 0.5)) + self.ranking
        return metric.of_gaussians(np.maximum(distance, 0.0), 0.0, 0.5)


Predictions = list[tuple[str, Any]]
"""Family, and true error, lower end, median and upper end."""
METHODS: dict[str, Callable[[CurvePoints], Any]] = {
    "ours": extrapolate,
    "power law, errors and ranks": lambda m: extrapolate(m, PowerLaws),
    "power law, errors alone": lambda m: extrapolate(without_ranks(m), PowerLaws),
}


def without_ranks(measured: CurvePoints) -> CurvePoints:
    k = measured.sizes.size
    return measured._replace(
        metrics=measured.metrics[:1],
        errors=measured.errors[:1],
        bars=measured.bars[:1],
        fixed=measured.fixed[:k, :k],
    )


class Results:
    """Pilots and true errors that were kept."""

    def __init__(self, results: dict[str, Any], estimators: list[str]) -> None:
        errors: dict[tuple[str, int], list[float]] = defaultdict(list)
        self.pilots: dict[tuple[str, int, int], CurvePoints] = {}
        for text, result in results.items():
            kind, used, name, n, index = json.loads(text)
            name = f"{name}, {used}" if len(estimators) > 1 else name
            if used not in estimators:
                continue
            if kind == "truth":
                errors[name, n].append(result)
                continue
            arrays: Any = {k: np.array(v) if isinstance(v, list) else v for k, v in result.items()}
            metrics = (ERROR, get_metric("auc"))[: len(arrays["errors"])]
            self.pilots[name, n, index] = CurvePoints(metrics=metrics, prior=PILOT, **arrays)
        self.truth = {key: max(float(np.mean(each)), LEAST) for key, each in errors.items()}

    def cases(self) -> Iterator[tuple[str, int, CurvePoints, list[int]]]:
        """Yield the family of each pilot, its size and measurements, and the sizes to predict."""
        for (name, n, _), measured in self.pilots.items():
            sizes = [m for family, m in self.truth if family == name and 1.3 * n <= m <= 4 * n]
            if sizes:
                yield name, n, measured, sizes

    def predictions(self, method: Callable[[CurvePoints], Any]) -> Predictions:
        rows: Predictions = []
        for name, _, measured, sizes in self.cases():
            levels = method(measured).quantiles(ERROR, np.array(sizes, float), (0.1, 0.5, 0.9))
            rows += [
                (name, (self.truth[name, m], *row)) for m, row in zip(sizes, levels, strict=True)
            ]
        return rows

    def stays(self) -> list[float]:
        """Return how far, in logarithms, the last measured error is from what is predicted."""
        return [
            abs(math.log(max(measured.errors[0, -1], 0.5 / n) / self.truth[name, m]))
            for name, n, measured, sizes in self.cases()
            for m in sizes
        ]


def figures(rows: list[Any]) -> list[float]:
    true, lower, median, upper = np.array(rows).T
    off = np.log(median / true)
    missed = np.maximum(lower - true, 0.0) + np.maximum(true - upper, 0.0)
    held, width = np.mean((lower <= true) & (true <= upper)), upper - lower
    score = np.mean(width + 10.0 * missed)
    return [len(rows), held, np.median(np.abs(off)), np.median(off), np.median(width), score]


def show(results: Results) -> None:
    """Print how the methods did: in all, by family and, if there are several, by learner."""
    table = Table("method:30", "n:4d", "held:5.0%", "|log|:7.3f", "bias:+7.3f", "width:7.3f",
                  "score:7.3f")  # fmt: skip
    for title, method in METHODS.items():
        rows = results.predictions(method)
        table.add(title, *figures([row for _, row in rows]))
        parts: dict[str, list[Any]] = defaultdict(list)
        for name, row in rows:
            family, _, learner = name.partition(", ")
            if not learner:
                parts["  fresh" if family in FRESH else "  designed on"].append(row)
            if title == "ours":
                for part in filter(None, (family, learner)):
                    parts[f"    {part}"].append(row)
        for name in sorted(parts, reverse=True):
            table.add(name, *figures(parts[name]))
    stays = results.stays()
    print(f"the error stays: {len(stays)}, |log| {np.median(stays):.3f}")


def main(
    *,
    data: Path | None = None,
    out: Path = Path("pilot_truth.jsonl"),
    tables: bool = False,
    estimator: str = "attention",
    families: list[str] | None = None,
    pilots: list[int] | None = None,
    repeats: int = 8,
    truths: int = 24,
    report: bool = False,
) -> None:
    estimators, kept = [*LEARNERS] if tables else [estimator], Kept(out)
    sizes = pilots or (ROWS_OF_PILOTS if tables else PILOTS)
    by_name = ordinary_tables() if tables else all_families(data)
    by_name = {name: by_name[name] for name in families or by_name}
    for one in () if report else estimators:
        for key in cells(by_name, one, sizes, repeats, truths):
            kind, _, name, n, index = key
            work: Any = observe_pilot if kind == "pilot" else true_error
            kept.get(json.dumps(key), partial(work, by_name[name], name, one, n, index))
    show(Results(kept.results, estimators))


if __name__ == "__main__":
    run(main)
