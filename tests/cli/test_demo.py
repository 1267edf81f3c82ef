"""The headline comparison."""

import json

import pytest


def test_demo_compares_theory_and_simulation(run, tmp_path):
    picture = tmp_path / "demo.png"
    arguments = ("demo", "--out", picture, "--dim", 40, "--trials", 4, "--workers", 1)
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    assert err == ""
    rows = json.loads(out)["rows"]
    assert len(rows) == 2 * (5 + 5 + 3) + 5  # the best possible learner has no training loss
    best = {row["alpha"]: row["theory"] for row in rows if row["model"] == "optimal"}
    assert best[2.0] == pytest.approx(0.0203, abs=1e-4)
    for row in rows:
        assert row["quantity"] != "test_error" or row["theory"] >= best[row["alpha"]]
    for row in rows:
        gap = abs(row["simulation"] - row["theory"])
        # At dim 40 the means are off by some percent of the theory's limit.
        assert gap < 5 * row["uncertainty"] + 0.2 * row["theory"], row
        assert row["difference"] * (row["simulation"] - row["theory"]) >= 0
    attention, pooled = (
        next(r for r in rows if (r["model"], r["alpha"], r["quantity"]) == (m, 4.0, "test_error"))
        for m in ("two-step", "pooled")
    )
    assert attention["simulation"] < 0.5 * pooled["simulation"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    header = picture.with_suffix(".csv").read_text().splitlines()[0]
    assert header.endswith("source,quantity,value,uncertainty,converged")
    code, out, _ = run(*arguments)  # drawn again from the store
    assert code == 0
    assert "best possible" in out
    assert "More trials tell: sparsetoken demo --trials" in out
    assert "sparsetoken plan" in out
    assert str(picture) in out


def test_demo_refuses_bad_options(run):
    assert run("demo", "--trials", "1")[0] == 2
    assert run("demo", "--dim", "39")[0] == 2  # smaller trials draw samples of one class
    assert run("demo", "--nonsense")[0] == 2
