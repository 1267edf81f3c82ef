from figure_tables import assert_agree, where


def test_depth(table):
    rows = table(
        "depth", n_tokens=8, signals={3: 2.5}, cosines=[0.8], depths=[0, 2], points=[0, 2], dim=40,
        trials=6,
    )  # fmt: skip
    assert_agree(rows, ("n_signal", "depth"), dim=20)
    theory = {(r["n_signal"], r["depth"]): r["value"] for r in where(rows, source="theory")}
    assert theory[3, 2] > theory[3, 0] + 0.005
