import json
import subprocess
import sys

import numpy as np
import pytest

import sparsetoken


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "sparsetoken", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_version_and_help():
    assert run("--version").stdout.strip() == sparsetoken.__version__
    shown = run("--help")
    assert shown.returncode == 0
    assert "demo" in shown.stdout


def test_demo_finds_the_signal():
    shown = run("demo", "--dim", "200", "--trials", "4", "--json")
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)
    assert len(rows) == 16
    cosine = {
        alpha: np.mean([r["cosine"] for r in rows if r["alpha"] == alpha]) for alpha in (0.5, 4)
    }
    assert cosine[4] == pytest.approx(0.97, abs=0.02)
    assert cosine[0.5] < cosine[4]
    assert np.mean([r["weight"] for r in rows if r["alpha"] == 4]) > 0.6
    table = run("demo", "--dim", "50", "--trials", "2")
    assert "samples/dim" in table.stdout


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [("--signal", "-1", "signal"), ("--tokens", "0", "n_tokens"), ("--trials", "1", "trials")],
)
def test_bad_input_is_one_line_and_exit_code_2(option, value, named):
    shown = run("demo", option, value)
    assert shown.returncode == 2
    assert shown.stderr.startswith(f"sparsetoken: {named} must be")
    assert shown.stderr.count("\n") == 1
    assert shown.stdout == ""
