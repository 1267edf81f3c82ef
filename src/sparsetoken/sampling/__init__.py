"""Exact samplers that never build the tokens.

Dense sampling (:meth:`sparsetoken.SparseTokenProblem.sample`) draws ``n·L·d`` normals. In law,
exactly and at any finite size, the published pipeline needs far less:

* :func:`sample_query`: two gradient steps, from ``O(n + d)`` draws;
* :func:`sample_features`: the attention features of fresh samples, from ``n·d + n·L`` normals;
* :func:`exact_test_error`: the test error of a readout trained on them, without a test set.
"""

from sparsetoken.sampling.error import FeatureLaw, Triples, exact_test_error, sample_feature_law
from sparsetoken.sampling.features import sample_features
from sparsetoken.sampling.query import LearnedQuery, sample_query

__all__ = [
    "FeatureLaw",
    "LearnedQuery",
    "Triples",
    "exact_test_error",
    "sample_feature_law",
    "sample_features",
    "sample_query",
]
