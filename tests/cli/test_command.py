import json
import os
import subprocess
import sys

import pytest

import sparsetoken


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


NUMERICS = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "pandas", "plotly")
LIGHT = f"""
import sys
sys.argv[0] = "sparsetoken"
from sparsetoken.cli import main
try:
    main()
finally:
    print(*sorted(set({NUMERICS!r}) & set(sys.modules)), file=sys.stderr)
"""


def light(*arguments, **environment):
    """Run the command in a process that tells which numerics it has loaded: stdout."""
    shown = subprocess.run(
        [sys.executable, "-c", LIGHT, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stderr.split() == [], arguments
    return shown.stdout


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


def test_options_are_those_of_the_vocabulary():
    from sparsetoken.vocabulary import PARAMETERS

    shown = " ".join(light("theory", "--help").split())
    for name in ("n_tokens", "positive_rate", "lr_query", "test_n_tokens", "fpr", "n_points"):
        assert PARAMETERS[name].option in shown
        assert PARAMETERS[name].help in shown


def test_names_are_whole_in_a_narrow_terminal():
    import pty

    code = "from sparsetoken.cli import main; main(['figure'])"
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, stdout=follower, check=False)
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    for name in sparsetoken.experiments.figure_names():
        assert name.encode() in shown


def test_warnings_are_one_line(run, monkeypatch):
    import warnings

    from sparsetoken.cli import command

    def warn(arguments, standalone_mode):
        warnings.simplefilter("always")
        warnings.warn("mind the\n gap", stacklevel=1)

    monkeypatch.setattr(command, "app", warn)
    assert run() == (0, "", "sparsetoken: mind the gap\n")


def test_theory_prints_the_theory(run):
    code, out, _ = run("theory", "cosine,test_error", "--alpha", 4, "--reg", 0.1, "--json")
    assert code == 0
    found = json.loads(out)
    problem = sparsetoken.SparseTokenProblem(10, 1, 5.0)
    expected = sparsetoken.theory.two_step_risk(problem, alpha0=2.0, alpha1=2.0, reg=0.1)
    assert found["test_error"]["value"] == expected.test_error
    assert found["test_error"]["uncertainty"] == expected.test_error.uncertainty
    assert found["cosine"]["value"] == expected.cosine
    assert found["values"]["alpha"] == 4.0
    code, out, _ = run(
        "theory", "oracle_error", "--model", "pooled", "--n-tokens", 100, "--signal", 4
    )
    assert code == 0
    assert "0.42074" in out
    code, out, _ = run("theory")
    assert "required_signal" in out
    assert "least possible error" not in out  # what it is, not only its label
    assert "chosen with the signal known" in out
    assert json.loads(run("theory", "--json")[1])["values"]["signal"] == 5.0


@pytest.mark.filterwarnings("default::FutureWarning")
def test_a_former_option_warns(run):
    options = ("theory", "cosine", "--alpha0", 2, "--json")
    code, out, err = run(*options, "--centre", 1)
    assert (code, out) == run(*options, "--center", 1)[:2]
    assert "centre is called center now" in err
    assert "--centre" not in run("theory", "--help")[1]


def test_theory_at_infinity(run):
    out = run("theory", "test_error", "--model", "pooled", "--alpha", "inf", "--json")[1]
    assert json.loads(out)["values"]["alpha"] is None
    assert 0.2 < json.loads(out)["test_error"]["value"] < 0.22


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["test_error"], ["alpha0", "needed"]),
        (["test_error", "--alpah", "2"], ["--alpah", "--alpha"]),
        (["test_error", "alpha=2"], ["alpha=2"]),
        (["test_error", "--alpha", "much"], ["--alpha", "'much'"]),
        (["test_error", "--alpha", "-1"], ["alpha must be a number in (0, inf], got -1.0"]),
        (["cosine", "--model", "pooled", "--alpha", "2"], ["cosine does not exist", "'pooled'"]),
        (["test_error", "--dim", "100"], ["--dim"]),
    ],
)
def test_wrong_arguments_of_theory(refused, arguments, parts):
    refused(("theory", *arguments), 2, *parts)


