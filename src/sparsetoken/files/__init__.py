"""Sequences from files: tables with one token per row, archives of arrays, folders of slides."""

from sparsetoken.files.dataset import Dataset
from sparsetoken.files.read import is_table, open_table, read_dataset

__all__ = ["Dataset", "is_table", "open_table", "read_dataset"]
