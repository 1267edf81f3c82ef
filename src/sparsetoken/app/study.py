"""A visitor's own file: what is said about it, where it is kept, and the report on it."""

import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import chdir, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sparsetoken.app.view import Line, Send
from sparsetoken.app.words import per_cent

MOST_BYTES = 200_000_000
_MOST_NUMBERS = 20_000_000  # of all tokens; more would take minutes
_HELD_OUT = 0.25
_EFFORT, _TREES = 0.5, 100  # of the plan: one that a visitor can wait for
_LONGEST_NAME = 200  # bytes
_Column = Annotated[str, Field(max_length=200)]


class Upload(BaseModel):
    """What a visitor says about a file: its name, the target error, and what its columns are."""

    name: _Column
    error: float = Field(default=0.1, gt=0.0, lt=1.0)
    by: _Column = Field(default="", title="Sequence")
    label: _Column = Field(default="", title="Label")
    group: _Column = Field(default="", title="Group")
    features: _Column = Field(default="", title="Features")
    ignore: _Column = Field(default="", title="Leave out")
    layer: int | None = Field(default=None, title="Layer")

    def reading(self) -> dict[str, Any]:
        """Return the arguments of ``read_dataset``; several names are separated by commas."""
        given = self.model_dump(exclude={"name", "error"})
        lists = {n: re.split(r"\s*,\s*", given[n].strip()) for n in ("features", "ignore")}
        return {n: lists.get(n, value) for n, value in given.items() if value not in ("", None)}


async def save(name: str, chunks: AsyncIterator[bytes]) -> Any:
    """Write a file that arrives in chunks; return its path and the folder to clean up.

    It keeps its name, in a folder that this user alone can read. Nothing stays behind if it does
    not arrive in full.
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
    return path, folder


def study(path: Path, options: dict[str, Any], error: float, send: Send) -> None:
    """Read a file, fit a classifier to most of it, and report on the rest."""
    from sparsetoken.estimators import SparseTokenClassifier
    from sparsetoken.files import is_table, open_table, read_dataset
    from sparsetoken.inspection.measures import hold_out
    from sparsetoken.planner import plan
    from sparsetoken.reporting.evidence import gather
    from sparsetoken.reporting.page import render

    columns: list[str] = []
    with suppress(Exception):  # what is wrong is said when the file is read
        columns = list(open_table(path).kinds) if is_table(path) else []
    send(Line(columns=columns, progress="reading"))
    with chdir(path.parent):  # a visitor knows the name of the file, not where it is kept
        data = read_dataset(path.name, max_numbers=_MOST_NUMBERS, **options).with_labels()
    X, y, groups = data.sequences, np.asarray(data.labels), data.groups
    send(Line(progress="fitting"))
    kept, tested = hold_out(y, groups, _HELD_OUT, random_state=0)
    kept_groups = None if groups is None else groups[kept]
    classifier = SparseTokenClassifier(random_state=0).fit(X[kept], y[kept], groups=kept_groups)
    evidence = gather(classifier, X[tested], y[tested], plan=False)
    accuracy = evidence.measures[0]
    sentence = (
        f"A classifier of {len(kept)} sequences labels {per_cent(accuracy.value)} of {len(tested)} "
        f"others correctly ({per_cent(accuracy.low)} to {per_cent(accuracy.high)}); always the "
        f"larger class would be right in {per_cent(evidence.majority)}."
    )
    send(Line(sentence=sentence, page=render(evidence, path.name), progress="planning"))
    smaller = SparseTokenClassifier(n_trees=_TREES, random_state=0)
    more: Any = {"groups": groups, "effort": _EFFORT}
    more["progress"] = lambda message: send(Line(progress=message))
    planned = plan.from_pilot(X, y, error=error, estimator=smaller, **more)
    send(Line(page=render(replace(evidence, plan=planned), path.name), progress=""))
