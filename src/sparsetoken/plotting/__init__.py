"""Pictures from tables; nothing is computed here."""

from sparsetoken.plotting.catalogue import PICTURES, draw, save_picture

__all__ = ["PICTURES", "draw", "save_picture"]
