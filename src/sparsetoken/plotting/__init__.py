"""Pictures from tables; nothing is computed here."""

from sparsetoken.plotting.catalogue import PICTURES, draw, save_picture
from sparsetoken.plotting.plan import draw_pilot, draw_plan
from sparsetoken.plotting.style import COLOURS, MODELS, curve, lines_and_points, select, styled

__all__ = [
    "COLOURS",
    "MODELS",
    "PICTURES",
    "curve",
    "draw",
    "draw_pilot",
    "draw_plan",
    "lines_and_points",
    "save_picture",
    "select",
    "styled",
]
