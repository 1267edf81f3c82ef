"""Named figures: each computes the table behind a picture; ``sparsetoken.plotting`` draws it."""

from sparsetoken.experiments.figures.catalogue import FIGURES, Recipe, figure_table, in_store

__all__ = ["FIGURES", "Recipe", "figure_table", "in_store"]
