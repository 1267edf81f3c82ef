"""Quantities of the theory, printed."""

import json

import pytest

import sparsetoken


def test_theory_prints_the_theory(run):
    code, out, _ = run("theory", "cosine, test_error", "--alpha", 4, "--reg", 0.1, "--json")
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


def test_theory_at_infinity(run):
    out = run("theory", "test_error", "--model", "pooled", "--alpha", "inf", "--json")[1]
    assert json.loads(out)["values"]["alpha"] is None
    assert 0.2 < json.loads(out)["test_error"]["value"] < 0.22


def test_an_option_that_is_on_or_off(run):
    asked = ("theory", "oracle_error", "--model", "bayes", "--n-tokens", 8, "--n-signal", 2)
    apart, together = (
        json.loads(run(*asked, "--signal", 2, "--json", *flag)[1])
        for flag in ((), ("--contiguous",))
    )
    assert together["values"]["contiguous"] is True
    assert together["oracle_error"]["value"] < apart["oracle_error"]["value"]


def test_options_that_are_words(run):
    hard = ("--model", "optimal", "--alpha", 0.6, "--n-tokens", 1000, "--signal", 5, "--json")
    cosines = [
        json.loads(run("theory", "cosine", *hard, "--start", start)[1])["cosine"]["value"]
        for start in ("nothing", "informed")
    ]
    assert cosines[0] < 0.2 < 0.8 < cosines[1]


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
