"""What a view draws, prints and computes in the background."""

import contextlib
import io
import re
import shlex
from itertools import islice

import pytest

from sparsetoken.app.parameters import values_model
from sparsetoken.app.views import VIEWS
from sparsetoken.cli import main

RATES = ("beta", "lr_readout", "lr_bias", "lr_query", "loss")
PROBLEM = ("n_tokens", "n_signal", "signal", "positive_rate")
LAST = 9  # the picture in full
ODD = {"loss": "square", "signal": 4.0, "positive_rate": 0.4}


def check(view, given):
    view = VIEWS[view]
    return values_model("Values", view.names, view.defaults)(**given).model_dump()


def draw(view, given=None, step=0):
    """Return a step of a picture; beyond the last, the last."""
    return list(islice(VIEWS[view].draw(check(view, given or {})), step + 1))[-1]


def curve(content, name, panel=0):
    return next(found for found in content.panels[panel].curves if found.name == name)


def rates(values):
    return {name: values[name] for name in RATES}


def printed(content):
    """Run the script of a view and return the numbers that it prints."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(content.python, {})
    found = re.findall(r"nan|-?\b\d+(?:\.\d*)?(?:e[+-]?\d+)?", shown.getvalue())
    return [float(number) for number in found]


def commanded(content, capsys):
    """Run the command of a view and return the numbers that it prints."""
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(content.command)[1:], "--json"])
    assert not ended.value.code
    return [float(value) for value in re.findall(r'"value": ([-\d.e]+)', capsys.readouterr().out)]


SPREAD = {"signal_spread": 0.5, "length_spread": 0.5}


def worked(view, given):
    """Return the progress of a view's work."""
    steps = []
    VIEWS[view].work(check(view, given), steps.append)
    return steps
