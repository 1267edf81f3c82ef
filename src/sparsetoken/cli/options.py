"""Options that several commands have: files, quantities of the vocabulary, where cells run."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli.output import CommandError, waiting
from sparsetoken.vocabulary import FORMER, MODELS, PARAMETERS, Quantity, check_known

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
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="PROBABILITY,N_TOKENS,N_SIGNAL,SIGNAL",
        help="A kind of sequences of a population, with its probability; once for each kind. A "
        "fifth number is its positive rate.",
    ),
]
TestKinds = Annotated[
    list[str] | None,
    typer.Option(
        "--test-kind",
        metavar="PROBABILITY,N_TOKENS,N_SIGNAL,SIGNAL",
        help="The same in testing, if it differs from training.",
    ),
]
LabelErrors = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER,NUMBER",
        help="Chance that a positive is recorded as negative, and the reverse.",
    ),
]
PopulationFile = Annotated[
    Path | None,
    typer.Option("--population", help="Kinds and label errors in a TOML file, [[kinds]]."),
]


def taking(
    *names: str, no_default: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that ends in ``**values`` an option for each of these names.

    They are quantities of the vocabulary, also by their former names, and arguments of
    ``read_dataset``. Those that are not set have the value None. The help shows the vocabulary's
    defaults, but for the names in ``no_default``.
    """
    options = {
        name: Annotated[kind | None, typer.Option(help=text)]
        for name, (kind, text) in READING.items()
        if name in names
    }
    options |= {
        name: _option(q, with_default=name not in no_default)
        for name, q in PARAMETERS.items()
        if name in names
    }
    options |= {
        former: _option(replace(PARAMETERS[name], name=former), hidden=True)
        for former, name in FORMER.items()
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


def set_options(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were set, of those that :func:`taking` gave a command."""
    return {name: value for name, value in values.items() if value not in (None, [])}


def _option(quantity: Quantity, hidden: bool = False, with_default: bool = True) -> Any:
    if isinstance(quantity.default, bool):
        return Annotated[bool | None, typer.Option(quantity.option, help=quantity.help)]
    word = isinstance(quantity.default, str) or bool(quantity.options)
    kind, metavar = (int, "INTEGER") if quantity.whole else (float, "NUMBER")
    text = f"{quantity.help} ({quantity.symbol})" if quantity.symbol else quantity.help
    if quantity.name == "model":
        text = f"One of {', '.join(MODELS)}, or the import path of a pooling."
    option = typer.Option(
        quantity.option,
        help=text,
        hidden=hidden,
        show_default=str(quantity.default)
        if with_default and quantity.default is not None
        else False,
        metavar="NAME" if word else metavar,
        parser=None if word else _parser(kind),
    )
    return Annotated[(str if word else kind) | None, option]


def _parser(kind: type) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise typer.BadParameter(f"it must be {what}, got {text!r}") from None

    return parse


def read_as_in_fit(data: Path, model: Path, reading: dict[str, Any]) -> Any:
    """Read sequences by the options that were set, otherwise as the data of a model were read."""
    from sparsetoken.estimators.storage import load_notes
    from sparsetoken.files import read_dataset

    like = load_notes(model).get("reading") or {}
    with waiting(f"reading {data}"):
        return read_dataset(data, **set_options(reading), like=like)


def population_options(
    kinds: list[str] | None, label_errors: str | None, file: Path | None = None, prefix: str = ""
) -> dict[str, Any]:
    """Return ``kinds`` and ``label_errors`` as far as the options say them, checked."""
    from sparsetoken._validation import read_toml
    from sparsetoken.population_tables import FIELDS, from_tables

    if file is not None:
        for option, value in (("--kind", kinds), ("--label-errors", label_errors)):
            if value:
                raise ValueError(f"{option} must be left out with --population, which has it")
        return read_toml(file, _check_population)
    population: dict[str, Any] = {}
    if kinds:
        try:
            rows = [_numbers(kind) for kind in kinds]
            if max(map(len, rows)) > len(FIELDS):
                raise ValueError(f"a kind has {', '.join(FIELDS)} and no more numbers")
            tables = [dict(zip(FIELDS, row, strict=False)) for row in rows]
            from_tables(tables)
        except ValueError as error:
            raise ValueError(f"--{prefix}kind {'; '.join(kinds)}: {error}") from None
        population["kinds"] = tables
    if label_errors is not None:
        population["label_errors"] = _numbers(label_errors)
    return population


def _numbers(text: str) -> list[float]:
    try:
        return [int(part) if part.isdecimal() else float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"it must be numbers with commas, got {text!r}") from None


def _check_population(content: dict[str, Any]) -> dict[str, Any]:
    from sparsetoken.population_tables import from_tables

    for name in content:
        check_known("entry", name, ("kinds", "label_errors"))
    if "kinds" not in content:
        raise ValueError("it has no kinds, written [[kinds]]")
    from_tables(**content)
    return content


@contextmanager
def open_executor(workers: int | None, scheduler: str | None = None) -> Iterator["Executor"]:
    """Provide the executor that the options ask for."""
    from sparsetoken.experiments import dask_executor, local_processes

    executor: Any = local_processes(workers) if scheduler is None else dask_executor(scheduler)
    try:
        with executor as opened:
            yield opened
    except KeyboardInterrupt:
        raise CommandError("stopped; what is finished is kept", 130) from None
