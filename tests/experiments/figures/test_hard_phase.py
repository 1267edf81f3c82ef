from figure_tables import only, where

import sparsetoken as st


def test_hard_phase(table):
    rows = table(
        "hard-phase",
        lengths=[20, 200],
        length_points=[20],
        alphas=[0.5],
        n_tokens=200,
        lines=[0.15],
        points=[0.15, 1.0],
        dims=[50, 100],
        trials=4,
    )
    problem = st.SparseTokenProblem(200, 1, 5.0)
    found = st.theory.learning_thresholds(problem)
    assert only(rows, quantity="iteration_threshold", n_tokens=200) == found.iteration
    nothing, best = where(rows, panel="curve", source="theory", alpha=0.15)[::-1]
    assert (best["value"], nothing["value"]) == (
        st.theory.optimal(problem, 0.15).cosine,
        st.theory.optimal(problem, 0.15).from_nothing.cosine,
    )
    curve = where(rows, panel="curve", source="simulation", dim=100)
    assert {r["alpha"]: r["value"] > 0.6 for r in curve} == {0.15: False, 1.0: True}
    assert only(rows, panel="phases", source="simulation", dim=100) > 0.8
