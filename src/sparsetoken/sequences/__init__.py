"""Sequences of tokens of different lengths: the container, where it comes from, passes over it."""

from sparsetoken.sequences.folder import SequenceWriter
from sparsetoken.sequences.per_token import PerToken
from sparsetoken.sequences.sequences import Sequences

__all__ = ["PerToken", "SequenceWriter", "Sequences"]
