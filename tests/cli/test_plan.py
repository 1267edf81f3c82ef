import json

import numpy as np
import pytest

import sparsetoken as st

POOLED = ("plan", "--dim", "50", "--n-tokens", "4", "--n-signal", "2", "--signal", "3")


def test_answer_first_then_settings_alternatives_and_curve(run, tmp_path):
    picture = tmp_path / "plan.png"
    code, out, err = run(*POOLED, "--error", "0.1", "--model", "pooled", "--plot", picture)
    assert code == 0, err
    assert out.startswith("Pooled needs at least")
    order = [out.index(word) for word in ("settings", "same samples", "against n_samples")]
    assert order == sorted(order)
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_json_is_the_plan(run):
    code, out, err = run(*POOLED, "--error", "0.1", "--model", "pooled", "--json")
    assert code == 0, err
    data = json.loads(out)
    plan = st.plan(dim=50, n_tokens=4, n_signal=2, signal=3.0, error=0.1, model="pooled")
    assert data["n_samples"] == plan.n_samples
    assert data["settings"] == plan.settings
    assert data["curve"]["quantity"] == data["solved_for"] == "n_samples"


def test_pilot_as_json_and_picture(run, tmp_path):
    X, y = st.SparseTokenProblem(2, 2, 6.0).sample(20, 3, random_state=0)
    rows = [
        f"case {i},patient {i % 3},{y[i]},{','.join(map(str, token))}"
        for i in range(len(X))
        for token in X[i]
    ]
    table = tmp_path / "pilot.csv"
    table.write_text("\n".join(["case,patient,outcome,a,b,c", *rows]))
    picture = tmp_path / "pilot.svg"
    columns = ("--by", "case", "--label", "outcome", "--group", "patient")
    options = ("--effort", "0.1", "--random-state", "3", "--json", "--plot", picture)
    code, out, err = run("plan", "pilot", table, "--error", "0.3", *columns, *options)
    assert code == 0, err
    assert err == ""  # no terminal, no progress
    data = json.loads(out)
    assert data["interval"][0] <= data["n_samples"] <= data["interval"][1]
    assert data["pilot_size"] == 20
    assert len(data["observed"]) == 2  # one and two of three patients
    assert len(data["curve"]["median"]) == len(data["curve"]["n_samples"])
    assert "<svg" in picture.read_text()


def test_a_table_without_sequences_has_a_sample_in_each_row(run, tmp_path):
    X, y = st.SparseTokenProblem(1, 1, 6.0).sample(20, 3, random_state=0)
    rows = [f"{y[i]},{','.join(map(str, X[i, 0]))}" for i in range(len(X))]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["y,a,b,c", *rows]))
    options = ("--label", "y", "--error", "0.3", "--effort", "0.1", "--json")
    code, out, err = run("plan", "pilot", table, *options)
    assert code == 0, err
    data = json.loads(out)
    assert data["pilot_size"] == 20
    assert "labelled samples" in data["answer"] or "20 samples" in data["answer"]


CURVE = "n_samples,error,auc,seed\n" + "\n".join(
    f"{n},{e},{a},0"
    for n, e, a in ((20, 0.38, 0.66), (40, 0.3, 0.77), (80, 0.22, 0.86), (160, 0.17, 0.91))
)


def test_curve_is_that_of_python(run, refused, tmp_path):
    path = tmp_path / "curve.csv"
    path.write_text(CURVE)
    code, out, err = run("plan", "curve", path, "--n-test", "500", "--error", "0.12", "--json")
    assert code == 0, err
    aucs = [0.66, 0.77, 0.86, 0.91]
    sizes, errors = [20, 40, 80, 160], [0.38, 0.3, 0.22, 0.17]
    plan = st.plan.from_curve(sizes, errors, aucs=aucs, n_test=500, error=0.12)
    data = json.loads(out)
    assert data["n_samples"] == plan.n_samples
    assert data["curve"]["median"] == list(plan.curve.median)
    asked = ("plan", "curve", path, "--error", "0.05", "--metric", "auc")
    refused(asked, 2, "--n-test must be given")
    path.write_text(
        CURVE.replace("seed", "n_test").replace(",0\n", ",500\n").replace("91,0", "91,500")
    )
    code, out, err = run(*asked, "--report")
    assert code == 0, err
    assert "AUC of 0.95" in out
    assert out.startswith("## Answer")


