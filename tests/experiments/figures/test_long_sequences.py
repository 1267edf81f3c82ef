from figure_tables import assert_agree, where


def test_long_sequences(table):
    rows = table(
        "long-sequences",
        ratios=[2.0],
        dims=[150],
        budget_lengths=[10, 300, 100_000],
        budget_points=[300],
        dim=100,
        trials=8,
    )
    centred = where(rows, panel="proportional", step="centered step")
    assert_agree(centred, ("quantity",), dim=20)
    published = where(rows, step="published step", quantity="cosine")[0]
    (learned,) = where(centred, source="simulation", quantity="cosine")
    assert published["value"] < learned["value"]
    assert published["uncertainty"] > 3.0 * learned["uncertainty"]
    budget = where(rows, panel="budget")
    assert_agree(budget, ("n_signal", "n_tokens"), dim=20)
    for row in where(budget, source="theory"):
        law = row["n_tokens"] / (row["signal"] ** 3 * row["n_signal"] ** 2)
        assert 2.3 < row["value"] / law < 4.0
