"""Results as rows of a table: plain numbers by name."""

import json

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem, sampling, theory
from sparsetoken.losses import Logistic

PROBLEM = SparseTokenProblem(4, 1, 3.0)


def results():
    risk = theory.risk(PROBLEM, "pooled", alpha=2.0, reg=1e-2)
    best = theory.optimal(PROBLEM, 2.0)
    return {
        "risk": risk,
        "on": risk.on(SparseTokenProblem(8, 1, 3.0)),
        "alignment": theory.alignment(PROBLEM, alpha=2.0),
        "optimal": best,
        "from nothing": best.from_nothing,
        "thresholds": theory.learning_thresholds(PROBLEM),
        "training": theory.training(PROBLEM, steps=2, alpha=2.0, n_points=256),
        "query": sampling.sample_query(PROBLEM, 20, 10, loss=Logistic(), random_state=0),
        "posterior": sampling.sample_posterior_mean(PROBLEM, 20, 10, random_state=0),
    }


def test_every_result_is_a_row_of_plain_values():
    for name, result in results().items():
        row = result.to_dict()
        assert json.loads(json.dumps(row)) == row, name
        for column, value in row.items():
            if column != "model":
                assert np.all(value == getattr(result, column)), (name, column)
                assert type(value) in (float, bool, int, list), (name, column)


def test_a_curve_becomes_a_table():
    pandas = pytest.importorskip("pandas")
    curve = theory.risk(PROBLEM, "pooled", alpha=np.array([1.0, 2.0]), reg=1e-2)
    table = pandas.DataFrame(curve)
    assert table.equals(pandas.DataFrame([r.to_dict() for r in curve])[list(table)])
    assert table["alpha"].tolist() == [1.0, 2.0]
    assert table["model"].tolist() == ["pooled"] * 2
    assert all(table[name].dtype.kind in "fb" for name in table if name != "model")
    best = pandas.DataFrame(theory.optimal(PROBLEM, [1.0, 2.0]))
    assert best["hard"].tolist() == [False, False]
    assert best["test_error"].dtype == float
    steps = pandas.DataFrame(results()["training"].to_dict())
    assert steps["step"].tolist() == [1, 2]
