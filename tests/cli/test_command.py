"""The command itself: help, completion, warnings."""

import subprocess
import sys

import pytest

import sparsetoken
from cli.light import light


def test_the_installed_command():
    def command(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "sparsetoken", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    assert command("--version").stdout.strip() == sparsetoken.__version__
    shown = command("--help")
    assert shown.returncode == 0
    for name in ("demo", "theory", "figure", "sweep", "fit", "predict", "--install-completion"):
        assert name in shown.stdout
    wrong = command("theory", "cosin", "--alpha0", "2")
    assert wrong.returncode == 2
    assert wrong.stderr == "sparsetoken: unknown quantity 'cosin'; did you mean 'cosine'?\n"
    assert command("nonsense").returncode == 2


@pytest.mark.parametrize(
    "command",
    ["", "demo", "theory", "figure", "sweep", "sweep run", "fit", "predict", "plan", "serve"],
)
def test_help_loads_no_numerics(command):
    assert "--help" in light(*command.split(), "--help")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sparsetoken figure le", ["learning-curves", "length-shift"]),
        ("sparsetoken theory test_", ["test_error", "test_loss"]),
        ("sparsetoken theory --lr-", ["--lr-readout", "--lr-bias", "--lr-query"]),
        ("sparsetoken de", ["demo"]),
    ],
)
def test_shell_completion(typed, offered):
    count = str(len(typed.split()) - 1)
    words = {"COMP_WORDS": typed, "COMP_CWORD": count}
    found = light(_SPARSETOKEN_COMPLETE="complete_bash", **words)
    assert [line.split(",")[-1] for line in found.split()] == offered


def test_warnings_are_one_line(run, monkeypatch):
    import warnings

    from sparsetoken.cli import command

    def warn(arguments, standalone_mode):
        warnings.simplefilter("always")
        warnings.warn("mind the\n gap", stacklevel=1)

    monkeypatch.setattr(command, "app", warn)
    assert run() == (0, "", "sparsetoken: mind the gap\n")
