"""Exact samplers that never build the tokens.

Dense sampling (:meth:`sparsetoken.SparseTokenProblem.sample`) draws ``n·L·d`` normals. In law,
exactly and at any finite size, the published pipeline needs far less:

* :func:`sample_query`: two gradient steps, from ``O(n + d)`` draws;
* :func:`sample_features`: the attention features of fresh samples, from ``n·d + n·L`` normals;
* :func:`sample_posterior_mean`: what message passing learns, the best there is, from ``n·L + d``
  normals an iteration;
* :func:`exact_performance`: test error, AUC, recall of a readout trained on them, without a test
  set, from :func:`sample_feature_law`; :func:`pooled_performance` for a readout of mean tokens.
"""

from sparsetoken.sampling.exact import exact_performance, pooled_performance, sample_feature_law
from sparsetoken.sampling.features import sample_features
from sparsetoken.sampling.posterior import PosteriorMean, sample_posterior_mean
from sparsetoken.sampling.query import LearnedQuery, sample_query

__all__ = [
    "LearnedQuery",
    "PosteriorMean",
    "exact_performance",
    "pooled_performance",
    "sample_feature_law",
    "sample_features",
    "sample_posterior_mean",
    "sample_query",
]
