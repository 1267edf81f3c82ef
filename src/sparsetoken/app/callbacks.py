"""What happens when something is moved or pressed: read the input, ask the library, show."""

import threading
from collections import OrderedDict
from typing import Any
from urllib.parse import parse_qsl

from dash import (
    ALL,
    MATCH,
    ClientsideFunction,
    Dash,
    Input,
    Output,
    State,
    html,
    no_update,
)
from dash.exceptions import PreventUpdate

from sparsetoken.app.charts import themed
from sparsetoken.app.content import Content, Drawing, StaleError, View, time_limit
from sparsetoken.app.jobs import BusyError, Jobs
from sparsetoken.app.parameters import Values, check_values
from sparsetoken.app.views import VIEWS

__all__ = ["LONGEST", "MOST_STEPS", "BadRequestError", "connect", "read_link", "view_content"]

LONGEST = 20.0  # seconds that a picture may take
MOST_STEPS = 30
_MOST_CLIENTS = 1000


class BadRequestError(Exception):
    """The request is not one that the page makes."""


class Clients:
    """Knows each client's latest request, so that work on older ones can stop."""

    def __init__(self) -> None:
        self._latest: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def arrived(self, client: str, sequence: int) -> None:
        """Note a request."""
        with self._lock:
            self._latest[client] = max(sequence, self._latest.get(client, sequence))
            self._latest.move_to_end(client)
            while len(self._latest) > _MOST_CLIENTS:
                self._latest.popitem(last=False)

    def check(self, client: str, sequence: int) -> None:
        """Raise StaleError if there is a later request."""
        if self._latest.get(client, sequence) > sequence:
            raise StaleError


def read_link(search: Any) -> tuple[str, dict[str, Any], str]:
    """Return view and values that a link carries, and a complaint if it asks for the impossible."""
    if not isinstance(search, str) or len(search) > 4000:
        return next(iter(VIEWS)), {}, ""
    given: dict[str, Any] = dict(parse_qsl(search.lstrip("?")))
    name = given.pop("view", next(iter(VIEWS)))
    view = VIEWS.get(name, next(iter(VIEWS.values())))
    try:
        return view.name, check_values(given, view.names), ""
    except ValueError as error:
        return view.name, {}, f"This link cannot be shown: {error}."


def view_content(view: View, values: Values, drawing: Drawing) -> Content:
    """Return what a view shows; ValueError says what is wrong with the values."""
    return view.draw(check_values(values, view.names), drawing)


def connect(app: Dash, jobs: Jobs) -> None:
    """Register all callbacks."""
    _connect_browser(app)
    clients = Clients()

    @app.callback(Output("link", "data"), Input("url", "search"))
    def follow_link(search: Any) -> dict[str, Any]:
        view, values, complaint = read_link(search)
        return {"view": view, "values": values, "complaint": complaint}

    @app.callback(
        Output("figure", "figure"),
        Output("sentence", "children"),
        Output("facts", "children"),
        Output("python", "children"),
        Output("command", "children"),
        Output("answer", "data"),
        Input("request", "data"),
        prevent_initial_call=True,
    )
    def draw(request: Any) -> tuple[Any, ...]:
        asked = _Asked(request)
        clients.arrived(asked.client, asked.sequence)
        in_time = time_limit(LONGEST)

        def check() -> None:
            clients.check(asked.client, asked.sequence)
            in_time()

        drawing = Drawing(asked.step, check, jobs.known)
        try:
            drawing.check()
            content = view_content(asked.view, asked.values, drawing)
        except StaleError:
            raise PreventUpdate from None
        except ValueError as error:
            answer = {"sequence": asked.sequence, "step": asked.step, "refused": True}
            return no_update, f"{error}.", no_update, no_update, no_update, answer
        return (
            themed(content.figure, dark=asked.dark, narrow=asked.narrow),
            content.sentence,
            _facts(content),
            content.python,
            content.command,
            {"sequence": asked.sequence, "step": asked.step, "more": content.more},
        )

    @app.callback(Output("job", "data"), Input("job-request", "data"), prevent_initial_call=True)
    def work(request: Any) -> dict[str, Any]:
        if isinstance(request, dict) and "cancel" in request:
            jobs.cancel(str(request["cancel"])[:40])
            return {"state": "cancelled"}
        asked = _Asked(request)
        if asked.view.tasks is None:
            raise BadRequestError(f"the view {asked.view.name!r} has no background work")
        try:
            tasks = asked.view.tasks(check_values(asked.values, asked.view.names))
            return {"key": jobs.start(asked.client, tasks), "state": "waiting"}
        except (BusyError, ValueError) as error:
            return {"state": "failed", "message": f"{error}."}

    @app.callback(
        Output("heard", "data"),
        Input("tick", "n_intervals"),
        State("job", "data"),
        prevent_initial_call=True,
    )
    def listen(_: Any, job: Any) -> dict[str, Any]:
        if not isinstance(job, dict) or not isinstance(job.get("key"), str):
            raise PreventUpdate
        return {"key": job["key"], **jobs.status(job["key"][:40])._asdict()}


