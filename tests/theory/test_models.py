"""What a name of a model stands for."""

import inspect
import math

import pytest
from scipy.special import ndtr

from populations import STRENGTHS, TWO_LENGTHS
from sparsetoken import SparseTokenProblem, theory
from sparsetoken.pooling import Elementwise
from sparsetoken.theory import capacity, risk
from sparsetoken.vocabulary import quantity
from user_poolings import Rectified


def test_linear_models_on_another_problem():
    problem = SparseTokenProblem(10, 1, 5.0)
    pooled = risk(problem, "pooled", alpha=2.0, reg=1e-2)
    longer = SparseTokenProblem(20, 3, 4.0, 0.3)
    mean = pooled.readout_overlap * 4.0 * 3 / 20
    deviation = pooled.readout_norm / math.sqrt(20)
    expected = 0.3 * ndtr(-(mean + pooled.bias) / deviation) + 0.7 * ndtr(pooled.bias / deviation)
    assert pooled.on(longer).test_error == pytest.approx(expected, rel=1e-10)
    vectorized = risk(problem, "vectorized", alpha=2.0, reg=1e-2)
    assert vectorized.on(SparseTokenProblem(10, 2, 5.0)).test_error < vectorized.test_error
    with pytest.raises(ValueError, match="n_tokens must stay the same"):
        vectorized.on(longer)


def test_elementwise_and_custom_poolings():
    problem = SparseTokenProblem(10, 1, 4.0)
    sigmoid = risk(problem, "elementwise", alpha=2.0, reg=1e-3, cosine=0.8, sharpness=1.0)
    same = risk(problem, Elementwise(), alpha=2.0, reg=1e-3, cosine=0.8, sharpness=1.0)
    assert same.test_error == sigmoid.test_error
    # A rectifier is homogeneous: twice the sharpness and four times the ridge change nothing.
    one, two = (
        risk(problem, Rectified(), alpha=2.0, reg=reg, cosine=0.8, sharpness=s)
        for s, reg in ((1.0, 4e-3), (2.0, 16e-3))
    )
    assert one.test_error == pytest.approx(two.test_error, rel=1e-3)
    assert one.test_error != pytest.approx(sigmoid.test_error, rel=1e-3)


def test_vectorized_needs_one_length():
    with pytest.raises(ValueError, match="'vectorized' needs sequences of one length, got lengths"):
        risk(TWO_LENGTHS, "vectorized", alpha=2.0, reg=1e-2)
    with pytest.raises(ValueError, match="'vectorized' needs sequences of one length"):
        capacity(TWO_LENGTHS, "vectorized")
    found = risk(STRENGTHS, "vectorized", alpha=2.0, reg=1e-2)
    assert 0.2 < found.test_error < 0.5


def test_one_default_for_the_number_of_points():
    """In the library as on the command line, so that both print the same digits."""
    default = quantity("n_points").default
    # Optimal learning is exact for one signal token, and its points cost much more.
    others = {"optimal", "learning_thresholds"}
    functions = [getattr(theory, name) for name in theory.__all__ if name not in others]
    signatures = [inspect.signature(f) for f in functions if inspect.isfunction(f)]
    defaults = [s.parameters["n_points"].default for s in signatures if "n_points" in s.parameters]
    assert len(defaults) >= 7
    assert set(defaults) == {default}
