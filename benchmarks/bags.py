"""Accuracy on real bags: 5 × StratifiedKFold(10), default arguments. Takes a quarter of an hour.

``python -m benchmarks.bags --data FOLDER`` with ``tiger.npz`` and ``fox.npz`` in the folder: arrays
``X`` (all instances stacked), ``bag`` (bag of each instance, sorted) and ``y`` (0/1 per bag). Sets
that are missing are skipped. With torch installed, an attention-MIL network runs on the same folds.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from sparsetoken import AttentionClassifier, Sequences

Labels = NDArray[np.int64]


class Result(NamedTuple):
    """Means over the folds, and the standard error of the AUC over them."""

    accuracy: float
    auc: float
    auc_error: float
    seconds: float


def needle_digits(n_bags: int = 300, seed: int = 0) -> tuple[Sequences, Labels]:
    """Return bags of about 20 digits; each positive one holds exactly one 9, used nowhere else."""
    rng = np.random.default_rng(seed)
    images, digits = load_digits(return_X_y=True)
    nines = rng.permutation(images[digits == 9])
    others = images[digits != 9]
    y = (np.arange(n_bags) < n_bags // 2).astype(np.int64)
    bags = []
    for i, label in enumerate(y):
        bag = others[rng.choice(len(others), rng.integers(15, 26), replace=False)]
        if label:
            bag[rng.integers(len(bag))] = nines[i]
        bags.append(bag)
    return Sequences.from_list(bags), y


def stored_bags(path: Path) -> tuple[Sequences, Labels]:
    with np.load(path, allow_pickle=False) as stored:
        offsets = np.concatenate([[0], np.cumsum(np.bincount(stored["bag"]))])
        return Sequences(stored["X"], offsets), stored["y"].astype(np.int64)


class MeanPooling(BaseEstimator):  # type: ignore[misc]
    """The usual baseline: ridge-regularised logistic regression of the mean instance."""

    def fit(self, X: Sequences, y: Labels) -> "MeanPooling":
        """Fit with the ridge chosen by inner folds."""
        scores = {"Cs": 10, "cv": 5, "max_iter": 5000, "scoring": "roc_auc"}
        extra = {"l1_ratios": (0.0,), "use_legacy_attributes": False}
        self.model_ = make_pipeline(StandardScaler(), LogisticRegressionCV(**scores, **extra))
        self.model_.fit(self._pooled(X), y)
        return self

    def decision_function(self, X: Sequences) -> NDArray[np.float64]:
        """Return the log-odds."""
        return self.model_.decision_function(self._pooled(X))

    def _pooled(self, X: Sequences) -> NDArray[np.float64]:
        return np.add.reduceat(X.tokens, X.offsets[:-1]) / X.lengths[:, np.newaxis]


class AttentionNetwork(BaseEstimator):  # type: ignore[misc]
    """A plain attention-MIL network in torch: embedding, attention, readout; Adam."""

    def fit(self, X: Sequences, y: Labels) -> "AttentionNetwork":
        """Train for 50 epochs."""
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.scaler_ = StandardScaler().fit(X.tokens)
        dim, width = X.dim, 64
        self.embed_ = torch.nn.Sequential(torch.nn.Linear(dim, width), torch.nn.ReLU())
        self.attend_ = torch.nn.Sequential(
            torch.nn.Linear(width, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
        )
        self.readout_ = torch.nn.Linear(width, 1)
        parts = (self.embed_, self.attend_, self.readout_)
        parameters = [p for part in parts for p in part.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=1e-3, weight_decay=1e-3)
        bags, targets = self._bags(X), torch.tensor(y, dtype=torch.float32)
        loss = torch.nn.BCEWithLogitsLoss()
        rng = np.random.default_rng(0)
        for _ in range(50):
            for rows in np.array_split(rng.permutation(len(y)), max(1, len(y) // 16)):
                scores = torch.stack([self._score(bags[i]) for i in rows])
                optimiser.zero_grad()
                loss(scores, targets[rows]).backward()
                optimiser.step()
        return self

    def decision_function(self, X: Sequences) -> NDArray[np.float64]:
        """Return the log-odds."""
        import torch

        with torch.no_grad():
            return np.array([float(self._score(bag)) for bag in self._bags(X)])

    def _bags(self, X: Sequences) -> list[Any]:
        import torch

        scaled = Sequences(self.scaler_.transform(X.tokens).astype(np.float32), X.offsets)
        return [torch.from_numpy(bag) for bag in scaled]

    def _score(self, bag: Any) -> Any:
        hidden = self.embed_(bag)
        return self.readout_(self.attend_(hidden).softmax(dim=0).T @ hidden).squeeze()


def evaluate(
    model: Callable[[], Any], X: Sequences, y: Labels, seeds: int, folds: int = 10
) -> Result:
    """Return the means over repeated folds."""
    accuracy, auc, seconds = [], [], []
    for seed in range(seeds):
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        for train, test in splitter.split(y, y):
            start = time.perf_counter()
            fitted = model().fit(X[train], y[train])
            seconds.append(time.perf_counter() - start)
            scores = fitted.decision_function(X[test])
            accuracy.append(float(np.mean((scores > 0) == y[test])))
            auc.append(float(roc_auc_score(y[test], scores)))
    # Folds of one seed share no test sample; those of different seeds repeat them.
    error = float(np.std(auc, ddof=1) / np.sqrt(folds))
    return Result(float(np.mean(accuracy)), float(np.mean(auc)), error, float(np.mean(seconds)))


def rbf_map() -> Any:
    """Return the token map for informative tokens that are not a shifted mean."""
    return make_pipeline(MinMaxScaler(), Nystroem(gamma=0.3, n_components=300, random_state=0))


def sets(folder: Path | None, chosen: list[str]) -> Iterator[tuple[str, Sequences, Labels]]:
    if "needle" in chosen:
        yield "needle", *needle_digits()
    for name in ("tiger", "fox"):
        if name not in chosen:
            continue
        path = None if folder is None else folder / f"{name}.npz"
        if path is None or not path.exists():
            print(f"{name}: skipped, --data FOLDER has no {name}.npz")
        else:
            yield name, *stored_bags(path)
    if "noise" in chosen:
        X, y = needle_digits()
        yield "noise", X, np.random.default_rng(1).permutation(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with tiger.npz and fox.npz")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", default="needle,tiger,fox,noise")
    parser.add_argument("--models", default="pooled,attention,mapped,torch")
    options = parser.parse_args()
    wanted = options.models.split(",")
    models: dict[str, Callable[[], Any]] = {
        "pooled": MeanPooling,
        "attention": lambda: AttentionClassifier(random_state=0),
        "mapped": lambda: AttentionClassifier(token_map=rbf_map(), random_state=0),
        "torch": AttentionNetwork,
    }
    if "torch" in wanted and importlib.util.find_spec("torch") is None:
        print("torch: skipped, not installed")
        wanted.remove("torch")
    print(f"{'set':<8} {'model':<10} {'accuracy':>8} {'AUC':>8} {'± s.e.':>7} {'s a fit':>8}")
    for name, X, y in sets(options.data, options.sets.split(",")):
        for label in wanted:
            if label == "mapped" and name != "fox":
                continue
            result = evaluate(models[label], X, y, options.seeds)
            print(
                f"{name:<8} {label:<10} {result.accuracy:>8.3f} {result.auc:>8.3f} "
                f"{result.auc_error:>7.3f} {result.seconds:>8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
