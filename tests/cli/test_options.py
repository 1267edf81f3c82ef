"""Options of several commands: the vocabulary's, former ones, populations."""

import json

import pytest

import sparsetoken
from cli.light import light


def test_options_are_those_of_the_vocabulary():
    from sparsetoken.vocabulary import PARAMETERS

    shown = " ".join(light("theory --help")[0].split())
    for name in ("n_tokens", "positive_rate", "lr_query", "test_n_tokens", "fpr", "n_points"):
        assert PARAMETERS[name].option in shown
        assert PARAMETERS[name].help in shown


@pytest.mark.filterwarnings("default::FutureWarning")
def test_a_former_option_warns(run):
    options = ("theory", "cosine", "--alpha0", 2, "--json")
    code, out, err = run(*options, "--centre", 1)
    assert (code, out) == run(*options, "--center", 1)[:2]
    assert "centre is called center now" in err
    assert "--centre" not in run("theory", "--help")[1]


KINDS = ("--kind", "0.6,4,1,4", "--kind", "0.4,14,2,3")


POPULATION = """
label_errors = [0.1, 0.05]
[[kinds]]
probability = 0.6
n_tokens = 4
signal = 4.0
[[kinds]]
probability = 0.4
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
    common = {"positive_rate": 0.5}
    assert found["values"]["kinds"] == [
        {"probability": 0.6, "n_tokens": 4, "n_signal": 1, "signal": 4.0} | common,
        {"probability": 0.4, "n_tokens": 14, "n_signal": 2, "signal": 3.0} | common,
    ]
    assert run(*asked, "--population", file)[1] == out
    code, out, _ = run(*asked, "--population", file, "--test-label-errors", "0,0")
    clean = expected.on(sparsetoken.Population(problems, [0.6, 0.4]))
    assert json.loads(out)["test_error"]["value"] == clean.test_error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "0.7,10"), "--kind 0.7,10: a kind needs signal"),
        (("--kind", "1,10,1,5,0.5,9"), "signal, positive_rate and no more numbers"),
        (("--kind", "1,10,11,5"), "--kind 1,10,11,5: n_signal must be an integer in [1, 10]"),
        (("--kind", "0.7,10,1,5"), "--kind 0.7,10,1,5: shares must add up to 1, got [0.7]"),
        (("--test-kind", "x"), "--test-kind x: it must be numbers with commas"),
        (("--label-errors", "0.1"), "label_errors must be two probabilities"),
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
