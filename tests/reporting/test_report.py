"""The report: its numbers are those of held-out scores, and the page holds together."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.cli import main
from sparsetoken.reporting import gather
from sparsetoken.sequences.fingerprints import fingerprints

PROBLEM = st.SparseTokenProblem(n_tokens=8, signal=4.0)
X, Y, TRUTH = PROBLEM.sample(120, 6, random_state=0, return_truth=True)
NEW, NEW_Y = PROBLEM.sample(80, 6, random_state=1, direction=TRUTH.direction)
CLF = st.PooledClassifier().fit(X, Y)


class Tags(HTMLParser):
    """Complains about a tag that is closed before it is opened, or never."""

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "line", "circle", "polyline", "polygon", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "circle", "polyline", "polygon"):
            assert self.open.pop() == tag


def check_page(text):
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.links == []  # nothing from elsewhere
    assert "<script" not in text
    assert "nan" not in re.sub(r"<style>.*?</style>", "", text).lower().split()


def test_new_sequences_are_scored_by_the_model_itself():
    found = gather(CLF, NEW, NEW_Y, plan=False)
    assert "None of these 80" in found.how
    assert found.measures[0].value == pytest.approx(CLF.score(NEW, NEW_Y))
    assert found.confusion.sum() == 80


def test_sequences_of_the_training_are_scored_by_refits():
    noise = np.random.default_rng(0).standard_normal((60, 3, 40))
    labels = np.arange(60) % 2
    overfitted = st.PooledClassifier(reg=1e-6).fit(noise, labels)
    assert overfitted.score(noise, labels) > 0.9
    found = gather(overfitted, noise, labels, plan=False)
    assert "60 of these 60" in found.how
    assert found.measures[0].value < 0.75


def test_fingerprints_know_equal_sequences():
    data = st.Sequences.from_list(list(X))
    assert len(np.unique(fingerprints(data))) == len(X)
    single = st.Sequences.from_list([x.astype(np.float32) for x in X])
    double = st.Sequences.from_list([x.astype(np.float32).astype(float) for x in X])
    np.testing.assert_array_equal(fingerprints(single), fingerprints(double))


def test_page_shows_the_tokens_and_says_what_each_speaks_for(tmp_path):
    clf = st.AttentionClassifier(random_state=0, cv=3).fit(X, Y)
    st.report(clf, NEW, NEW_Y, tmp_path / "page.html", plan=False, title="<Needles>")
    text = (tmp_path / "page.html").read_text()
    check_page(text)
    assert "<h1>&lt;Needles&gt;</h1>" in text
    found = gather(clf, NEW, NEW_Y, plan=False)
    for one in found.right:
        assert one.label == one.predicted
        assert one.weights.sum() == pytest.approx(1.0)
    sure = [one for one in found.right if one.label == "1"]
    assert all(one.contributions[one.weights.argmax()] > 0 for one in sure)
    assert text.count('class="strip"') == len(found.right) + len(found.wrong)


def test_three_classes(tmp_path):
    labels = np.arange(120) % 3
    shifted = X + labels[:, None, None]
    clf = st.AttentionClassifier(random_state=0, cv=3).fit(shifted, labels)
    found = st.report(clf, shifted, labels, tmp_path / "page.html", plan=False)
    assert len(found.roc) == 3
    check_page((tmp_path / "page.html").read_text())


def test_command(tmp_path, capsys):
    lines = ["bag,label,a,b,word"]
    rng = np.random.default_rng(0)
    for bag in range(24):
        for token in range(3):
            a, b = rng.standard_normal(2) + 3 * (bag % 2)
            lines.append(f"s{bag},{'yes' if bag % 2 else 'no'},{a},{b},word{bag}-{token}")
    (tmp_path / "bags.csv").write_text("\n".join(lines))
    arguments = [str(tmp_path / "bags.csv"), "--ignore", "word", "--model", "pooled"]
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
