"""A visitor's own data: where the file is kept, and what is found out about it."""

import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from sparsetoken.app.content import Content, Line, Panel, PanelAxis, Progress, per_cent
from sparsetoken.app.told import told

__all__ = ["MOST_BYTES", "Study", "Uploads", "study"]

MOST_BYTES = 200_000_000
_MOST_NUMBERS = 20_000_000  # of all tokens; more would take minutes
_HELD_OUT = 0.25
_SHOWN = 60  # sequences whose tokens can be looked at
_EFFORT, _TREES = 0.5, 100  # of the plan: one that a visitor can wait for


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


class Uploads:
    """Files of visitors, each in a folder that nobody else reads and that goes with its visitor."""

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="sparsetoken-"))  # readable by this user alone
        self._count = 0

    async def save(self, visitor: str, name: str, parts: AsyncIterator[bytes]) -> str:
        """Write what arrives to a file with the ending of ``name``, in place of the one before."""
        self.delete(visitor)
        folder = self._root / visitor
        folder.mkdir()
        self._count += 1
        ending = re.search(r"(\.[a-z0-9]{1,12}(\.gz)?)?$", name.lower())
        path = folder / f"{self._count}{ending[0] if ending else ''}"
        with path.open("wb") as file:
            async for part in parts:
                file.write(part)
        return str(path)

    def delete(self, visitor: str) -> None:
        """Delete the files of a visitor."""
        shutil.rmtree(self._root / visitor, ignore_errors=True)

    def close(self) -> None:
        """Delete all files."""
        shutil.rmtree(self._root, ignore_errors=True)


def study(path: str, name: str, by: str, label: str, error: float) -> Iterator[Progress]:
    """Read a file, fit a classifier, judge, explain and diagnose it, and plan with it."""
    try:
        yield from _study(Path(path), by or None, label or None, error)
    except ValueError as wrong:
        limit = f"max_numbers={_MOST_NUMBERS} are allowed"
        words = (
            f"the page takes {_MOST_NUMBERS / 1e6:.3g} million: use 'sparsetoken fit' on the "
            "command line"
        )
        raise ValueError(str(wrong).replace(path, name).replace(limit, words)) from None


def _study(path: Path, by: str | None, label: str | None, error: float) -> Iterator[Progress]:
    from sparsetoken.estimators import SparseTokenClassifier
    from sparsetoken.files import read_dataset
    from sparsetoken.inspection.measures import hold_out
    from sparsetoken.planner import plan
    from sparsetoken.reporting.evidence import gather

    total = 4
    yield Progress(done=0, total=total, message="reading")
    data = read_dataset(path, by, label, max_numbers=_MOST_NUMBERS).with_labels()
    X, y = data.sequences, np.asarray(data.labels)
    found = Study(read=_read(X, y))
    kept, tested = hold_out(y, data.groups, _HELD_OUT, random_state=0)
    yield Progress(done=1, total=total, message="fitting", content=found)
    classifier = SparseTokenClassifier(random_state=0).fit(X[kept], y[kept])
    evidence = gather(classifier, X[tested], y[tested], plan=False)
    found.held_out = {measure.name: str(measure) for measure in evidence.measures}
    found.held_out |= {"always the larger class": f"{evidence.majority:.3f}"}
    found.roc = _roc(evidence.roc)
    found.members = {member: f"{weight:.2f}" for member, weight in evidence.members.items()}
    found.diagnosis = "\n".join(evidence.findings)
    yield Progress(done=2, total=total, message="looking at tokens", content=found)
    found.sequences = _sequences(classifier, X[tested[:_SHOWN]], y[tested[:_SHOWN]])
    planned = yield from told(
        plan.from_pilot,
        Progress(done=3, total=total, message="planning", content=found),
        X=X,
        y=y,
        error=error,
        estimator=SparseTokenClassifier(n_trees=_TREES, random_state=0),
        groups=data.groups,
        effort=_EFFORT,
    )
    found.plan = _plan(planned)
    accuracy = evidence.measures[0]
    found.sentence = (
        f"A classifier of {len(kept)} sequences labels {per_cent(accuracy.value)} of {len(tested)} "
        f"others correctly ({per_cent(accuracy.low)} to {per_cent(accuracy.high)}); always the "
        f"larger class would be right in {per_cent(evidence.majority)}."
    )
    yield Progress(done=total, total=total, content=found)


def _read(X: Any, y: Any) -> dict[str, str]:
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
        Line(name=f"for {name}", model="two-step", x=fpr.tolist(), y=tpr.tolist(), look="steps")
        for name, (fpr, tpr) in roc.items()
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
    shown = []
    for i, explained in enumerate(classifier.explain(X, top=longest)):
        predicted = classifier.classes_[probability[i].argmax()]
        order = np.argsort(explained.tokens)
        tokens, weights = explained.tokens[order] + 1, explained.weights[order]
        speaks = explained.contributions[order] >= 0
        kinds = (("pooled", speaks, "speaks for"), ("two-step", ~speaks, "speaks against"))
        shown.append(
            ShownSequence(
                name=str(names[i]),
                label=str(y[i]),
                predicted=str(predicted),
                probability=float(probability[i].max()),
                panel=Panel(
                    x=PanelAxis(title="token", ends=(0.4, tokens.size + 0.6)),
                    y=PanelAxis(title="weight", ends=(0.0, 1.05 * float(weights.max() or 1.0))),
                    curves=[
                        Line(
                            name=f"{words} {explained.label}",
                            model=model,
                            look="bars",
                            x=tokens[mask].tolist(),
                            y=weights[mask].tolist(),
                        )
                        for model, mask, words in kinds
                    ],
                ),
            )
        )
    return shown


def _plan(planned: Any) -> Content:
    """Return the fan of learning curves that agree with the file."""
    curve = planned.curve
    x = list(map(float, curve.n_samples))
    lines = [
        Line(
            name="expected error, 80 %",
            model="two-step",
            x=x,
            y=list(curve.median),
            low=list(curve.lower),
            high=list(curve.upper),
        ),
        Line(name="target", look="dot", x=[x[0], x[-1]], y=[planned.target] * 2),
    ]
    return Content(
        panels=[
            Panel(
                x=PanelAxis(title="labelled sequences", logarithmic=True),
                y=PanelAxis(title="error", logarithmic=True),
                curves=lines,
            )
        ],
        sentence=f"{planned.answer.rstrip('.')}. {planned.trust}",
    )
