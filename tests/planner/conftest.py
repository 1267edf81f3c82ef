"""Plans that several tests look at."""

import pytest

import sparsetoken as st
from planner.examples import (
    CHEAP,
    EASY,
    POOLED,
    PROBLEM,
)


@pytest.fixture(scope="session")
def attention():
    return st.plan(**EASY, error=0.05)


@pytest.fixture(scope="session")
def pooled():
    return st.plan(**POOLED, error=0.15, model="pooled")


@pytest.fixture(scope="session")
def enough():
    """So many samples that the theory says what to expect."""
    return st.plan(**POOLED, n_samples=300, model="pooled")


@pytest.fixture(scope="session")
def data():
    return PROBLEM.sample(80, 20, random_state=0)


@pytest.fixture(scope="session")
def pilot(data):
    return st.plan.from_pilot(*data, error=0.12, estimator=CHEAP)


@pytest.fixture(scope="session")
def weak():
    return st.SparseTokenProblem(4, 2, 3.0).sample(80, 60, random_state=0)