def test_demo_compares_theory_and_simulation(run, tmp_path):
    picture = tmp_path / "demo.png"
    arguments = ("demo", "--out", picture, "--dim", 60, "--trials", 6, "--workers", 2)
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    assert err == ""
    rows = json.loads(out)["rows"]
    assert len(rows) == 2 * (5 + 5 + 3) + 5  # the best possible learner has no training loss
    best = {row["alpha"]: row["theory"] for row in rows if row["model"] == "optimal"}
    assert best[2.0] == pytest.approx(0.0203, abs=1e-4)
    for row in rows:
        assert row["quantity"] != "test_error" or row["theory"] >= best[row["alpha"]]
    for row in rows:
        gap = abs(row["simulation"] - row["theory"])
        # At dim 60 the means are off by some percent of the theory's limit.
        assert gap < 5 * row["uncertainty"] + 0.15 * row["theory"], row
        assert row["difference"] * (row["simulation"] - row["theory"]) >= 0
    attention, pooled = (
        next(r for r in rows if (r["model"], r["alpha"], r["quantity"]) == (m, 4.0, "test_error"))
        for m in ("two-step", "pooled")
    )
    assert attention["simulation"] < 0.5 * pooled["simulation"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    header = picture.with_suffix(".csv").read_text().splitlines()[0]
    assert header.endswith("source,quantity,value,uncertainty,converged")
    code, out, _ = run(*arguments)  # drawn again from the store
    assert code == 0
    assert "best possible" in out
    assert "sparsetoken plan" in out
    assert str(picture) in out


def test_figure_lists_and_draws(refused, run, tmp_path):
    code, out, _ = run("figure")
    assert code == 0
    assert "attention-map" in out
    for ending, start in ((".svg", b"<?xml"), (".pdf", b"%PDF")):
        picture = tmp_path / f"map{ending}"
        style = ("--width", "85", "--letters", "--title")
        code, out, err = run(
            "figure", "attention-map", "--quick", "--out", picture, "--json", *style
        )
        assert code == 0, err
        assert json.loads(out)["table"] == str(tmp_path / "map.csv")
        assert "L = 20" in json.loads(out)["caption"]
        assert picture.read_bytes().startswith(start)
    refused(("figure", "split", "--width", "8.5"), 2, "40")
    refused(("figure", "aligment"), 2, "did you mean 'alignment'")
    refused(("figure", "split", "--out", tmp_path / "a.jpg"), 2, ".png, .pdf, .svg")
    refused(("figure", "split", "--out", tmp_path / "no" / "a.png"), 1, "there is no folder")
    both = ("--scheduler", "tcp://localhost:1", "--cluster", "local")
    refused(("figure", "split", "--out", tmp_path / "a.png", *both), 2, "not both")


def test_demo_refuses_bad_options(run):
    assert run("demo", "--trials", "1")[0] == 2
    assert run("demo", "--nonsense")[0] == 2


KINDS = ("--kind", "0.6,4,1,4", "--kind", "0.4,14,2,3")
POPULATION = """
label_errors = [0.1, 0.05]
[[kinds]]
share = 0.6
n_tokens = 4
signal = 4.0
[[kinds]]
share = 0.4
n_tokens = 14
n_signal = 2
signal = 3
"""


def test_theory_of_a_population_is_that_of_python(run, tmp_path):
    file = tmp_path / "population.toml"
    file.write_text(POPULATION)
    problems = [
        sparsetoken.SparseTokenProblem(4, 1, 4.0),
        sparsetoken.SparseTokenProblem(14, 2, 3.0),
    ]
    population = sparsetoken.Population(problems, [0.6, 0.4], label_errors=(0.1, 0.05))
    asked = ("theory", "test_error,recall", "--alpha", 4, "--model", "pooled", "--json")
    code, out, _ = run(*asked, *KINDS, "--label-errors", "0.1,0.05")
    assert code == 0
    expected = sparsetoken.theory.risk(population, "pooled", alpha=4.0, reg=1e-2)
    found = json.loads(out)
    assert found["test_error"]["value"] == expected.test_error
    assert found["recall"]["value"] == expected.recall(fpr=0.01)
    assert found["values"]["kinds"] == "0.6,4,1,4.0,0.5; 0.4,14,2,3.0,0.5"
    assert run(*asked, "--population", file)[1] == out
    code, out, _ = run(*asked, "--population", file, "--test-label-errors", "0,0")
    clean = expected.on(sparsetoken.Population(problems, [0.6, 0.4]))
    assert json.loads(out)["test_error"]["value"] == clean.test_error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "0.7,10"), "--kind 0.7,10: a kind must be share,n_tokens,n_signal,signal"),
        (("--kind", "1,10,11,5"), "--kind 1,10,11,5: n_signal must be an integer in [1, 10]"),
        (("--kind", "0.7,10,1,5"), "--kind 0.7,10,1,5: shares must add up to 1, got [0.7]"),
        (("--test-kind", "x"), "--test-kind x: a kind must be"),
        (("--label-errors", "0.1"), "--label-errors 0.1: label_errors must be two probabilities"),
        ((*KINDS, "--n-tokens", 3), "n_tokens does not go with kinds"),
        ((*KINDS, "--population", "x"), "--kind must be left out with --population"),
        ((*KINDS, "--model", "vectorized"), "needs sequences of one length, got lengths 4, 14"),
    ],
)
def test_a_wrong_population_names_its_option(run, options, message):
    code, out, err = run("theory", "test_error", "--alpha", 4, *options)
    assert (code, out) == (2, "")
    assert message in err


def test_a_wrong_population_file_is_named(run, tmp_path):
    file = tmp_path / "population.toml"
    for text, message in (("kinds =", "is not TOML"), ("kind = 1", "did you mean 'kinds'?")):
        file.write_text(text)
        code, _, err = run("theory", "test_error", "--alpha", 4, "--population", file)
        assert code == 2
        assert str(file) in err
        assert message in err
