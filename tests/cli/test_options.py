"""Options of several commands: the vocabulary's, and populations."""

import json

import pytest

import sparsetoken
from cli.light import light


def test_options_are_those_of_the_vocabulary():
    from sparsetoken.vocabulary import PARAMETERS

    shown = " ".join(light("theory --help")[0].split())
    for name in ("n_tokens", "positive_rate", "lr_query", "fpr", "n_points"):
        assert f"--{name.replace('_', '-')}" in shown
        assert PARAMETERS[name].help in shown


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

OWN_RATES = POPULATION.replace("probability", "positive_rate = 0.5\nprobability")


def test_theory_of_a_population_is_that_of_python(run, tmp_path):
    file = tmp_path / "population.toml"
    file.write_text(POPULATION)
    problems = [
        sparsetoken.SparseTokenProblem(4, 1, 4.0),
        sparsetoken.SparseTokenProblem(14, 2, 3.0),
    ]
    population = sparsetoken.Population(problems, [0.6, 0.4], label_errors=(0.1, 0.05))
    asked = ("theory", "test_error,recall", "--alpha", 4, "--model", "pooled", "--json")
    code, out, err = run(*asked, "--population", file)
    assert code == 0, err
    expected = sparsetoken.theory.risk(population, "pooled", alpha=4.0, reg=1e-2)
    found = json.loads(out)
    assert found["test_error"]["value"] == expected.test_error
    assert found["recall"]["value"] == expected.recall(fpr=0.01)
    common = {"positive_rate": 0.5}
    assert found["values"]["kinds"] == [
        {"probability": 0.6, "n_tokens": 4, "n_signal": 1, "signal": 4.0} | common,
        {"probability": 0.4, "n_tokens": 14, "n_signal": 2, "signal": 3.0} | common,
    ]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("kinds =", (), "is not TOML"),
        ("kind = 1", (), "did you mean 'kinds'?"),
        ("label_errors = [0.1, 0.1]", (), "it has no kinds, written [[kinds]]"),
        (POPULATION.replace("0.6", "0.5"), (), "shares must add up to 1, got [0.5, 0.4]"),
        (POPULATION.replace("signal = 3", "", 1), (), "a kind needs signal"),
        (POPULATION.replace("0.05]", "2]"), (), "label_errors must"),
        (POPULATION, ("--n-tokens", 3), "n_tokens does not go with kinds"),
        (OWN_RATES, ("--positive-rate", 0.2), "positive_rate does not go with kinds: each has"),
        (POPULATION, ("--model", "vectorized"), "one length, got lengths 4, 14"),
    ],
)
def test_a_wrong_population_is_named(refused, tmp_path, text, options, message):
    file = tmp_path / "population.toml"
    file.write_text(text)
    names = () if options else (str(file),)
    asked = ("theory", "test_error", "--alpha", 4, *options, "--population", file)
    refused(asked, 2, message, *names)


def test_a_rate_beside_kinds_that_have_their_own_is_refused_by_plans(refused, run, tmp_path):
    file = tmp_path / "population.toml"
    asked = ("plan", "--dim", 100, "--n-samples", 200, "--model", "pooled", "--population", file)
    file.write_text(OWN_RATES)
    refused((*asked, "--positive-rate", 0.2), 2, "positive_rate does not go with kinds")
    file.write_text(POPULATION)
    assert run(*asked, "--positive-rate", 0.2)[0] == 0
