"""Estimators that follow scikit-learn's conventions, and the container of ragged sequences.

* :class:`PooledClassifier`, :class:`VectorizedClassifier`: linear classifiers of whole sequences;
* :class:`TwoStepAttentionClassifier`: the published protocol, as analysed by the theory;
* :class:`AttentionClassifier`: attention for real data;
* :class:`PerToken`: any scikit-learn transformer applied to every token, for pipelines;
* :class:`Sequences`: sequences of any length, without padding;
* :func:`save` and :func:`load`: fitted classifiers in a file, without pickle.
"""

from sparsetoken.estimators.attention import AttentionClassifier
from sparsetoken.estimators.insight import Diagnosis, Explanation, Finding
from sparsetoken.estimators.linear import PooledClassifier, VectorizedClassifier
from sparsetoken.estimators.per_token import PerToken
from sparsetoken.estimators.sequences import OneTokenWarning, Sequences
from sparsetoken.estimators.storage import load, save
from sparsetoken.estimators.two_step import TwoStepAttentionClassifier

__all__ = [
    "AttentionClassifier",
    "Diagnosis",
    "Explanation",
    "Finding",
    "OneTokenWarning",
    "PerToken",
    "PooledClassifier",
    "Sequences",
    "TwoStepAttentionClassifier",
    "VectorizedClassifier",
    "load",
    "save",
]
