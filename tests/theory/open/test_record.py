"""Error bars of a training, and what is left of one that runs away."""

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.theory import ConvergenceWarning, training
from theory.open.dense_descent import NAMES


@pytest.mark.statistical
def test_error_bars_cover_the_error():
    problem = SparseTokenProblem(6, 1, 3.0)
    for batches in ("fresh", "reused", "online"):
        options = {"steps": 4, "alpha": 1.0, "batches": batches}
        coarse = training(problem, **options, n_points=1024)
        fine = training(problem, **options, n_points=16384)
        for name in ("cosine", "query_norm", "readout_norm", "test_error"):
            error = np.hypot(coarse.uncertainty(name), fine.uncertainty(name)) + 1e-6
            scores = (getattr(coarse, name) - getattr(fine, name)) / error
            assert np.abs(scores).max() < 5.0, (batches, name)
            assert fine.uncertainty(name).max() < 0.02


@pytest.mark.parametrize("batches", ["fresh", "reused", "online"])
def test_runaway_training_is_told(batches):
    problem = SparseTokenProblem(4, 1, 2.0)
    with pytest.warns(ConvergenceWarning, match="runs away in step"):
        t = training(
            problem, steps=12, alpha=1.0, batches=batches, loss="square", lr_readout=200.0,
            lr_query=50.0, n_points=256,
        )  # fmt: skip
    assert not t.converged
    assert t.diverged_at == len(t.cosine) + 1 <= 12
    for name in (*NAMES, "train_loss", "test_error"):
        assert np.isfinite(getattr(t, name)).all()
        assert len(getattr(t, name)) == len(t.uncertainty(name)) == len(t.cosine)
    assert f"diverged in step {t.diverged_at}" in repr(t)


def test_arrays_are_asked_for_by_name():
    t = training(SparseTokenProblem(5), steps=2, alpha=1.0, n_points=256)
    assert t.sharpness.tolist() == t.query_norm.tolist()
    assert repr(t).startswith("Training(fresh, steps=2, cosine=")
    with pytest.raises(ValueError, match=r"^name must"):
        t.uncertainty("angle")
