"""What people ask of a fitted classifier: which tokens, how sure, at which threshold.

Functions of a fitted stack of members; the classifiers' methods call them. They know the contract
of a stack (``scores``, ``without_fold``, ``members``), not how it learns.
"""

from sparsetoken.inspection.diagnosis import diagnose
from sparsetoken.inspection.explanations import attention, explain
from sparsetoken.inspection.thresholds import stream, threshold

__all__ = ["attention", "diagnose", "explain", "stream", "threshold"]
