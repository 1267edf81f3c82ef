"""The command itself: help, completion, warnings."""

import os
import socket
import subprocess
import sys
import threading

import pytest

import sparsetoken
from cli.light import light

NAMES = ("demo", "theory", "figure", "sweep", "fit", "predict", "plan", "report", "serve")


def test_the_command_as_a_process():
    command = [sys.executable, "-m", "sparsetoken", "figure", "splitt"]
    wrong = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert wrong.returncode == 2
    assert wrong.stderr == "sparsetoken: unknown figure 'splitt'; did you mean 'split'?\n"


def test_output_into_a_pipe_of_another_encoding():
    command = [sys.executable, "-m", "sparsetoken", "theory", "--help"]
    environment = os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    shown = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert shown.returncode == 0
    assert "θ" in shown.stdout.decode("utf-8")


def test_the_command_without_a_command(run):
    assert run("--version") == (0, f"{sparsetoken.__version__}\n", "")
    assert run("nonsense")[0] == 2
    assert "--install-completion" in run("--help")[1]


def test_help_loads_no_numerics():
    names = ["", *NAMES, "sweep run", "plan pilot", "plan curve", "plan test-size"]
    pages = light(*(f"{name} --help" for name in names))
    for name, page in zip(names, pages, strict=True):
        assert f"sparsetoken {name}".strip() in page
        assert "--help" in page
    assert all(name in pages[0] for name in NAMES)


def test_lists_and_the_size_of_a_test_set_load_no_numerics():
    size = "plan test-size --metric auc --value 0.85 --null 0.75"
    figures, quantities, tested = light("figure", "theory", size)
    assert "lengths and samples at which learning is impossible" in figures
    assert "required_signal" in quantities
    assert "tells an AUC of 0.85 from 0.75 with 90 % power" in tested


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sparsetoken sweep ex", ["export"]),
        ("sparsetoken theory --lr-", ["--lr-readout", "--lr-bias", "--lr-query"]),
    ],
)
def test_shell_completion(typed, offered):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    (found,) = light("", _SPARSETOKEN_COMPLETE="complete_bash", PYTHONUTF8="1", **words)
    assert [line.split(",")[-1] for line in found.split()] == offered


def test_warnings_are_one_line(run, monkeypatch):
    import warnings

    from sparsetoken.cli import command

    def warn(arguments, standalone_mode):
        warnings.simplefilter("always")
        warnings.warn("mind the\n gap", stacklevel=1)

    monkeypatch.setattr(command, "app", warn)
    assert run() == (0, "", "sparsetoken: mind the gap\n")


def test_a_port_in_use_is_one_line(refused):
    threads = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(("serve", "--no-browser", "--port", port), 1, port)
    assert threading.active_count() == threads


def test_without_the_extra_the_command_says_what_to_install(run, monkeypatch):
    monkeypatch.delitem(sys.modules, "sparsetoken.app.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    hint = "sparsetoken: the explorer needs uvicorn: pip install 'sparsetoken[app]'\n"
    assert run("serve") == (1, "", hint)
