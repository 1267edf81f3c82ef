"""A visitor's own data: where the file is kept, and what is found out about it."""

import re
import tempfile
from collections.abc import AsyncIterator, Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from sparsetoken.app.content import Content, Line, Panel, PanelAxis, Progress, level, weight_panel
from sparsetoken.app.words import per_cent
from sparsetoken.vocabulary import COLORS, SPEAKS

MOST_BYTES = 200_000_000
_MOST_NUMBERS = 20_000_000  # of all tokens; more would take minutes
_HELD_OUT = 0.25
_SHOWN = 60  # sequences whose tokens can be looked at
_EFFORT, _TREES = 0.5, 100  # of the plan: one that a visitor can wait for
_LONGEST_NAME = 200  # bytes

FIELDS = {
    "by": "Column of the sequence",
    "label": "Column of the label",
    "group": "Column of the group",
    "features": "Columns of features",
    "ignore": "Columns to leave out",
    "layer": "Layer",
}
"""What a visitor may say about the columns of a file, with the names of the page."""

_WORDS = {
    r"(, or|;) name a table of labels with labels=": "",
    r"max_numbers=\d+ are allowed": f"the page takes {_MOST_NUMBERS / 1e6:g} million: use "
    "'sparsetoken fit' on the command line",
}


class ShownSequence(BaseModel):
    """A held-out sequence with the weights of its tokens."""

    name: str
    label: str
    predicted: str
    probability: float
    """Of the predicted class."""
    panel: Panel


class Study(BaseModel):
    """What is known of a file; more with each step."""

    sentence: str = ""
    read: dict[str, str]
    """What the file holds."""
    held_out: dict[str, str] = {}
    """Measures on sequences that were held out, with 95 % intervals."""
    roc: Panel | None = None
    members: dict[str, str] = {}
    """The classifier's parts and their weights."""
    sequences: list[ShownSequence] = []
    diagnosis: str = ""
    plan: Content | None = None
    """How the error falls with more sequences."""


async def save(name: str, chunks: AsyncIterator[bytes]) -> tuple[Path, Callable[[], None]]:
    """Write a file that arrives in chunks; return where it is and what deletes it.

    It keeps its name, in a folder that this user alone can read. Nothing stays behind if it does
    not arrive in full.

    Raises
    ------
    HTTPException
        If the disk has no room for it.
    """
    plain = re.sub(r"[^\w. ()-]", "_", name).encode()[-_LONGEST_NAME:].decode(errors="ignore")
    folder = tempfile.TemporaryDirectory(prefix="sparsetoken-", ignore_cleanup_errors=True)
    path = Path(folder.name, plain if plain.strip(". ") else "file")
    try:
        with path.open("wb") as file:
            async for chunk in chunks:
                file.write(chunk)
    except BaseException as error:
        folder.cleanup()
        if not isinstance(error, OSError):
            raise
        async for _ in chunks:  # a browser listens only when it has sent all
            pass
        raise HTTPException(507, f"{name} could not be kept here: {error.strerror}.") from None
    return path, folder.cleanup


def study(
    path: Path, name: str, columns: dict[str, Any], error: float, send: Callable[[Progress], None]
) -> None:
    """Read a file, fit a classifier, judge, explain and diagnose it, and plan with it."""
    results = Study(read={})

    def report(done: int, message: str, **news: Any) -> None:
        nonlocal results
        results = results.model_copy(update=news)
        content = results if results.read else None
        send(Progress(done=done, total=4, message=message, content=content))

    try:
        _study(path, columns, error, report)
    except ValueError as wrong:
        raise ValueError(in_page_words(str(wrong).replace(str(path), name))) from None


def in_page_words(text: str) -> str:
    """Return a message with fields of the page in place of options and arguments."""
    for pattern, words in _WORDS.items():
        text = re.sub(pattern, words, text)
    names = "|".join(FIELDS)
    text = re.sub(rf"\b({names})=(?=')", r"--\1 ", text)  # with a value
    return re.sub(
        rf"--({names})\b|\b({names})=", lambda name: f"“{FIELDS[name[1] or name[2]]}”", text
    )


