import json
import subprocess
import sys

import numpy as np
import pytest

import sparsetoken as st

POOLED = ("--dim", "50", "--n-tokens", "4", "--n-signal", "2", "--signal", "3")


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
    order = [shown.stdout.index(word) for word in ("settings", "same samples", "against n_samples")]
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


def test_pilot_as_json_and_picture(tmp_path):
    X, y = st.SparseTokenProblem(2, 2, 6.0).sample(20, 3, random_state=0)
    rows = [
        f"case {i},patient {i // 2},{y[i]},{','.join(map(str, token))}"
        for i in range(len(X))
        for token in X[i]
    ]
    table = tmp_path / "pilot.csv"
    table.write_text("\n".join(["case,patient,outcome,a,b,c", *rows]))
    picture = tmp_path / "pilot.svg"
    columns = ("--by", "case", "--label", "outcome", "--group", "patient")
    options = ("--effort", "0.1", "--random-state", "3", "--json", "--plot", str(picture))
    shown = run("--pilot", str(table), "--error", "0.3", *columns, *options)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""  # no terminal, no progress
    data = json.loads(shown.stdout)
    assert data["interval"][0] <= data["n_samples"] <= data["interval"][1]
    assert data["pilot_size"] == 20
    assert len(data["observed"]) == 4
    assert len(data["curve"]["median"]) == len(data["curve"]["n_samples"])
    assert "<svg" in picture.read_text()


def test_a_pilot_needs_labels(tmp_path):
    np.savez(tmp_path / "blind.npz", X=np.zeros((8, 2, 3)))
    shown = run("--pilot", str(tmp_path / "blind.npz"), "--error", "0.1")
    assert shown.returncode == 2
    assert "blind.npz has no labels" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((*POOLED,), "leave out exactly one of --n-samples, --dim"),
        ((*POOLED, "--error", "0.1", "--n-samples", "99"), "leave out exactly one of --n-samples"),
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


def test_plan_of_a_population_is_that_of_python():
    kinds = ("--kind", "0.6,4,2,3", "--kind", "0.4,8,2,4", "--label-errors", "0.05,0")
    asked = ("--dim", "20", "--model", "pooled", "--metric", "recall", "--fpr", "0.1")
    shown = run(*asked, *kinds, "--n-samples", "80", "--positive-rate", "0.3", "--json")
    assert shown.returncode == 0, shown.stderr
    data = json.loads(shown.stdout)
    problems = [st.SparseTokenProblem(4, 2, 3.0, 0.3), st.SparseTokenProblem(8, 2, 4.0, 0.3)]
    population = st.Population(problems, [0.6, 0.4], label_errors=(0.05, 0.0))
    options = {"model": "pooled", "metric": "recall", "fpr": 0.1}
    plan = st.plan(problem=population, dim=20, n_samples=80, **options)
    assert data["error"] == plan.error
    assert data["kinds"] == "0.6,4,2,3.0,0.3; 0.4,8,2,4.0,0.3"
    assert "vectorized" not in data["alternatives"]
    shown = run(*asked, *kinds, "--error", "0.4", "--n-tokens", "5")
    assert shown.returncode == 2
    assert "--n-tokens must be left out: each kind has its own" in shown.stderr