def test_size_of_a_test_set(run):
    asked = ("plan", "test-size", "--metric", "recall", "--fpr", "0.05")
    asked += ("--value", "0.8", "--width", "0.1")
    code, out, err = run(*asked, "--positive-rate", "0.2")
    assert code == 0, err
    plan = st.plan.test_size("recall", fpr=0.05, value=0.8, width=0.1, positive_rate=0.2)
    assert out.startswith(plan.answer)


def test_a_pilot_needs_labels(refused, tmp_path):
    np.savez(tmp_path / "blind.npz", X=np.ones((8, 2, 3)))
    asked = ("plan", "pilot", tmp_path / "blind.npz", "--error", "0.1")
    refused(asked, 2, "blind.npz has no labels")


def test_a_pilot_may_have_layers(refused, tmp_path):
    np.savez(tmp_path / "blind.npz", layer_3=np.ones((8, 2, 3)), layer_7=np.ones((8, 2, 3)))
    asked = ("plan", "pilot", tmp_path / "blind.npz", "--error", "0.1")
    refused(asked, 2, "say which with 'layer'")
    refused((*asked, "--layer", "7"), 2, "blind.npz has no labels")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((*POOLED,), "leave out exactly one of n_samples, dim"),
        ((*POOLED, "--error", "0.1", "--n-samples", "99"), "leave out exactly one of n_samples"),
        ((*POOLED, "--error", "0.7"), "error must be below"),
        ((*POOLED, "--error", "0.1", "--model", "magic"), "model must be one of"),
        (
            ("plan", "pilot", "x.txt", "--error", "0.1"),
            "data must be a folder or a file ending in .csv",
        ),
        (("plan", "pilot", "x.npz"), "Missing option '--error'"),
        (("plan", "curve", "x.csv"), "Missing option '--error'"),
        (("plan", "test-size", "--width", "0.1"), "Missing option '--value'"),
        (("plan", "test-size", "--value", "0.8"), "one of width and null must be given"),
        ((*POOLED, "--error", "0.001", "--model", "pooled"), "error=0.001 cannot be reached"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(refused, arguments, named):
    refused(arguments, 2, f"sparsetoken: {named}")


POPULATION = """
label_errors = [0.05, 0.0]
kinds = [
    {probability = 0.6, n_tokens = 4, n_signal = 2, signal = 3.0},
    {probability = 0.4, n_tokens = 8, n_signal = 2, signal = 4.0},
]
"""


def test_plan_of_a_population_is_that_of_python(run, refused, tmp_path):
    (tmp_path / "population.toml").write_text(POPULATION)
    kinds = ("--population", tmp_path / "population.toml")
    asked = ("plan", "--dim", "20", "--model", "pooled", "--metric", "recall", "--fpr", "0.1")
    code, out, err = run(*asked, *kinds, "--n-samples", "80", "--positive-rate", "0.3", "--json")
    assert code == 0, err
    data = json.loads(out)
    problems = [st.SparseTokenProblem(4, 2, 3.0, 0.3), st.SparseTokenProblem(8, 2, 4.0, 0.3)]
    population = st.Population(problems, [0.6, 0.4], label_errors=(0.05, 0.0))
    options = {"model": "pooled", "metric": "recall", "fpr": 0.1}
    plan = st.plan(problem=population, dim=20, n_samples=80, **options)
    assert data["error"] == plan.error
    assert [kind["probability"] for kind in data["kinds"]] == [0.6, 0.4]
    assert [kind["n_tokens"] for kind in data["kinds"]] == [4, 8]
    assert data["label_errors"] == [0.05, 0.0]
    assert "vectorized" not in data["alternatives"]
    wrong = (*asked, *kinds, "--error", "0.4", "--n-tokens", "5")
    refused(wrong, 2, "n_tokens must be left out: the problem has it")


def test_an_unreachable_target_is_json_too(run):
    code, out, err = run(*POOLED, "--error", "0.001", "--model", "pooled", "--json")
    assert code == 2
    answer = json.loads(out)
    assert answer["reachable"] is False
    assert "its floor is" in answer["answer"]
    assert answer["answer"] in err


def test_a_curve_that_is_not_there(refused):
    refused(("plan", "curve", "x.csv", "--error", "0.1"), 1, "x.csv: No such file")


def test_a_curve_that_is_no_text(refused, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(b"PK\x03\x04\xce")
    refused(
        ("plan", "curve", path, "--error", "0.1"),
        2,
        "x.npz: the curve must have columns n_samples",
    )
