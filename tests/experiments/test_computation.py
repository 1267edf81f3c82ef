import numpy as np
import pytest

from sparsetoken.experiments import compute, make_cell
from sparsetoken.experiments.computation import compute_or_error, curves


def make_cells(sources, alphas):
    return [
        make_cell(source, ["test_error", "train_loss"], {"model": model, "alpha": a, "dim": 50})
        for source in sources
        for model in ("pooled", "two-step")
        for a in alphas
    ]


def test_cells_are_gathered_into_curves_from_many_samples_to_few():
    cells = make_cells(("theory", "simulation"), np.geomspace(0.5, 8.0, 14))
    found = curves(cells)
    assert sorted(cell.key for curve in found for cell in curve) == sorted(c.key for c in cells)
    assert [len(curve) for curve in found] == [12, 2] * 2 + [1] * 28
    for curve in found[:4]:
        assert [cell.alpha1 for cell in curve] == sorted((c.alpha1 for c in curve), reverse=True)
    alone = [make_cell("theory", "cosine", {"alpha0": a}) for a in (1.0, 2.0)]
    assert [len(curve) for curve in curves(alone)] == [1] * 2


def test_a_curve_agrees_with_single_points_in_any_order():
    cells = make_cells(["theory"], (2.0, 0.5, 8.0, 1.0))
    along_curves = [
        pair for c in curves(cells) for pair in zip(c, compute_or_error(c), strict=True)
    ]
    assert len(along_curves) == len(cells)
    for cell, along in along_curves:
        for quantity, alone in compute(cell).items():
            assert along[quantity] == pytest.approx(alone, rel=1e-4)


def test_a_cell_that_fails_spoils_no_other_of_its_curve():
    """Without a ridge the theory has no answer below the capacity."""
    values = {"model": "pooled", "reg": 0.0}
    cells = [make_cell("theory", "test_error", values | {"alpha": a}) for a in (8.0, 6.0, 1.0)]
    *good, bad = compute_or_error(cells)
    assert [outcome["test_error"].converged for outcome in good] == [True, True]
    assert bad.startswith("ValueError: reg must be > 0")
