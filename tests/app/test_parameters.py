import math

import pytest

from sparsetoken.app.callbacks import read_link
from sparsetoken.app.parameters import GROUPS, PARAMETERS, Choice, Number, check_values
from sparsetoken.app.views import VIEWS

NUMBERS = [p for p in PARAMETERS.values() if isinstance(p, Number)]
CHOICES = [p for p in PARAMETERS.values() if isinstance(p, Choice)]
BAD_NUMBERS = [None, True, "", "x", "1e400", math.nan, math.inf, -math.inf, 10**400, [1], {}, 1j]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_numbers(number):
    for value in (number.low, number.high, number.default):
        assert number.check(value) == number.check(str(value)) == value
        assert type(number.check(value)) is (int if number.whole else float)
    step = 1 if number.whole else 1e-3
    for value in (number.low - step, number.high + step, *BAD_NUMBERS):
        with pytest.raises(ValueError, match=rf"\({number.name}\) must be a .*number from"):
            number.check(value)
    if number.whole:
        with pytest.raises(ValueError, match="must be a whole number"):
            number.check(number.low + 0.5)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.name)
def test_choices(choice):
    for value in choice.options:
        assert choice.check(value) == value
    for value in ("", "x" * 10_000, choice.default.upper(), None, 0, [choice.default], {}):
        with pytest.raises(ValueError, match=choice.name) as refused:
            choice.check(value)
        assert len(str(refused.value)) < 200


def test_every_parameter_is_in_one_group_and_in_a_view():
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(PARAMETERS)
    assert {name for view in VIEWS.values() for name in view.names} == set(PARAMETERS)


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_values_default_and_are_only_those_of_the_view(view):
    values = check_values({"n_tokens": "7", "seed": 3, "target": 0.1}, view.names)
    assert tuple(values) == view.names
    assert values["n_tokens"] == 7
    assert values["signal"] == PARAMETERS["signal"].default


def test_values_that_do_not_fit_together_or_are_unknown():
    names = VIEWS["learning"].names
    with pytest.raises(ValueError, match="at most the 3 tokens of a sequence, got 4"):
        check_values({"n_tokens": 3, "n_signal": 4}, names)
    with pytest.raises(ValueError, match=r"unknown value 'x{40}'"):
        check_values({"x" * 100: 1}, names)
    for given in (None, [], "n_tokens", 3):
        with pytest.raises(ValueError, match="values must be names with values"):
            check_values(given, names)


def test_links():
    first = next(iter(VIEWS))
    assert read_link("")[0] == read_link("?view=nothing")[0] == first
    view, values, complaint = read_link(
        "?view=capacity&n_tokens=20&capacity_axis=n_tokens&loss=hinge"
    )
    assert (view, complaint) == ("capacity", "")
    assert values == check_values(
        {"n_tokens": 20, "capacity_axis": "n_tokens", "loss": "hinge"}, VIEWS["capacity"].names
    )
    for wrong in ("n_tokens=0", "n_tokens=x", "loss=", "loss=absolute", "n_signal=11", "what=1"):
        view, values, complaint = read_link(f"?view=capacity&{wrong}")
        expected = wrong != "loss="  # nothing given is the default
        assert (view, bool(complaint)) == ("capacity", expected)
        assert expected == (values == {})
        assert complaint == "" or complaint.startswith("This link cannot be shown: ")
    for odd in (None, 3, [], {}, "?" + "x" * 5000, "?" + "n_tokens=5&" * 200):
        assert read_link(odd)[0] == first
