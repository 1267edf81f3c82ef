"""What a type checker sees of the public names; checked by mypy in ``make test``, never run."""

from typing import assert_type

import sparsetoken as st
from sparsetoken.estimators import AttentionClassifier
from sparsetoken.planner import Plan, Planner
from sparsetoken.theory import Risk

problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
assert_type(st.plan, Planner)
assert_type(st.plan(dim=384, n_tokens=50, signal=6.0, error=0.05), Plan)
assert_type(st.AttentionClassifier, type[AttentionClassifier])
assert_type(st.AttentionClassifier(random_state=0), AttentionClassifier)
assert_type(st.theory.risk(problem, "pooled", alpha=2.0, reg=1e-2), Risk)
