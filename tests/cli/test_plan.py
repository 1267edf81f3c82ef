import json
import subprocess
import sys

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.cli.plan import read_pilot

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


@pytest.mark.parametrize("stacked", [False, True])
def test_pilot_file(tmp_path, stacked):
    problem = st.SparseTokenProblem(4, 2, 3.0)
    X, y = problem.sample(200, 10, random_state=0)
    path = tmp_path / "pilot.npz"
    if stacked:
        bag = np.repeat(np.arange(200), 4)
        order = np.random.default_rng(0).permutation(800)
        np.savez(path, X=X.reshape(800, 10)[order], bag=bag[order], y=y)
    else:
        np.savez(path, X=X, y=y)
    sequences, labels = read_pilot(path)
    assert len(sequences) == 200
    assert [len(sequence) for sequence in sequences] == [4] * 200
    np.testing.assert_allclose(np.sum(sequences[7], axis=0), X[7].sum(axis=0))
    np.testing.assert_array_equal(labels, y)
    if not stacked:
        shown = run("--pilot", str(path), "--error", "0.1", "--model", "pooled", "--json")
        assert shown.returncode == 0, shown.stderr
        pilot = json.loads(shown.stdout)["pilot"]
        assert pilot["reliable"]
        assert abs(pilot["signal"] - 3.0) < 4 * pilot["standard_errors"]["signal"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((*POOLED,), "exactly one of"),
        ((*POOLED, "--error", "0.7"), "error must be below"),
        ((*POOLED, "--error", "0.1", "--model", "magic"), "model must be one of"),
        (("--pilot", "nowhere.npz", "--error", "0.1"), "pilot must be a readable .npz"),
        (("--pilot", "nowhere.npz"), "error must be given"),
        ((*POOLED, "--error", "0.001", "--model", "pooled"), "error=0.001 cannot be reached"),
        ((*POOLED, "--error", "0.1", "--solve-for", "luck"), "solve_for must be"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, named):
    shown = run(*arguments)
    assert shown.returncode == 2
    assert shown.stderr.startswith(f"sparsetoken: {named}")
    assert shown.stderr.count("\n") == 1
    assert shown.stdout == ""
