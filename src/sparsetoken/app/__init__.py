"""The explorer: a web page where the theory answers while a slider moves."""

from sparsetoken.app.server import serve

__all__ = ["serve"]