class _Asked:
    """A request of the page, checked."""

    def __init__(self, request: Any) -> None:
        if not isinstance(request, dict):
            raise BadRequestError("a request must be an object")
        client = request.get("client")
        if not isinstance(client, str) or not 8 <= len(client) <= 40:
            raise BadRequestError("client must be a word of 8 to 40 characters")
        for name, most in (("sequence", 2**53), ("step", MOST_STEPS)):
            number = request.get(name)
            if type(number) is not int or not 0 <= number <= most:
                raise BadRequestError(f"{name} must be a whole number from 0 to {most}")
        if not isinstance(request.get("view"), str) or request["view"] not in VIEWS:
            raise BadRequestError(f"view must be one of {', '.join(VIEWS)}")
        if not isinstance(request.get("values"), dict):
            raise BadRequestError("values must be an object")
        self.client: str = client
        self.sequence: int = request["sequence"]
        self.step: int = request["step"]
        self.view: View = VIEWS[request["view"]]
        self.values: Values = request["values"]
        self.dark = request.get("dark") is True
        self.narrow = request.get("narrow") is True


def _facts(content: Content) -> Any:
    if not content.facts:
        return []
    rows = [html.Tr([html.Th(name, scope="row"), html.Td(value)]) for name, value in content.facts]
    return html.Table(html.Tbody(rows))


def _connect_browser(app: Dash) -> None:
    """Register what happens in the browser alone; the functions are in ``assets/explorer.js``."""

    def in_browser(function: str, *parts: Any, first: bool = True) -> None:
        app.clientside_callback(
            ClientsideFunction("explorer", function), *parts, prevent_initial_call=not first
        )

    in_browser(
        "slide",
        Output({"kind": "number", "name": MATCH}, "value"),
        Output({"kind": "slider", "name": MATCH}, "value"),
        Input({"kind": "number", "name": MATCH}, "value"),
        Input({"kind": "slider", "name": MATCH}, "value"),
        State({"kind": "number", "name": MATCH}, "id"),
    )
    in_browser(
        "follow",
        Output({"kind": "number", "name": ALL}, "value", allow_duplicate=True),
        Output({"kind": "choice", "name": ALL}, "value"),
        Output("view", "data"),
        Input("link", "data"),
        State({"kind": "number", "name": ALL}, "id"),
        State({"kind": "number", "name": ALL}, "value"),
        State({"kind": "choice", "name": ALL}, "id"),
        State({"kind": "choice", "name": ALL}, "value"),
        first=False,
    )
    in_browser(
        "changed",
        Input({"kind": "number", "name": ALL}, "value"),
        Input({"kind": "choice", "name": ALL}, "value"),
        Input("view", "data"),
        Input("theme", "data"),
        State({"kind": "number", "name": ALL}, "id"),
        State({"kind": "choice", "name": ALL}, "id"),
        first=False,
    )
    in_browser(
        "choose_view",
        Output("view", "data", allow_duplicate=True),
        Input({"kind": "tab", "name": ALL}, "n_clicks"),
        first=False,
    )
    in_browser("switch_theme", Output("theme", "data"), Input("theme-switch", "n_clicks"))
    in_browser(
        "redraw",
        Output({"kind": "number", "name": ALL}, "value", allow_duplicate=True),
        Input("again", "n_clicks"),
        State({"kind": "number", "name": ALL}, "id"),
        State({"kind": "number", "name": ALL}, "value"),
        first=False,
    )
    in_browser("start_work", Output("job-request", "data"), Input("work", "n_clicks"), first=False)
    in_browser(
        "cancel_work",
        Output("job-request", "data", allow_duplicate=True),
        Input("cancel", "n_clicks"),
        State("job", "data"),
        first=False,
    )
    in_browser(
        "show_work",
        Output("tick", "disabled"),
        Output("working", "hidden"),
        Output("progress", "value"),
        Output("progress-text", "children"),
        Input("job", "data"),
        Input("heard", "data"),
        first=False,
    )
    for format_of in ("svg", "png"):
        in_browser(
            "save_figure",
            Output(format_of, "id"),
            Input(format_of, "n_clicks"),
            State(format_of, "id"),
            first=False,
        )
    in_browser(
        "copy_link", Output("copy-link", "children"), Input("copy-link", "n_clicks"), first=False
    )
    in_browser("explain", Output("explain", "children"), Input("explain", "n_clicks"), first=False)
