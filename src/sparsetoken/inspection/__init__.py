"""What people ask of a fitted classifier: which tokens, how sure, at which threshold.

Functions of a fitted stack of members; the classifiers' methods call them. They know the contract
of a stack (``scores``, ``without_fold``, ``members``), not how it learns.
"""

from sparsetoken.inspection.data_faults import Finding
from sparsetoken.inspection.diagnosis import Diagnosis, diagnose
from sparsetoken.inspection.explanations import Explanation, attention, explain
from sparsetoken.inspection.measures import Measure, fraction, hold_out, judge
from sparsetoken.inspection.streams import ScoreStream, stream
from sparsetoken.inspection.thresholds import threshold

__all__ = [
    "Diagnosis",
    "Explanation",
    "Finding",
    "Measure",
    "ScoreStream",
    "attention",
    "diagnose",
    "explain",
    "fraction",
    "hold_out",
    "judge",
    "stream",
    "threshold",
]
