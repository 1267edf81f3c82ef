"""The report: its numbers are those of held-out scores, and the page holds together."""

import re
from html.parser import HTMLParser
from typing import ClassVar

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.cli import main
from sparsetoken.reporting import gather
from sparsetoken.sequences.fingerprints import fingerprints
from sparsetoken.vocabulary import COLORS, SPEAKS

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
    assert f"--main:{SPEAKS['for'].lower()};--other:{SPEAKS['against'].lower()}" in text
    assert ".for{background:var(--main)}.against{background:var(--other)}" in text
    found = gather(clf, NEW, NEW_Y, plan=False)
    for one in found.right:
        assert one.label == one.predicted
        assert one.weights.sum() == pytest.approx(1.0)
    sure = [one for one in found.right if one.label == "1"]
    assert all(one.contributions[one.weights.argmax()] > 0 for one in sure)
    assert text.count('class="strip"') == len(found.right) + len(found.wrong)


def test_a_training_sequence_among_new_ones_is_left_out():
    mixed, labels = np.concatenate([NEW, X[:1]]), np.append(NEW_Y, Y[0])
    found = gather(CLF, mixed, labels, plan=False)
    alone = gather(CLF, NEW, NEW_Y, plan=False)
    assert found.measures == alone.measures  # the model itself is judged, not refits to this file
    assert "1 of 81 sequences were used for training and are left out" in found.how
    assert sum(found.classes.values()) == 80
    few = np.concatenate([NEW[:12], X])
    found = gather(CLF, few, np.append(NEW_Y[:12], Y), plan=False)
    assert "120 of these 132" in found.how
    assert sum(found.classes.values()) == 132


class Recorder(st.AttentionClassifier):
    """Notes the groups of each fit."""

    fits: ClassVar = []

    def fit(self, X, y, sample_weight=None, groups=None):
        self.fits.append((len(y), None if groups is None else np.unique(groups).size))
        return super().fit(X, y, sample_weight, groups)


def test_few_groups_and_groups_in_every_fit(monkeypatch):
    monkeypatch.setattr(Recorder, "fits", [])
    groups = np.repeat(["a", "b", "c"], 40)
    clf = Recorder(cv=2, refine_steps=5, random_state=0).fit(X, Y, groups=groups)
    Recorder.fits.clear()
    found = gather(clf, X, Y, groups=groups, plan=False)
    assert "3 refits" in found.how
    assert "groups kept together" in found.how
    assert Recorder.fits == [(80, 2)] * 3
    lonely = np.where(Y == 1, "ill", "well")
    with pytest.raises(ValueError, match="too few groups of a class"):
        gather(CLF, X, Y, groups=lonely, plan=False)


def test_one_auc():
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(X, Y)
    for data, labels in ((X, Y), (NEW, NEW_Y)):
        found = gather(clf, data, labels, plan=False)
        (auc,) = (measure.value for measure in found.measures if measure.name == "AUC")
        assert f"(AUC {auc:.3f}" in found.findings[-1]
        false, true = found.roc["1"]
        assert np.trapezoid(true, false) == pytest.approx(auc)


def test_more_samples_are_left_to_the_plan():
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(X, Y)
    assert "More samples" in gather(clf, NEW, NEW_Y, plan=False).findings[-1]
    found = gather(clf, NEW, NEW_Y, error=0.2)
    assert not any("More samples" in line for line in found.findings)
    assert found.plan is not None


def test_a_recall_that_is_not_shown_says_why(tmp_path):
    n_negatives = int((NEW_Y == 0).sum())
    found = st.report(CLF, NEW, NEW_Y, tmp_path / "page.html", plan=False)
    assert found.no_recall == (
        "No recall at 1 % false positives: that takes 100 sequences of the other class, "
        f"not {n_negatives}."
    )
    assert found.no_recall in (tmp_path / "page.html").read_text()
    assert gather(CLF, NEW, NEW_Y, fpr=0.1, plan=False).no_recall == ""


def test_new_sequences_with_one_of_a_class():
    rows = np.append(np.flatnonzero(NEW_Y == 0), np.flatnonzero(NEW_Y == 1)[:1])
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(X, Y)
    found = gather(clf, NEW[rows], NEW_Y[rows], plan=False)
    assert found.findings == ["A diagnosis needs two sequences of each class."]


def test_a_model_without_attention_shows_no_strips(tmp_path):
    st.report(CLF, NEW, NEW_Y, tmp_path / "page.html", plan=False)
    text = (tmp_path / "page.html").read_text()
    assert 'class="strip"' not in text
    assert "attention it gets" not in text
    assert "does not weigh tokens" in text


def three_classes(n, seed):
    """Return sequences in which one token tells the class."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    data = rng.standard_normal((n, 5, 6))
    data[np.arange(n), rng.integers(5, size=n), labels] += 2.5
    return data, labels


def test_three_classes(tmp_path):
    data, labels = three_classes(120, 0)
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(data, labels)
    found = st.report(clf, data, labels, tmp_path / "page.html", plan=False)
    assert len(found.roc) == 3
    text = (tmp_path / "page.html").read_text()
    check_page(text)
    assert len(set(re.findall(r'<polyline class="(c\d)"', text))) == 3
    assert re.findall(r'class="key" style="background:(.*?)"></i>(\d)', text) == [
        (color, name) for color, name in zip(COLORS, "012", strict=False)
    ]
    aucs = {m.name: m.value for m in found.measures if m.name.startswith("AUC")}
    for name, (false, true) in found.roc.items():
        assert np.trapezoid(true, false) == pytest.approx(aucs[f"AUC of {name}"])


def test_contributions_speak_for_the_predicted_class():
    data, labels = three_classes(90, 0)
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(data, labels)
    found = gather(clf, data, labels, plan=False)  # refits may say another class than the model
    shown = [*found.right, *found.wrong]
    assert shown
    for one in shown:
        (expected,) = clf.explain(data[[int(one.name)]], top=5, label=int(one.predicted))
        np.testing.assert_allclose(one.contributions[expected.tokens], expected.contributions)
    said = clf.predict(data[[int(one.name) for one in shown]]).astype(str)
    assert (said != [one.predicted for one in shown]).any()  # otherwise this shows nothing


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
