"""What a process of the explorer does: it answers, line by line.

To import it takes seconds: it loads compiled code by drawing what everybody sees. On Linux that is
done once, by the process that all others are forked from.
"""

import json
import pickle
import select
import socket
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from threadpoolctl import threadpool_limits

from sparsetoken.app.view import Line
from sparsetoken.app.views import VIEWS
from sparsetoken.app.views.learning import CLASSIFIERS, risks
from sparsetoken.experiments.executors import end_with_parent

_LONGEST = 500  # characters of an error


class Stopped(BaseException):
    """Nobody waits for the answer any more."""


def work(link: socket.socket) -> None:
    """Answer requests until the server has ended."""
    end_with_parent()
    requests = link.makefile("rb")
    with suppress(EOFError, OSError):
        while True:
            if request := pickle.load(requests):  # an empty one has stopped that before
                _answer(link, *request)


def _answer(link: socket.socket, function: Callable[..., None], *arguments: Any) -> None:
    """Send the lines of an answer and an empty one at the end."""

    def send(line: Line) -> None:
        if select.select([link], [], [], 0)[0]:
            raise Stopped
        link.sendall(json.dumps(line).encode() + b"\n")

    try:
        function(*arguments, send)
    except Stopped:
        pass
    except Exception as error:
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        line = Line(error=" ".join(text.split())[:_LONGEST].rstrip(".") + ".")
        link.sendall(json.dumps(line).encode() + b"\n")
    link.sendall(b"\n")


warnings.simplefilter("ignore")  # results say what they are
threadpool_limits(1, user_api="blas")
_values = VIEWS["learning"].check({})
for _loss in VIEWS["learning"].controls["loss"].options:
    for _model in CLASSIFIERS:
        _ = [risk.test_error for risk in risks(_values | {"loss": _loss}, _model, [1.0])]
