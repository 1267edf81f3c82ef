"""The explorer as a web service: its routes, and how it is started and ended.

Answers are lines of JSON that come as they are computed; a request that is aborted stops the work.
FastAPI describes the service (``/api/openapi.json``); uvicorn serves it from one thread, so that a
slow client costs nothing. Nothing is computed here: processes do it.
"""

import signal
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict
from starlette.requests import ClientDisconnect

from sparsetoken._validation import check_count
from sparsetoken.app.guard import Guard
from sparsetoken.app.parameters import CONTROLS, DEPENDENT, GROUPS, PRESETS, describe
from sparsetoken.app.study import MOST_BYTES, Upload, save, study
from sparsetoken.app.views import VIEWS
from sparsetoken.app.workers import Workers

_STATIC = Path(__file__).with_name("static")


class Lines(StreamingResponse):
    """Lines of JSON, as they come."""

    media_type = "application/x-ndjson"


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.workers = Workers()
    yield


app = FastAPI(
    title="sparsetoken explorer",
    lifespan=_lifespan,
    docs_url=None,
    redoc_url=None,
    openapi_url="/api/openapi.json",
)
app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
app.add_middleware(Guard, most_bytes={"/api/data": MOST_BYTES})


@app.exception_handler(ValueError)
@app.exception_handler(RequestValidationError)
async def explain(_: Request, error: Any) -> JSONResponse:
    """Say in a sentence what is wrong with a request."""
    words = str(error)
    if isinstance(error, RequestValidationError):
        words = "; ".join(f"{str(e['loc'][-1])[:40]}: {e['msg']}" for e in error.errors())
    return JSONResponse({"detail": f"{words.encode('utf-8', 'replace').decode()[:500]}."}, 422)


@app.get("/api/explorer", summary="Controls with their limits, views and examples")
async def explorer() -> dict[str, Any]:
    """Return what the page needs to know."""
    views = {
        view.name: {
            "title": view.title,
            "question": view.question,
            "controls": list(view.controls),
            "python": view.script,
            "simulates": view.simulate is not None,
        }
        for view in VIEWS.values()
    }
    return {
        "controls": {name: describe(control) for name, control in CONTROLS.items()},
        "groups": GROUPS,
        "dependent": DEPENDENT,
        "views": views,
        "presets": PRESETS,
        "fields": {name: field.title for name, field in Upload.model_fields.items() if field.title},
        "most_bytes": MOST_BYTES,
    }


class Asked(BaseModel):
    """A request for a picture; ``/api/explorer`` lists the values of each view and their limits."""

    model_config = ConfigDict(extra="forbid")
    values: dict[str, Any] = {}
    simulate: bool = False
    """Whether to add points of a simulation, where the view has one."""


@app.post("/api/views/{name}", summary="A picture, coarse and then refined", response_class=Lines)
async def picture(name: str, asked: Asked) -> Response:
    """Draw a view."""
    if name not in VIEWS:
        raise HTTPException(404, "There is no such view.")
    view = VIEWS[name]
    function = view.simulate if asked.simulate and view.simulate else view.draw
    return Lines(app.state.workers.answer(function, view.check(asked.values)))


@app.put("/api/data", summary="Report on a file: read, fit, judge, plan", response_class=Lines)
async def put_data(request: Request, about: Annotated[Upload, Query()]) -> Response:
    """Study a file, which is the body."""
    try:
        path, folder = await save(about.name, request.stream())
    except ClientDisconnect:
        return Response(status_code=400)  # nobody listens

    async def answer() -> AsyncIterator[bytes]:
        with folder:
            asked = path, about.reading(), about.error
            async for line in app.state.workers.answer(study, *asked):
                yield line

    return Lines(answer())


# The page, and plotly.js as it is installed; the routes above go first.
_PLOTLY = ("plotly", "package_data")
app.mount("/", StaticFiles(directory=_STATIC, packages=[_PLOTLY], html=True))


class _Server(uvicorn.Server):
    """Ends the processes first: whoever waits for them would hold up the end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app.state.workers.close()
        await super().shutdown(sockets)


def serve(port: int = 8050, *, browser: bool = True) -> None:
    """Serve the explorer to this machine until interrupted; port 0 takes a free one."""
    check_count("port", port, minimum=0, maximum=65535)
    with socket.create_server(("127.0.0.1", port)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        print(f"sparsetoken explorer at {address} (stop with Ctrl-C)", flush=True)
        if browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            access_log=False,
            timeout_graceful_shutdown=1,
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # no process or file is left
        with suppress(KeyboardInterrupt):  # the usual way to end it
            _Server(config).run(sockets=[listener])
