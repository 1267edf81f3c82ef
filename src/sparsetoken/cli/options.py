"""Options that several commands have: files, quantities of the vocabulary, where cells run."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken import models
from sparsetoken._validation import read_toml
from sparsetoken.cli.output import CommandError, waiting
from sparsetoken.vocabulary import PARAMETERS, Quantity, check_known

if TYPE_CHECKING:
    from concurrent.futures import Executor


def option(text: str, name: str = "", **looks: Any) -> Any:
    """Return an option with its help; its name is that of the parameter unless one is set."""
    return typer.Option(*([name] if name else []), help=text, **looks)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
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
    int | None, typer.Option(min=1, help="Processes on this machine; by default one per processor.")
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster at this address.")
]
PopulationFile = Annotated[
    Path | None,
    typer.Option(
        "--population", help="A population: kinds of sequences and label errors, in a TOML file."
    ),
]


def with_options(
    *names: str, no_default: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that ends in ``**values`` an option for each of these names.

    They are quantities of the vocabulary and arguments of ``read_dataset``. Those that are not set
    have the value None. The help shows the vocabulary's defaults, but for the names in
    ``no_default``.
    """
    options = {
        name: Annotated[kind | None, typer.Option(help=text)]
        for name, (kind, text) in READING.items()
        if name in names
    }
    options |= {
        name: _option(quantity, with_default=name not in no_default)
        for name, quantity in PARAMETERS.items()
        if name in names
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = signature.parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        command.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                *(p.replace(kind=keyword) for p in parameters if p.kind is not p.VAR_KEYWORD),
                *(
                    inspect.Parameter(n, keyword, default=None, annotation=o)
                    for n, o in options.items()
                ),
            ]
        )
        return command

    return decorate


def given_options(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, of those that :func:`with_options` made."""
    return {name: value for name, value in values.items() if value not in (None, [])}


def _option(quantity: Quantity, with_default: bool = True) -> Any:
    if isinstance(quantity.default, bool):
        return Annotated[bool | None, typer.Option(quantity.option, help=quantity.help)]
    text = f"{quantity.help} ({quantity.symbol})" if quantity.symbol else quantity.help
    if quantity.name == "model":
        text = f"One of {', '.join(models.names())}, or the import path of a pooling."
    word = bool(quantity.options) or isinstance(quantity.default, str)
    kind: type = str if word else int if quantity.whole else float
    metavar = {str: "NAME", int: "INTEGER", float: "NUMBER"}[kind]
    looks: dict[str, Any] = {"metavar": metavar, "parser": kind, "help": text}
    shown = str(quantity.default) if with_default and quantity.default is not None else False
    return Annotated[kind | None, typer.Option(quantity.option, show_default=shown, **looks)]


def read_as_in_fit(data: Path, model: Path, reading: dict[str, Any]) -> Any:
    """Read sequences by the options that were given, otherwise as a model's data were read."""
    from sparsetoken.estimators.storage import load_notes
    from sparsetoken.files import read_dataset

    like = load_notes(model).get("roles") or {}
    with waiting(f"reading {data}"):
        return read_dataset(data, **given_options(reading), like=like)


def read_population(file: Path | None) -> dict[str, Any]:
    """Return ``kinds`` and ``label_errors`` of a TOML file, checked; nothing if there is none."""
    return {} if file is None else read_toml(file, _check_population)


def _check_population(content: dict[str, Any]) -> dict[str, Any]:
    from sparsetoken.population import Population

    for name in content:
        check_known("entry", name, ("kinds", "label_errors"))
    if "kinds" not in content:
        raise ValueError("it has no kinds, written [[kinds]]")
    Population.from_tables(**content)
    return content


@contextmanager
def open_executor(workers: int | None, scheduler: str | None = None) -> Iterator["Executor | None"]:
    """Provide the executor that the options ask for; one worker is this process."""
    from sparsetoken.experiments import dask_executor, local_processes

    executor: Any = local_processes(workers) if workers != 1 else nullcontext()
    if scheduler is not None:
        executor = dask_executor(scheduler)
    try:
        with executor as opened:
            yield opened
    except KeyboardInterrupt:
        raise CommandError("stopped; what is finished is kept", 130) from None
