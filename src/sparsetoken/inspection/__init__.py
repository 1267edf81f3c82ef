"""What people ask of a fitted classifier: which tokens, how sure, at which threshold.

Functions of a fitted stack of members; the classifiers' methods call them. They know the contract
of a stack (``scores``, ``without_fold``, ``members``), not how it learns.
"""

from sparsetoken.inspection.data_faults import Finding
from sparsetoken.inspection.diagnose import Diagnosis
from sparsetoken.inspection.explain import Explanation
from sparsetoken.inspection.measures import Measure, fraction, hold_out, judge
from sparsetoken.inspection.model_fit import ModelFit
from sparsetoken.inspection.stream import ScoreStream

__all__ = [
    "Diagnosis",
    "Explanation",
    "Finding",
    "Measure",
    "ModelFit",
    "ScoreStream",
    "fraction",
    "hold_out",
    "judge",
]
