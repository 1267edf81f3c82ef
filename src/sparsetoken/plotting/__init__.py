"""Style and the pieces that several pictures share; nothing is computed here."""

from sparsetoken.plotting.plan import draw_pilot, draw_plan
from sparsetoken.plotting.style import (
    COLUMN,
    caption,
    curve,
    guide,
    label_axes,
    lines_and_points,
    looks,
    new_figure,
    plain_log,
    present,
    save_picture,
    select,
    styled,
    with_subscripts,
)

__all__ = [
    "COLUMN",
    "caption",
    "curve",
    "draw_pilot",
    "draw_plan",
    "guide",
    "label_axes",
    "lines_and_points",
    "looks",
    "new_figure",
    "plain_log",
    "present",
    "save_picture",
    "select",
    "styled",
    "with_subscripts",
]
