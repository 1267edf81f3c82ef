"""What the tests of figures ask of their tables."""


def where(rows, **values):
    return [row for row in rows if all(row.get(n) == v for n, v in values.items())]


def only(rows, **values):
    (row,) = where(rows, **values)
    return row["value"]


def assert_agree(rows, keys, dim):
    """Every simulated number has its theory beside it, within errors and a few parts in dim."""
    theory = {tuple(r.get(k) for k in keys): r["value"] for r in where(rows, source="theory")}
    simulated = where(rows, source="simulation")
    assert simulated
    for row in simulated:
        expected = theory[tuple(row.get(k) for k in keys)]
        allowed = 4.0 * row["uncertainty"] + 4.0 * abs(expected) / dim
        assert abs(row["value"] - expected) < allowed, (row, expected)
