"""``sparsetoken fit`` and ``sparsetoken predict``: classifiers of sequences in files."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from sparsetoken.cli.data import Dataset, read_dataset
from sparsetoken.cli.output import message, print_json, print_table
from sparsetoken.estimators import (
    AttentionClassifier,
    PooledClassifier,
    TwoStepAttentionClassifier,
    VectorizedClassifier,
    load,
    save,
)
from sparsetoken.experiments import write_table

__all__ = ["fit", "predict"]


class Kind(StrEnum):
    """The classifiers."""

    attention = "attention"
    two_step = "two-step"
    pooled = "pooled"
    vectorized = "vectorized"


Data = Annotated[
    Path,
    typer.Argument(
        help="Sequences: .npz with X (n, L, d), or X (tokens, d) and bag, and y; or .csv with one "
        "token per line: sequence, label, features."
    ),
]
SequenceColumn = Annotated[str, typer.Option(help="Column of a .csv that names the sequence.")]
LabelColumn = Annotated[str, typer.Option(help="Column of a .csv with the label.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = Path("model.npz"),
    model: Annotated[Kind, typer.Option(help="The classifier.")] = Kind.attention,
    reg: Annotated[
        float | None, typer.Option(help="Ridge; by default chosen (attention) or 0.01.")
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="Share of the sequences that are kept to judge it; 0 for none.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Seed of splits and folds.")] = 0,
    sequence: SequenceColumn = "sequence",
    label: LabelColumn = "label",
    as_json: AsJson = False,
) -> None:
    """Fit a classifier to labelled sequences and save it.

    It is judged on held-out sequences first, then fitted to all of them.
    """
    if not 0.0 <= held_out < 1.0:
        raise ValueError(f"--held-out must be a number in [0, 1), got {held_out:g}")
    dataset = read_dataset(data, sequence, label)
    if dataset.labels is None:
        raise ValueError(f"{data} has no labels: an array 'y', or the column {label!r}")
    classifier = _classifier(model, reg, seed)
    report: dict[str, Any] = {"model": model.value, "sequences": len(dataset.names)}
    if held_out:
        report |= _judge(classifier, dataset, held_out, seed)
    classifier.fit(dataset.sequences, dataset.labels)
    report["classes"] = [str(name) for name in classifier.classes_]
    reliability = getattr(classifier, "query_reliability_", None)
    if reliability is not None:
        report["query_reliability"] = float(reliability)
    save(classifier, out)
    report["file"] = str(out)
    if as_json:
        print_json(report)
    else:
        print_table(("fitted", ""), [(name, _text(value)) for name, value in report.items()])


def predict(
    model: Annotated[Path, typer.Argument(help="A model that 'sparsetoken fit' has saved.")],
    data: Data,
    top: Annotated[
        int, typer.Option(min=0, help="How many of the tokens that matter most to show.")
    ] = 3,
    out: Annotated[Path | None, typer.Option(help="Write the table to this .csv.")] = None,
    sequence: SequenceColumn = "sequence",
    label: LabelColumn = "label",
    as_json: AsJson = False,
) -> None:
    """Score sequences with a saved model, and name the tokens that matter."""
    classifier = load(model)
    dataset = read_dataset(data, sequence, label)
    scores = classifier.decision_function(dataset.sequences)
    chances = classifier.predict_proba(dataset.sequences)[:, 1]
    predicted = classifier.predict(dataset.sequences)
    rows: list[dict[str, Any]] = [
        {
            "sequence": name,
            "predicted": _plain(predicted[i]),
            "probability": float(chances[i]),
            "score": float(scores[i]),
        }
        for i, name in enumerate(dataset.names)
    ]
    if top and hasattr(classifier, "explain"):
        for row, found in zip(rows, classifier.explain(dataset.sequences, top=top), strict=True):
            row["top_tokens"] = [
                {"token": int(token), "weight": float(weight)}
                for token, weight in zip(found.tokens, found.weights, strict=True)
            ]
    if dataset.labels is not None:
        for row, known in zip(rows, dataset.labels, strict=True):
            row["label"] = _plain(known)
    if as_json:
        print_json(rows)
        return
    shown = [{name: _text(value) for name, value in row.items()} for row in rows]
    if out is not None:
        write_table(shown, out)
        message(f"{len(rows)} rows: {out}")
        return
    title = f"probability of {_plain(classifier.classes_[1])!r}; top tokens with their weights"
    print_table(tuple(shown[0]), [tuple(row.values()) for row in shown], title)


def _classifier(kind: Kind, reg: float | None, seed: int) -> Any:
    options: dict[str, Any] = {} if reg is None else {"reg": reg}
    if kind == Kind.attention:
        return AttentionClassifier(random_state=seed, **options)
    if kind == Kind.two_step:
        return TwoStepAttentionClassifier(random_state=seed, **options)
    return {Kind.pooled: PooledClassifier, Kind.vectorized: VectorizedClassifier}[kind](**options)


def _judge(classifier: Any, dataset: Dataset, share: float, seed: int) -> dict[str, float]:
    """Return accuracy and AUC on held-out sequences of a fit to the others."""
    labels: Any = dataset.labels
    counts = np.unique(labels, return_counts=True)[1]
    if len(counts) == 2 and counts.min() < 2:
        raise ValueError("a class has one sequence only, too few to hold any out: --held-out 0")
    rows = np.arange(len(labels))
    kept, tested = train_test_split(rows, test_size=share, stratify=labels, random_state=seed)
    classifier.fit(dataset.sequences[kept], labels[kept])
    held = dataset.sequences[tested]
    found = {"held_out": len(tested)}
    accuracy = accuracy_score(labels[tested], classifier.predict(held))
    positive = labels[tested] == classifier.classes_[1]
    auc = roc_auc_score(positive, classifier.decision_function(held))
    return found | {"held_out_accuracy": float(accuracy), "held_out_auc": float(auc)}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(
            f"{item['token']}:{item['weight']:.2f}" if isinstance(item, dict) else str(item)
            for item in value
        )
    return f"{value:.4g}" if isinstance(value, float) else str(value)
