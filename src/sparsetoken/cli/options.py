"""Options that several commands have: files, quantities of the vocabulary, where cells run."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken import models
from sparsetoken._validation import read_toml
from sparsetoken.cli.output import message, waiting
from sparsetoken.vocabulary import PARAMETERS, Quantity, check_known

if TYPE_CHECKING:
    from concurrent.futures import Executor


def option(text: str, name: str = "", **looks: Any) -> Any:
    """Return an option with its help; its name is that of the parameter unless one is set."""
    return typer.Option(*([name] if name else []), help=text, **looks)


AsJson = Annotated[bool, option("Print JSON.", "--json")]
Data = Annotated[
    Path,
    typer.Argument(
        help="Sequences: a table with one token per row (.csv, .tsv, also .gz; .parquet, .arrow, "
        ".feather), arrays (.npz, .h5, .h5ad, .safetensors, .pt, .mat), a folder with one such "
        "file a sequence, or one from Sequences.writer or from save_to_disk of datasets."
    ),
]
Model = Annotated[Path, typer.Argument(help="A model that 'sparsetoken fit' has saved.")]
# How a file is read: arguments of ``read_dataset``, each with its type and help.
READING: dict[str, tuple[Any, str]] = {
    "by": (str, "Column or array that names each token's sequence. [default: bag or sequence]"),
    "label": (str, "Column or array with the label. [default: label or labels; in arrays y]"),
    "labels": (
        Path,
        "Table of labels; the column with the sequences' names is found, or is --by. A folder's "
        "labels.csv is found by itself.",
    ),
    "features": (
        list[str],
        "Column with a feature, or a pattern such as 'px*'; may be repeated. By default all other "
        "columns. In arrays: the one with the tokens.",
    ),
    "ignore": (list[str], "Column that is no feature, or a pattern; may be repeated."),
    "group": (
        str,
        "Column or array with the group, such as the patient. A group is never split between "
        "training and held-out sequences.",
    ),
    "layer": (int, "Which layer, in a file with activations of several."),
}
Workers = Annotated[
    int | None, option("Processes on this machine; by default one per processor.", min=1)
]
Scheduler = Annotated[
    str | None, option("Run on the Dask cluster at this address.", metavar="ADDRESS")
]
PopulationFile = Annotated[
    Path | None,
    option("A population: kinds of sequences and label errors, in a TOML file.", "--population"),
]


def with_options(
    *names: str, no_default: tuple[str, ...] = (), **options: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that ends in ``**values`` an option for each of these names.

    They are quantities of the vocabulary and arguments of ``read_dataset``; ``options`` has others.
    The command gets those that are set. The help shows the vocabulary's defaults, but for the names
    in ``no_default``.
    """
    for name in names:
        if name in READING:
            kind, text = READING[name]
            options[name] = Annotated[kind | None, option(text)]
        else:
            options[name] = _option(PARAMETERS[name], with_default=name not in no_default)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**values: Any) -> None:
            unset = [name for name in options if values[name] in (None, [])]
            command(**{name: value for name, value in values.items() if name not in unset})

        signature, keyword = inspect.signature(command), inspect.Parameter.KEYWORD_ONLY
        *declared, _ = (p.replace(kind=keyword) for p in signature.parameters.values())
        added = [
            inspect.Parameter(name, keyword, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*declared, *added]
        )
        return run

    return decorate


def _option(quantity: Quantity, with_default: bool) -> Any:
    text = f"{quantity.help} ({quantity.symbol})" if quantity.symbol else quantity.help
    if isinstance(quantity.default, bool):
        return Annotated[bool | None, option(text, f"--{quantity.name}")]  # no --no-...
    if quantity.name == "model":
        text = f"One of {', '.join(models.names())}, or the import path of a pooling."
    if with_default and quantity.default is not None:
        text += f" [default: {quantity.default}]"
    word = bool(quantity.options) or isinstance(quantity.default, str)
    kind: type = str if word else int if quantity.whole else float
    return Annotated[kind | None, option(text, parser=kind)]


def read_as_in_fit(data: Path, model: Path, reading: dict[str, Any]) -> Any:
    """Read sequences by the options that were given, otherwise as a model's data were read."""
    from sparsetoken.estimators.storage import load_notes
    from sparsetoken.files import read_dataset

    like = load_notes(model).get("roles") or {}
    with waiting(f"reading {data}"):
        return read_dataset(data, **reading, like=like)


def read_population(file: Path, positive_rate: float | None) -> Any:
    """Return the population of a TOML file; a positive rate is for kinds without one."""
    from sparsetoken.population import Population

    def build(content: dict[str, Any]) -> Population:
        for name in content:
            check_known("entry", name, ("kinds", "label_errors"))
        if "kinds" not in content:
            raise ValueError("it has no kinds, written [[kinds]]")
        rate: Any = {} if positive_rate is None else {"positive_rate": positive_rate}
        population = Population.from_tables(**content, **rate)
        if rate and all("positive_rate" in kind for kind in content["kinds"]):
            raise ValueError("positive_rate does not go with kinds: each has its own")
        return population

    return read_toml(file, build)


@contextmanager
def open_executor(workers: int | None, scheduler: str | None = None) -> Iterator["Executor | None"]:
    """Provide the executor that the options ask for; one worker is this process."""
    from sparsetoken.experiments import dask_executor, local_processes

    executor: Any = local_processes(workers) if workers != 1 else nullcontext()
    try:
        with dask_executor(scheduler) if scheduler is not None else executor as opened:
            yield opened
    except KeyboardInterrupt:
        message("sparsetoken: stopped; what is finished is kept")
        raise
