import math

import pytest

from sparsetoken.planner import read_curve

EXPECTED = {"sizes": [10.0, 20.0], "errors": [0.5, 0.25], "aucs": [0.5, 0.75]}


@pytest.mark.parametrize(
    "text",
    [
        "n_samples,error,auc\n10,0.5,0.5\n20,0.25,0.75\n",
        "Num_Train;test_acc;test_auc\n10;0.5;0.5\n20;0.75;0.75",
        "size\taccuracy\tauc\n10\t0.5\t0.5\n\n20\t0.75\t0.75",
        "n  error auc  note\n10  0.5  0.5 a\n20  0.25 0.75 b",
    ],
)
def test_tables_as_people_have_them(text):
    assert read_curve(text) == EXPECTED


def test_gaps_and_test_samples():
    columns = read_curve("n_samples,error,recall,n_test\n10,0.5,,400\n10,0.4,0.1,300")
    assert columns["n_test"] == 300
    assert columns["errors"] == [0.5, 0.4]
    assert math.isnan(columns["recalls"][0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a row of names and one of numbers"),
        ("10,0.5\n20,0.4", "must have a column n_samples, got 10, 0.5"),
        ("n_samples,error\n10,half", "must have numbers, got 'half' in line 2"),
    ],
)
def test_what_is_no_curve_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        read_curve(text)
