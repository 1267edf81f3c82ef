"""Laws of features as points in batches."""

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.law import linear_law
from sparsetoken.pooling import Softmax
from sparsetoken.theory.features import BATCHES, attention_law


def test_points_and_batches():
    law = attention_law(SparseTokenProblem(5, 1, 2.0, 0.3), Softmax(), 0.5, 1.0, 1024)
    points = law.points
    assert points.weight.sum() == pytest.approx(1.0)
    assert points.weight[points.label > 0].sum() == pytest.approx(0.3)
    assert law.by_batch(points.scale).mean() == pytest.approx(points.weight @ points.scale)
    first = law.batch(0)
    assert law.by_batch(points.scale)[0] == pytest.approx(first.points.average(first.points.scale))
    assert first.points.weight.sum() == pytest.approx(1.0)
    assert np.array_equal(first.positive.scale, law.positive.scale[: 1024 // BATCHES])


def test_linear_law_is_one_point():
    points = linear_law(SparseTokenProblem(4, 2, 1.5, 0.2), 4).points
    assert points.along_rest.tolist() == [1.5, 0.0]
    assert points.scale.tolist() == [1.0, 1.0]
    assert points.weight.tolist() == [0.2, 0.8]


def test_points_of_one_label_only_are_refused():
    with pytest.raises(ValueError, match="must be of both labels"):
        _ = linear_law(SparseTokenProblem(4, positive_rate=1.0), 4).negative
