from figure_tables import assert_agree, where


def test_optimal(table):
    points = [1.0, 4.0]
    rows = table(
        "optimal",
        lines=points,
        points=points,
        joint_lines=[4.0],
        n_points=256,
        dim=200,
        trials=8,
    )
    assert_agree(where(rows, model="optimal"), ("alpha", "quantity"), dim=200)
    errors = {r["model"]: r["value"] for r in where(rows, alpha=4.0, quantity="test_error")}
    best = errors.pop("optimal")
    assert errors.keys() == {"two-step", "pooled", "joint"}
    assert best < min(errors.values())
