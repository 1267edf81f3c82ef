"""A page about a model and a file, from the command line."""

import numpy as np

from reporting.samples import check_page


def test_report_writes_a_page(run, refused, tmp_path):
    lines = ["bag,label,a,b,word"]
    rng = np.random.default_rng(0)
    for bag in range(24):
        for token in range(3):
            a, b = rng.standard_normal(2) + 3 * (bag % 2)
            lines.append(f"s{bag},{'yes' if bag % 2 else 'no'},{a},{b},word{bag}-{token}")
    data, model, page = (tmp_path / name for name in ("bags.csv", "m.npz", "r.html"))
    data.write_text("\n".join(lines))
    options = ("--ignore", "word", "--model", "two-step", "--held-out", "0")
    assert run("fit", data, *options, "--out", model)[0] == 0
    code, out, err = run("report", model, data, "--no-plan", "--out", page)
    assert (code, out) == (0, "")
    assert "accuracy" in err
    assert err.endswith(f"report: {page}\n")
    check_page(page.read_text())
    refused(("report", model, data, "--out", "no/r.html"), 1, "there is no folder no")
