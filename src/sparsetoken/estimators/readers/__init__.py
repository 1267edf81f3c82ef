"""Sequences from files: tables with one token a row, archives of arrays, folders of slides."""

from sparsetoken.estimators.readers.dataset import Dataset, Selection
from sparsetoken.estimators.readers.read import is_table, read_dataset

__all__ = ["Dataset", "Selection", "is_table", "read_dataset"]
