import numpy as np
from dense_reference import softmax

import sparsetoken as st
from sparsetoken.experiments.token_weights import draw_token_weights

PROBLEM = st.SparseTokenProblem(8, 2, 6.0)


def test_weights_are_those_of_the_learned_query():
    weights, carries_signal = draw_token_weights(
        PROBLEM, 800, 100, n_sequences=30, random_state=3, lr_query=30.0, beta=1.5
    )
    assert weights.shape == carries_signal.shape == (2, 30, 8)
    assert carries_signal.sum(axis=2).tolist() == [[2] * 30, [0] * 30]
    rng = np.random.default_rng(3)
    query = st.sampling.sample_query(
        PROBLEM, 800, 100, loss=st.losses.Logistic(), random_state=rng, lr_query=30.0, beta=1.5
    )
    positive = st.SparseTokenProblem(8, 2, 6.0, 1.0)
    X, _ = positive.sample(30, 100, direction=query.direction, random_state=rng)
    np.testing.assert_allclose(weights[0], softmax(1.5 * X @ query.query), rtol=1e-9)
    assert weights[0][carries_signal[0]].sum() / 30 > 0.5
