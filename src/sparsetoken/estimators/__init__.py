"""Estimators that follow scikit-learn's conventions, and the container of ragged sequences.

* :class:`SparseTokenClassifier`: the one to reach for: attention, pooling and trees together;
* :class:`AttentionClassifier`: attention for real data;
* :class:`BayesAttentionClassifier`: the best possible learner where the model holds;
* :class:`PooledClassifier`, :class:`VectorizedClassifier`, :class:`TwoStepAttentionClassifier`: the
  linear classifiers and the published protocol that the theory analyzes;
* :class:`PerToken` and :class:`Sequences`, for pipelines and for sequences of any length;
* :func:`save` and :func:`load` without pickle; :func:`export` and :func:`to_torch` as tensors.
"""

from sparsetoken.estimators.answers import Diagnosis, Explanation, Finding, ModelFit
from sparsetoken.estimators.attention_heads import Head
from sparsetoken.estimators.classifiers import (
    AttentionClassifier,
    BayesAttentionClassifier,
    SparseTokenClassifier,
)
from sparsetoken.estimators.linear import (
    PooledClassifier,
    TwoStepAttentionClassifier,
    VectorizedClassifier,
)
from sparsetoken.estimators.probe import export, to_torch
from sparsetoken.estimators.storage import load, save
from sparsetoken.estimators.streams import ScoreStream
from sparsetoken.sequences.checks import EmptySequenceWarning, OneTokenWarning, PaddingWarning
from sparsetoken.sequences.folder import SequenceWriter
from sparsetoken.sequences.per_token import PerToken
from sparsetoken.sequences.sequences import Sequences

__all__ = [
    "AttentionClassifier",
    "BayesAttentionClassifier",
    "Diagnosis",
    "EmptySequenceWarning",
    "Explanation",
    "Finding",
    "Head",
    "ModelFit",
    "OneTokenWarning",
    "PaddingWarning",
    "PerToken",
    "PooledClassifier",
    "ScoreStream",
    "SequenceWriter",
    "Sequences",
    "SparseTokenClassifier",
    "TwoStepAttentionClassifier",
    "VectorizedClassifier",
    "export",
    "load",
    "save",
    "to_torch",
]
