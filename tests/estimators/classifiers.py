"""Quick classifiers of each kind, and samples for them."""

import pytest

import sparsetoken as st
from estimators.ragged import PROBLEM

X, Y = PROBLEM.sample(120, 8, random_state=0)
POOLED = st.PooledClassifier()
VECTORIZED = st.VectorizedClassifier()
TWO_STEP = st.TwoStepAttentionClassifier(random_state=0)
ATTENTION = st.AttentionClassifier(random_state=0, refine_steps=8, cv=2)
SPARSE_TOKEN = st.SparseTokenClassifier(random_state=0, refine_steps=8, n_trees=16, cv=2)
BAYES = st.BayesAttentionClassifier(random_state=0, cv=2)
ALL = [POOLED, VECTORIZED, TWO_STEP, ATTENTION, BAYES, SPARSE_TOKEN]
RAGGED = [POOLED, TWO_STEP, ATTENTION, BAYES, SPARSE_TOKEN]
each_classifier = pytest.mark.parametrize("classifier", ALL, ids=lambda c: type(c).__name__)
each_ragged = pytest.mark.parametrize("classifier", RAGGED, ids=lambda c: type(c).__name__)
