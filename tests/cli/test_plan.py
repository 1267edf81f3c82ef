import json
import subprocess
import sys

import numpy as np
import pytest

import sparsetoken as st

POOLED = ("--dim", "50", "--tokens", "4", "--signal-tokens", "2", "--signal", "3")


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "sparsetoken", "plan", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_answer_first_then_settings_alternatives_and_curve(tmp_path):
    picture = tmp_path / "plan.png"
    shown = run(*POOLED, "--error", "0.1", "--model", "pooled", "--plot", str(picture))
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("pooled needs n_samples at least")
    order = [shown.stdout.index(word) for word in ("settings", "same budget", "against n_samples")]
    assert order == sorted(order)
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_json_is_the_plan():
    shown = run(*POOLED, "--error", "0.1", "--model", "pooled", "--json")
    assert shown.returncode == 0, shown.stderr
    data = json.loads(shown.stdout)
    plan = st.plan(dim=50, n_tokens=4, n_signal=2, signal=3.0, error=0.1, model="pooled")
    assert data["n_samples"] == plan.n_samples
    assert data["settings"] == plan.settings
    assert data["curve"]["quantity"] == data["solved_for"] == "n_samples"


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_pilot_file(tmp_path, ending):
    X, y = st.SparseTokenProblem(4, 2, 3.0).sample(200, 10, random_state=0)
    path = tmp_path / f"pilot.{ending}"
    if ending == "npz":
        np.savez(path, X=X, y=y)
    else:
        rows = [
            [i, label, *token] for i, (x, label) in enumerate(zip(X, y, strict=True)) for token in x
        ]
        header = ",".join(["sequence", "label", *(f"x{j}" for j in range(10))])
        np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.6g")
    shown = run("--pilot", str(path), "--error", "0.1", "--model", "pooled", "--json")
    assert shown.returncode == 0, shown.stderr
    pilot = json.loads(shown.stdout)["pilot"]
    assert pilot["reliable"]
    assert abs(pilot["signal"] - 3.0) < 4 * pilot["standard_errors"]["signal"]
    assert pilot["optimistic"] < json.loads(shown.stdout)["n_samples"] < pilot["pessimistic"]


def test_pilot_as_text(tmp_path):
    X, y = st.SparseTokenProblem(4, 2, 3.0).sample(200, 10, random_state=0)
    np.savez(tmp_path / "pilot.npz", X=X, y=y)
    shown = run("--pilot", str(tmp_path / "pilot.npz"), "--error", "0.1", "--model", "pooled")
    assert shown.returncode == 0, shown.stderr
    order = ["pooled needs", "range, about 95 %", "trust:", "PilotEstimate", "settings", "against"]
    places = [shown.stdout.index(word) for word in order]
    assert places == sorted(places)
    assert shown.stdout.count("pooled needs") == 1
    np.savez(tmp_path / "blind.npz", X=X)
    shown = run("--pilot", str(tmp_path / "blind.npz"), "--error", "0.1")
    assert shown.returncode == 2
    assert "blind.npz has no labels" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((*POOLED,), "leave out exactly one of --samples, --dim"),
        ((*POOLED, "--error", "0.1", "--samples", "99"), "leave out exactly one of --samples"),
        ((*POOLED, "--error", "0.7"), "error must be below"),
        ((*POOLED, "--error", "0.1", "--model", "magic"), "model must be one of"),
        (("--pilot", "x.txt", "--error", "0.1"), "data must be a folder or a file ending in .csv"),
        (("--pilot", "x.npz"), "--error must be given"),
        (("--pilot", "x.npz", "--error", "0.1", "--signal", "3"), "--signal must be left out"),
        (("--pilot", "x.npz", "--error", "0.1", "--metric", "auc"), "--metric must be 'error'"),
        ((*POOLED, "--error", "0.001", "--model", "pooled"), "error=0.001 cannot be reached"),
        ((*POOLED, "--error", "0.1", "--solve-for", "luck"), "--solve-for must be"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, named):
    shown = run(*arguments)
    assert shown.returncode == 2
    assert shown.stderr.startswith(f"sparsetoken: {named}")
    assert shown.stderr.count("\n") == 1
    assert shown.stdout == ""