def _study(path: Path, columns: dict[str, Any], error: float, report: Callable[..., None]) -> None:
    from sparsetoken.estimators import SparseTokenClassifier
    from sparsetoken.inspection.measures import hold_out
    from sparsetoken.planner import plan
    from sparsetoken.reporting.evidence import gather

    report(0, "reading")
    data = _read_file(path, columns)
    X, y, groups = data.sequences, np.asarray(data.labels), data.groups
    report(1, "fitting", read=_describe(X, y))
    kept, tested = hold_out(y, groups, _HELD_OUT, random_state=0)
    kept_groups = None if groups is None else groups[kept]
    classifier = SparseTokenClassifier(random_state=0).fit(X[kept], y[kept], groups=kept_groups)
    evidence = gather(classifier, X[tested], y[tested], plan=False)
    measures = {measure.name: str(measure) for measure in evidence.measures}
    measures |= {"recall": evidence.no_recall} if evidence.no_recall else {}
    report(
        2,
        "looking at tokens",
        held_out=measures | {"always the larger class": f"{evidence.majority:.3f}"},
        roc=_roc(evidence.roc),
        members={member: f"{weight:.2f}" for member, weight in evidence.members.items()},
        # Whether more samples help is what the plan says, from more than two sizes.
        diagnosis="\n".join(line.partition(" More samples ")[0] for line in evidence.findings),
    )
    report(3, "planning", sequences=_sequences(classifier, X[tested[:_SHOWN]], y[tested[:_SHOWN]]))
    planned = plan.from_pilot(
        X=X,
        y=y,
        error=error,
        estimator=SparseTokenClassifier(n_trees=_TREES, random_state=0),
        groups=groups,
        effort=_EFFORT,
        progress=lambda message: report(3, message),
    )
    accuracy = evidence.measures[0]
    sentence = (
        f"A classifier of {len(kept)} sequences labels {per_cent(accuracy.value)} of {len(tested)} "
        f"others correctly ({per_cent(accuracy.low)} to {per_cent(accuracy.high)}); always the "
        f"larger class would be right in {per_cent(evidence.majority)}."
    )
    report(4, "", plan=pilot_content(planned), sentence=sentence)


def _read_file(path: Path, columns: dict[str, Any]) -> Any:
    """Read the sequences that have labels, unless there are too many numbers."""
    from sparsetoken.files import read_dataset

    options = {name: value for name, value in columns.items() if value not in ("", None)}
    for name in {"features", "ignore"} & set(options):
        options[name] = [pattern.strip() for pattern in options[name].split(",")]
    return read_dataset(path, max_numbers=_MOST_NUMBERS, **options).with_labels()


def _describe(X: Any, y: Any) -> dict[str, str]:
    lengths = np.diff(X.offsets)
    classes, counts = np.unique(y, return_counts=True)
    names = [] if X.feature_names is None else [str(name) for name in X.feature_names]
    listed = ", ".join(names[:4]) + (" …" if len(names) > 4 else "")
    return {
        "sequences": str(len(X)),
        "tokens": f"{lengths.sum()}, {lengths.min()} to {lengths.max()} a sequence "
        f"(median {np.median(lengths):g})",
        "features of a token": f"{X.dim}" + (f" ({listed})" if names else ""),
        "labels": ", ".join(f"{c} ({n})" for c, n in zip(classes, counts, strict=True)),
    }


def _roc(roc: dict[str, Any]) -> Panel:
    curves = [
        Line(name=f"for {name}", color=color, x=fpr.tolist(), y=tpr.tolist(), look="steps")
        for (name, (fpr, tpr)), color in zip(roc.items(), cycle(COLORS))
    ]
    return Panel(
        x=PanelAxis(title="false-positive rate", ends=(-0.01, 1.01)),
        y=PanelAxis(title="recall", ends=(-0.01, 1.01)),
        curves=[*curves, Line(name="chance", look="dot", x=[0.0, 1.0], y=[0.0, 1.0])],
    )


def _sequences(classifier: Any, X: Any, y: Any) -> list[ShownSequence]:
    names = range(len(X)) if X.ids is None else X.ids
    probability = classifier.predict_proba(X)
    longest = int(np.diff(X.offsets).max())
    return [
        ShownSequence(
            name=str(names[i]),
            label=str(y[i]),
            predicted=str(classifier.classes_[probability[i].argmax()]),
            probability=float(probability[i].max()),
            panel=_tokens(explanation.by_position()),
        )
        for i, explanation in enumerate(classifier.explain(X, top=longest))
    ]


def _tokens(explanation: Any) -> Panel:
    """Return the weights of a sequence's tokens as bars, colored by what each speaks for."""
    agrees = explanation.contributions >= 0
    sides = {
        f"speaks {side} {explanation.speaks_for}": (SPEAKS[side], mask)
        for side, mask in (("for", agrees), ("against", ~agrees))
    }
    return weight_panel("token", explanation.weights, sides)


def pilot_content(planned: Any) -> Content:
    """Return the fan of learning curves that agree with what was measured."""
    curve, observed = planned.curve, planned.to_dict()["observed"]
    x = list(map(float, curve.n_samples))
    fan: dict[str, Any] = {
        "y": list(curve.median),
        "low": list(curve.lower),
        "high": list(curve.upper),
    }
    names = {"x": "n_samples", "y": "error", "error": "standard_error"}
    points: dict[str, Any] = {
        field: [row[name] for row in observed] for field, name in names.items()
    }
    panel = Panel(
        x=PanelAxis(title="labelled sequences", logarithmic=True),
        y=PanelAxis(title="error", logarithmic=True),
        curves=[
            Line(name="expected error, 80 %", color=COLORS[0], x=x, **fan),
            level("target", (x[0], x[-1]), planned.target, look="dot"),
            Line(name="measured ± s.e.", look="points", **points),
        ],
    )
    return Content(panels=[panel], sentence=f"{planned.answer.rstrip('.')}. {planned.trust}")
