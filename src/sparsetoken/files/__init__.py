"""Sequences from files: tables with one token a row, archives of arrays, folders of slides."""

from sparsetoken.files.dataset import Dataset, Selection
from sparsetoken.files.read import is_table, read_dataset

__all__ = ["Dataset", "Selection", "is_table", "read_dataset"]
