"""The reference, written anew for each build: public names from ``__all__``, commands from typer.

It needs neither Sphinx nor the built site, so the tests can ask for the same pages.
"""

import importlib
import inspect
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import typer

import sparsetoken

__all__ = ["PACKAGES", "api_pages", "command_line_page", "commands", "setup", "write_pages"]

PACKAGES = (
    "estimators",
    "theory",
    "models",
    "planner",
    "sampling",
    "experiments",
    "plotting",
    "losses",
    "pooling",
    "vocabulary",
)


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for its sources."""
    app.connect("config-inited", lambda app, config: write_pages(Path(app.srcdir)))
    app.connect("autodoc-skip-member", _skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(source: Path) -> None:
    """Write the pages into ``reference/``; one that has not changed is left alone."""
    for name, text in {**api_pages(), "command-line": command_line_page()}.items():
        path = source / "reference" / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def api_pages() -> dict[str, str]:
    """Return the pages of all public names: the top level, and one for each package."""
    return {"sparsetoken": _top_page(), **{name: _package_page(name) for name in PACKAGES}}


def _top_page() -> str:
    names = [name for name in sparsetoken.__all__ if name not in PACKAGES]
    public = {package: importlib.import_module(f"sparsetoken.{package}") for package in PACKAGES}
    homes = {
        name: package
        for name in names
        for package, module in public.items()
        if name in module.__all__
    }
    elsewhere = [
        f".. py:data:: sparsetoken.{name}\n\n   The same as :obj:`sparsetoken.{home}.{name}`.\n"
        for name, home in homes.items()
    ]
    return "\n".join(
        [
            _title("sparsetoken", "="),
            "``import sparsetoken as st`` gives the problem, the packages and the usual names.\n",
            _summary([f"sparsetoken.{name}" for name in names if name not in homes]),
            *elsewhere,
        ]
    )


def _package_page(package: str) -> str:
    module = importlib.import_module(f"sparsetoken.{package}")
    names = [f"{module.__name__}.{name}" for name in module.__all__]
    documented = [name for name in names if _has_docstring(name)]
    parts = [_title(module.__name__, "="), _first_line(module), _summary(documented)]
    return "\n".join(parts + [_data(name) for name in names if name not in documented])


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the name and the click command of every command, subcommands included."""
    from sparsetoken.cli.command import app

    def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for child, subcommand in getattr(command, "commands", {}).items():
            yield from walk(f"{name} {child}", subcommand)

    yield from walk("sparsetoken", typer.main.get_command(app))


def command_line_page() -> str:
    """Return the page of all commands, with the help that ``--help`` prints."""
    parts = [_title("Command line", "=")]
    for name, command in commands():
        group = hasattr(command, "commands")
        parts += [_title(name, "-"), _help(command.help or "")]
        words = [_metavar(p) for p in command.params if p.param_type_name == "argument"]
        rest = ["COMMAND ..."] if group else [*words, "[OPTIONS]"]
        parts.append(f"::\n\n    {' '.join([name, *rest])}\n")
        parts.append(f".. program:: {name}\n")
        shown = [p for p in command.params if not getattr(p, "hidden", False)]
        parts += [_parameter(parameter) for parameter in shown]
    return "\n".join(parts)


def _skip_foreign(app: Any, kind: str, name: str, member: Any, skip: bool, options: Any) -> Any:
    """Leave out what a class inherits from scikit-learn and others: it is documented there."""
    home = getattr(member, "__module__", None) or "sparsetoken"
    return True if not home.startswith("sparsetoken") else None


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _first_line(module: Any) -> str:
    return (inspect.getdoc(module) or "").splitlines()[0] + "\n"


def _summary(names: list[str]) -> str:
    listed = "\n".join(f"   ~{name}" for name in names)
    return f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n"


def _object(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _has_docstring(name: str) -> bool:
    value = _object(name)
    return inspect.isclass(value) or inspect.isroutine(value)


def _data(name: str) -> str:
    """Describe an object that is neither class nor function, and so has no docstring of its own."""
    value = _object(name)
    if isinstance(value, Mapping):
        content = "Known names: " + ", ".join(f"``{key}``" for key in value) + "."
    elif isinstance(value, tuple):
        content = ", ".join(f"``{item}``" for item in value)
    elif isinstance(value, str | float):
        content = f"``{value:.4g}``" if isinstance(value, float) else f"``{value}``"
    else:
        home, kind = name.rpartition(".")[0], type(value).__name__
        content = f"The instance of :class:`{kind} <{home}.{kind}>` to call."
    return f".. py:data:: {name}\n\n   {content}\n"


def _help(text: str) -> str:
    """Return a help text as reStructuredText; a backspace keeps the lines of a paragraph."""
    blocks = []
    for block in inspect.cleandoc(text).split("\n\n"):
        if block.lstrip().startswith("\b"):
            lines = block.lstrip().removeprefix("\b").strip("\n").splitlines()
            blocks.append("::\n\n" + "\n".join(f"    {line}" for line in lines))
        else:
            blocks.append(_escape(block))
    return "\n\n".join(blocks) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("|", "\\|")


def _metavar(parameter: Any) -> str:
    return parameter.metavar or parameter.name.upper()


def _parameter(parameter: Any) -> str:
    help_text = _escape(getattr(parameter, "help", None) or "See above.")
    if parameter.param_type_name == "argument":
        return f".. option:: {_metavar(parameter)}\n\n   {help_text}\n"
    default = parameter.default
    value = "" if parameter.is_flag else f" <{parameter.metavar or parameter.name}>"
    if isinstance(default, Enum):
        help_text += f" One of {', '.join(f'``{choice.value}``' for choice in type(default))}."
        default = default.value
    if default is not None and not parameter.is_flag:
        help_text += f" Default: ``{default}``."
    names = ", ".join(f"{option}{value}" for option in (*parameter.opts, *parameter.secondary_opts))
    return f".. option:: {names}\n\n   {help_text}\n"
