"""Pictures from tables; nothing is computed here."""

from sparsetoken.plotting.catalogue import PICTURES, draw, save_picture
from sparsetoken.plotting.plan import draw_plan

__all__ = ["PICTURES", "draw", "draw_plan", "save_picture"]
