"""Sequences from files: tables with one token per row, archives of arrays, folders of slides."""

from sparsetoken.files.dataset import Dataset
from sparsetoken.files.frames import is_table, open_table
from sparsetoken.files.read import read_dataset
from sparsetoken.files.roles import Roles

__all__ = ["Dataset", "Roles", "is_table", "open_table", "read_dataset"]
