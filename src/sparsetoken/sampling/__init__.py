"""Exact samplers that never build the tokens.

Dense sampling (:meth:`sparsetoken.SparseTokenProblem.sample`) draws ``n·L·d`` normals. In law,
exactly and at any finite size, the published pipeline needs far less:

* :func:`sample_query`: two gradient steps, from ``O(n + d)`` draws;
* :func:`sample_features`: the attention features of fresh samples, from ``n·d + n·L`` normals;
* :func:`exact_performance`: test error, AUC, recall of a readout trained on them, without a test
  set, from :func:`sample_feature_law`; :func:`pooled_performance` for a readout of mean tokens.
"""

from sparsetoken.sampling.exact import exact_performance, pooled_performance, sample_feature_law
from sparsetoken.sampling.features import sample_features
from sparsetoken.sampling.query import LearnedQuery, sample_query

__all__ = [
    "LearnedQuery",
    "exact_performance",
    "pooled_performance",
    "sample_feature_law",
    "sample_features",
    "sample_query",
]
