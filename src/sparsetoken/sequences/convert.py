"""Whatever holds sequences, as :class:`Sequences` that were checked: the name others import."""

from sparsetoken.sequences.forms import OneTokenWarning
from sparsetoken.sequences.sequences import as_sequences

__all__ = ["OneTokenWarning", "as_sequences"]
