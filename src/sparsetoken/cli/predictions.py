"""What ``sparsetoken predict`` tells: a row a sequence, or a row a token."""

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsetoken._replace import replaced
from sparsetoken._validation import import_extra
from sparsetoken.cli.output import message

if TYPE_CHECKING:
    from sparsetoken.files import Dataset
    from sparsetoken.inspection.measures import Measure

_NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)


def predictions(
    classifier: Any, dataset: "Dataset", top: int
) -> "tuple[list[dict[str, Any]], list[Measure]]":
    """Return one row a sequence, and measures if there are labels."""
    from sparsetoken.inspection.measures import judge
    from sparsetoken.sequences.fingerprints import seen_in_fit

    X, classes = dataset.sequences, classifier.classes_
    seen = int(seen_in_fit(classifier, X).sum())
    if seen:
        message(
            f"{seen} of the {len(X)} sequences of {dataset.path} were used to fit this model: it "
            "has seen their labels, so its scores here are too good"
        )
    scores, chances = classifier.decision_function(X), classifier.predict_proba(X)
    best = chances.argmax(axis=1)
    predicted = classifier.predict(X)
    rows: list[dict[str, Any]] = []
    two = len(classes) == 2
    for i, name in enumerate(dataset.ids):
        rows.append(
            {
                "sequence": name,
                "predicted": plain(predicted[i]),
                "probability": float(chances[i, 1 if two else best[i]]),
                "probabilities": {
                    str(label): float(chance)
                    for label, chance in zip(classes, chances[i], strict=True)
                },
                "score": float(scores[i] if two else scores[i, best[i]]),
            }
        )
    if top and hasattr(classifier, "explain"):
        for row, found in zip(rows, classifier.explain(X, top=top), strict=True):
            row["top_tokens"] = [
                {"token": int(token), "weight": float(weight)}
                for token, weight in zip(found.tokens, found.weights, strict=True)
            ]
    if dataset.labels is None:
        return rows, []
    for row, known in zip(rows, dataset.labels, strict=True):
        row["label"] = plain(known)
    named = {str(name): name for name in classes.tolist()}
    known = [i for i, row in enumerate(rows) if str(row["label"]) in named]
    if not known:
        message(f"the labels of {dataset.path} are none of the model's: {', '.join(named)}")
        return rows, []
    labels = classes[[list(named).index(str(rows[i]["label"])) for i in known]]
    return rows, judge(labels, predicted[known], scores[known], classes)


def per_class(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as columns, with one for the probability of each class."""
    columns: dict[str, list[Any]] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name == "probabilities":
            for label in values[0]:
                columns[f"probability_{label}"] = [chances[label] for chances in values]
        else:
            columns[name] = values
    return columns


def token_columns(classifier: Any, dataset: "Dataset") -> dict[str, list[Any]]:
    """Return a table with one row a token, in the order of sequences and positions."""
    import numpy as np

    lengths = dataset.sequences.lengths
    table: dict[str, list[Any]] = {
        "sequence": np.repeat(np.array(dataset.ids, dtype=object), lengths).tolist(),
        "position": np.concatenate([np.arange(length) for length in lengths]).tolist(),
        "row": dataset.rows.tolist(),
    }
    if dataset.coords is not None:
        for axis, places in zip("xyz", dataset.coords.T, strict=False):
            table[axis] = places.tolist()
    table |= {"weight": [], "contribution": [], "towards": []}
    two = [str(name) for name in classifier.classes_]
    for found in classifier.explain(dataset.sequences, top=int(lengths.max())):
        order = np.argsort(found.tokens)
        own = str(found.label)
        other = two[0] if len(two) == 2 and own == two[1] else f"not {own}"
        contribution = found.contributions[order]
        table["weight"] += found.weights[order].tolist()
        table["contribution"] += contribution.tolist()
        table["towards"] += [own if part >= 0 else other for part in contribution]
    return table


def write_columns(columns: dict[str, list[Any]], path: Path) -> int:
    """Write a table to .csv or .parquet, and return the number of its rows."""
    with replaced(path) as temporary:
        if path.suffix == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(map(_harmless, columns))
                writer.writerows(map(_harmless, row) for row in zip(*columns.values(), strict=True))
        else:
            parquet = import_extra("pyarrow.parquet", f"{path}: Parquet")
            parquet.write_table(import_extra("pyarrow", "Parquet").table(columns), temporary)
    return len(next(iter(columns.values())))


def _harmless(cell: Any) -> Any:
    """Return text that a spreadsheet would run with an apostrophe before it."""
    runs = isinstance(cell, str) and cell[:1] in ("=", "@", "+", "-", "\t")
    return f"'{cell}" if runs and not _NUMBER.fullmatch(cell) else cell


def plain(value: Any) -> Any:
    """Return a number or text of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value
