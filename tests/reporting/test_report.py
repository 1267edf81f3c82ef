"""The report as a whole: its page, its command, and what a failure leaves."""

import re

import numpy as np
import pytest

import sparsetoken as st
from reporting.samples import CLF, NEW, NEW_Y, check_page
from sparsetoken.cli import main


def test_a_page_that_fails_leaves_the_old_one(monkeypatch, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        st.report(CLF, NEW, NEW_Y, path, plan=False)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_command(tmp_path, capsys):
    lines = ["bag,label,a,b,word"]
    rng = np.random.default_rng(0)
    for bag in range(24):
        for token in range(3):
            a, b = rng.standard_normal(2) + 3 * (bag % 2)
            lines.append(f"s{bag},{'yes' if bag % 2 else 'no'},{a},{b},word{bag}-{token}")
    (tmp_path / "bags.csv").write_text("\n".join(lines))
    arguments = [str(tmp_path / "bags.csv"), "--ignore", "word", "--model", "two-step"]
    with pytest.raises(SystemExit):
        main(["fit", *arguments, "--out", str(tmp_path / "m.npz"), "--held-out", "0"])
    options = ["--no-plan", "--token-text", "word", "--out", str(tmp_path / "r.html")]
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path / "m.npz"), str(tmp_path / "bags.csv"), *options])
    assert ended.value.code == 0
    page = (tmp_path / "r.html").read_text()
    check_page(page)
    shown = re.findall(r"<b>s(\d+)</b>.*?token 2 word(\d+)-(\d+):", page)
    assert shown
    assert all(name == bag and token == "2" for name, bag, token in shown)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path / "m.npz"), str(tmp_path / "bags.csv"), "--out", "no/r.html"])
    assert ended.value.code != 0
