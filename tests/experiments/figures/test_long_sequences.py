from figure_tables import assert_agree, where


def test_long_sequences(table):
    rows = table("long-sequences", ratios=[2.0], dims=[150], trials=8)
    centered = where(rows, step="centered step")
    assert_agree(centered, ("quantity",), dim=20)
    published = where(rows, step="published step", quantity="cosine")[0]
    (learned,) = where(centered, source="simulation", quantity="cosine")
    assert published["value"] < learned["value"]
    assert published["uncertainty"] > 3.0 * learned["uncertainty"]
