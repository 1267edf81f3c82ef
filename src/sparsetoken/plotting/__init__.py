"""Style and the pieces that several pictures share; nothing is computed here."""

from sparsetoken._validation import import_extra

import_extra("matplotlib", "a picture", "plot")  # before the modules below import it

from sparsetoken.plotting.picture import (
    COLUMN,
    FORMATS,
    Picture,
    finish,
    new_figure,
    save_picture,
    share_legend,
    styled,
)
from sparsetoken.plotting.plan import draw_pilot, draw_plan, draw_test_size
from sparsetoken.plotting.style import (
    caption,
    curve,
    label_axes,
    lines_and_points,
    looks,
    panel,
    plain_log,
    present,
    select,
)
from sparsetoken.plotting.tokens import explanation

__all__ = [
    "COLUMN",
    "FORMATS",
    "Picture",
    "caption",
    "curve",
    "draw_pilot",
    "draw_plan",
    "draw_test_size",
    "explanation",
    "finish",
    "label_axes",
    "lines_and_points",
    "looks",
    "new_figure",
    "panel",
    "plain_log",
    "present",
    "save_picture",
    "select",
    "share_legend",
    "styled",
]
