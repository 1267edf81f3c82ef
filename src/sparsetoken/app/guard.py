"""What the server lets in: this machine's own page, in small bodies; and how answers are sealed."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard"]

_HOSTS = ("127.0.0.1", "localhost", "::1")
_SEAL = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"  # Plotly writes styles; no script is inline
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}


class Guard:
    """Refuses requests of other sites and for other hosts, and bodies that are too large.

    Parameters
    ----------
    app : ASGI application
        What answers the others.
    most_bytes : int
        Largest body.
    large : dict of str to int
        Paths that may have larger ones.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, large: dict[str, int]) -> None:
        self._app, self._most_bytes, self._large = app, most_bytes, large

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = self._large.get(scope["path"], self._most_bytes)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_SEAL)
            await send(message)

        refusal = _refusal(headers, scope["path"], most)
        if refusal is not None:
            code, words = refusal
            await JSONResponse({"detail": words}, code)(scope, receive, sealed)
            return
        await self._app(scope, _limited(receive, most), sealed)


def _refusal(headers: Headers, path: str, most: int) -> tuple[int, str] | None:
    host = headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname
        origin = urlsplit(headers.get("origin", f"http://{host}")).netloc
        length = int(headers.get("content-length", "0"))
    except ValueError:
        return 400, "This is not a request of a browser."
    if "\0" in path:  # no file is called so, and old libraries stumble over it
        return 400, "This is not a request of a browser."
    if name not in _HOSTS:
        return 403, "The explorer answers to this machine alone."
    foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site") and path != "/"
    if origin != host or foreign:
        return 403, "Another site has sent this request."
    if length > most:
        return 413, _too_large(most)
    return None


def _limited(receive: Receive, most: int) -> Receive:
    """Count what arrives: a body may be longer than it says, or say nothing."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, _too_large(most))
        return message

    return limited


def _too_large(most: int) -> str:
    size = f"{most / 1e6:g} MB" if most >= 1e6 else f"{most / 1e3:g} kB"
    return f"This is larger than {size}, the most that the explorer takes."
