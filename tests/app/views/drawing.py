"""What a view draws and prints."""

import contextlib
import io
import json
import re

import pytest

from sparsetoken.app.views import VIEWS

RATES = ("beta", "lr_readout", "lr_bias", "lr_query", "loss")
PROBLEM = ("n_tokens", "n_signal", "signal", "positive_rate")
ODD = {"loss": "square", "signal": 4.0, "positive_rate": 0.4}


def checked(view, given=None):
    return VIEWS[view].check(given or {})


def lines(view, given=None, simulate=False):
    """Return the lines of an answer that are more than a sign of life."""
    sent = []
    work = VIEWS[view].simulate if simulate else VIEWS[view].draw
    work(checked(view, given), sent.append)
    return [line for line in sent if line]


class EnoughError(Exception):
    """The first picture is there."""


def until_a_picture(sent):
    """Return a function that takes lines, and stops the work when a picture is among them."""

    def send(line):
        sent.append(line)
        if "figures" in line:
            raise EnoughError

    return send


def first(view, given=None):
    """Return the first picture."""
    sent = []
    with pytest.raises(EnoughError):
        VIEWS[view].draw(checked(view, given), until_a_picture(sent))
    return merged(sent)


def merged(sent):
    """Return what the page shows after some lines."""
    shown = {}
    for line in sent:
        shown |= line
    return shown


def draw(view, given=None, simulate=False):
    """Return the picture in full."""
    return merged(lines(view, given, simulate))


def trace(picture, name, figure=0):
    return next(t for t in picture["figures"][figure]["data"] if t.get("name") == name)


def names(picture, figure=0):
    return [trace.get("name") for trace in picture["figures"][figure]["data"]]


def rates(values):
    return {name: values[name] for name in RATES}


def printed(view, given=None):
    """Run the script of a view and return the numbers that it prints."""
    values, shown = checked(view, given), io.StringIO()
    code = re.sub(r"\{(\w+)\}", lambda name: json.dumps(values[name[1]]), VIEWS[view].script)
    with contextlib.redirect_stdout(shown):
        exec(code, {})
    found = re.findall(r"nan|-?\b\d+(?:\.\d*)?(?:e[+-]?\d+)?", shown.getvalue())
    return [float(number) for number in found]
