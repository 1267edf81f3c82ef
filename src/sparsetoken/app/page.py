"""The page: controls, figure, words and downloads. What they do is in ``callbacks``."""

import json
from typing import Any

from dash import dcc, html

from sparsetoken.app.parameters import GROUPS, PARAMETERS, Choice, Number
from sparsetoken.app.views import VIEWS

__all__ = ["layout"]

_SLIDER = 1000  # places of a slider


def layout() -> html.Div:
    """Return the whole page."""
    return html.Div(
        [
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="link"),
            dcc.Store(id="view", data=next(iter(VIEWS))),
            dcc.Store(id="theme"),
            dcc.Store(id="request"),
            dcc.Store(id="answer"),
            dcc.Store(id="job"),
            dcc.Store(id="job-request"),
            dcc.Store(id="heard"),
            dcc.Interval(id="tick", interval=400, disabled=True),
            html.Div(
                id="specification", hidden=True, **{"data-json": json.dumps(_specification())}
            ),
            _header(),
            html.Div([_controls(), _main()], className="columns"),
        ],
        className="page",
    )


def _specification() -> dict[str, Any]:
    """Return what the browser needs to know of parameters and views."""
    numbers = {
        name: [parameter.low, parameter.high, parameter.logarithmic, parameter.whole]
        for name, parameter in PARAMETERS.items()
        if isinstance(parameter, Number)
    }
    views = {
        name: {
            "title": view.title,
            "names": view.names,
            "button": view.button,
            "automatic": view.automatic,
        }
        for name, view in VIEWS.items()
    }
    return {"numbers": numbers, "views": views, "slider": _SLIDER}


def _header() -> html.Header:
    tabs = [
        html.Button(
            view.title,
            id={"kind": "tab", "name": name},
            className="view-tab",
            n_clicks=0,
            title=view.question,
            **{"data-view": name},
        )
        for name, view in VIEWS.items()
    ]
    return html.Header(
        [
            html.H1(["sparsetoken ", html.Span("explorer")]),
            html.Nav(tabs, **{"aria-label": "Views"}),
            html.Button("Dark", id="theme-switch", n_clicks=0, title="Light or dark colours"),
        ]
    )


def _controls() -> html.Details:
    """Return every parameter; the page shows those of the view."""
    groups = [
        html.Details(
            [html.Summary(heading), *(_control(PARAMETERS[name]) for name in names)],
            open=True,
            className="group",
        )
        for heading, names in GROUPS.items()
    ]
    explain = html.Button("Explain the controls", id="explain", n_clicks=0, className="quiet")
    return html.Details(
        [html.Summary("Controls"), explain, *groups], open=True, className="controls"
    )


def _control(parameter: Number | Choice) -> html.Div:
    views = " ".join(view.name for view in VIEWS.values() if parameter.name in view.names)
    entries = _choice(parameter) if isinstance(parameter, Choice) else _number(parameter)
    return html.Div(
        [*entries, html.P(parameter.help, className="help")],
        className="control",
        role="group",
        title=parameter.help,
        **{"data-views": views, "data-name": parameter.name, "aria-label": parameter.label},
    )


def _choice(parameter: Choice) -> list[Any]:
    options = [{"value": value, "label": text} for value, text in parameter.options.items()]
    chosen: dict[str, Any] = {
        "id": {"kind": "choice", "name": parameter.name},
        "options": options,
        "value": parameter.default,
    }
    few = len(options) <= 4
    entry = (
        dcc.RadioItems(**chosen, className="choice")
        if few
        else dcc.Dropdown(**chosen, clearable=False, searchable=False)
    )
    return [html.Span(parameter.label, className="label"), entry]


def _number(parameter: Number) -> list[Any]:
    letter, _, index = parameter.symbol.partition("_")
    symbol = html.Span([f" {letter}", html.Sub(index)], className="symbol")
    number = dcc.Input(
        id={"kind": "number", "name": parameter.name},
        type="number",
        value=parameter.default,
        min=parameter.low,
        max=parameter.high,
        step=1 if parameter.whole else "any",
        className="number-entry",
    )
    slider = dcc.Input(
        id={"kind": "slider", "name": parameter.name},
        type="range",
        min=0,
        max=_SLIDER,
        step=1,
        className="slider-entry",
    )
    return [html.Label([html.Span([parameter.label, symbol], className="label"), number]), slider]


def _main() -> html.Main:
    return html.Main(
        [
            html.P(id="sentence", role="status", **{"aria-live": "polite"}),
            dcc.Graph(
                id="figure",
                className="figure",
                config={"displaylogo": False, "displayModeBar": False, "responsive": True},
                style={"height": "100%"},
            ),
            html.Div(
                [
                    html.Button("Start", id="work", n_clicks=0, className="primary"),
                    html.Button("Draw another", id="again", n_clicks=0, className="primary"),
                    html.Div(
                        [
                            html.Progress(id="progress", value="0", max="1"),
                            html.Span(id="progress-text"),
                            html.Button("Cancel", id="cancel", n_clicks=0),
                        ],
                        id="working",
                        hidden=True,
                    ),
                    html.Span(className="space"),
                    html.A("Data (CSV)", id="table", href="table.csv", className="button"),
                    html.Button("Figure (SVG)", id="svg", n_clicks=0),
                    html.Button("Figure (PNG)", id="png", n_clicks=0),
                    html.Button("Copy link", id="copy-link", n_clicks=0),
                ],
                className="actions",
            ),
            html.Div(id="facts"),
            html.Details(
                [
                    html.Summary("Compute this yourself"),
                    html.H2(["Python ", dcc.Clipboard(target_id="python", title="Copy")]),
                    html.Pre(id="python"),
                    html.H2(["Command line ", dcc.Clipboard(target_id="command", title="Copy")]),
                    html.Pre(id="command"),
                ],
                id="reproduce",
            ),
        ]
    )
