"""What a view is made of: controls, a script, words."""

import pytest

from sparsetoken.app.parameters import CONTROLS
from sparsetoken.app.view import View, per_cent, plural, samples, script


def test_names_of_groups_stand_for_their_controls():
    names, defaults = ("fpr", "Problem"), {"signal": 3.0}
    view = View("name", "Title", "Why?", names, lambda values, send: None, defaults=defaults)
    assert list(view.controls)[:3] == ["fpr", "n_tokens", "n_signal"]
    assert view.controls["signal"].default == 3.0
    assert view.controls["fpr"] == CONTROLS["fpr"]
    assert view.check({"n_tokens": 4})["signal"] == 3.0
    for given, words in (
        ({"n_tokens": 3, "n_signal": 4}, "4 signal tokens do not fit into a sequence of 3"),
        ({"reg": 1.0}, "unknown value 'reg'"),
        ({"n_tokens": 0}, "Sequence length"),
    ):
        with pytest.raises(ValueError, match=words):
            view.check(given)


def test_a_script_makes_the_problem_and_fills_in_values():
    values = {"n_tokens": 4, "signal": 3.0, "loss": "square", "beta": 2.0}
    text = script(values, "print(problem, {signal!r}, {training!r}, {size})", size=7)
    assert text.splitlines()[3:] == [
        "problem = st.SparseTokenProblem(n_tokens=4, signal=3.0)",
        "print(problem, 3.0, {'beta': 2.0, 'loss': 'square'}, 7)",
    ]
    exec(text, {})


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0, "0"), (1e-6, "less than 0.001"), (0.01234, "1.23"), (0.256, "26"), (0.9949, "99.5")],
)
def test_per_cent(fraction, text):
    assert per_cent(fraction) == f"{text}\N{NO-BREAK SPACE}%"


def test_counts():
    assert samples(1.0) == "1 sample per dimension"
    assert samples(2.34, 100) == "2.34 samples per dimension (n = 234)"
    assert samples(123.4) == "123 samples per dimension"
    assert (plural(1, "step"), plural(2, "step")) == ("1 step", "2 steps")
