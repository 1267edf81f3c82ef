"""The page: well-formed, without a network, and it says what it shows."""

import re

import pytest
from scipy.integrate import trapezoid

import sparsetoken as st
from reporting.samples import CLF, NEW, NEW_Y, X, Y, check_page, three_classes
from sparsetoken.reporting import gather
from sparsetoken.reporting.page import render
from sparsetoken.vocabulary import COLORS, SPEAKS


def test_page_shows_the_tokens_and_says_what_each_speaks_for(tmp_path):
    clf = st.AttentionClassifier(random_state=0, cv=3).fit(X, Y)
    st.report(clf, NEW, NEW_Y, tmp_path / "page.html", plan=False, title="<Needles>")
    text = (tmp_path / "page.html").read_text()
    check_page(text)
    assert "<h1>&lt;Needles&gt;</h1>" in text
    assert f"--main:{SPEAKS['for'].lower()};--other:{SPEAKS['against'].lower()}" in text
    assert ".for { background: var(--main); }\n.against { background: var(--other); }" in text
    evidence = gather(clf, NEW, NEW_Y, plan=False)
    for one in evidence.right:
        assert one.label == str(one.explanation.speaks_for)
        assert one.explanation.weights.sum() == pytest.approx(1.0)
    sure = [one for one in evidence.right if one.label == "1"]
    assert all(one.explanation.contributions[one.explanation.weights.argmax()] > 0 for one in sure)
    assert text.count('class="strip"') == len(evidence.right) + len(evidence.wrong)
    shown, words = evidence.right[0], [f"<{i}>" for i in range(NEW.shape[1])]
    assert 'title="token 2 &lt;2&gt;: ' in render(evidence, "", {shown.name: words})


def test_a_recall_that_is_not_shown_says_why(tmp_path):
    n_negatives = int((NEW_Y == 0).sum())
    evidence = st.report(CLF, NEW, NEW_Y, tmp_path / "page.html", plan=False)
    assert evidence.no_recall == (
        "No recall at 1 % false positives: that takes 100 sequences of the other class, "
        f"not {n_negatives}."
    )
    assert evidence.no_recall in (tmp_path / "page.html").read_text()
    assert gather(CLF, NEW, NEW_Y, fpr=0.1, plan=False).no_recall == ""


def test_every_classifier_explains_itself(tmp_path):
    for clf in (CLF, st.VectorizedClassifier().fit(X, Y)):
        evidence = st.report(clf, NEW, NEW_Y, tmp_path / "page.html", plan=False)
        text = (tmp_path / "page.html").read_text()
        shown = [*evidence.right, *evidence.wrong]
        assert text.count('class="strip"') == len(shown) > 0
        for one in shown:
            assert f"heaviest token: {one.explanation.weights.argmax()}<" in text  # counted from 0
    assert "No problem" in evidence.findings[0] or evidence.findings[0].count(":")


def test_three_classes(tmp_path):
    data, labels = three_classes(120, 0)
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(data, labels)
    evidence = st.report(clf, data, labels, tmp_path / "page.html", plan=False)
    assert len(evidence.roc) == 3
    text = (tmp_path / "page.html").read_text()
    check_page(text)
    assert len(set(re.findall(r'<polyline class="(c\d)"', text))) == 3
    assert re.findall(r'class="key" style="background:(.*?)"></i>(\d)', text) == [
        (color, name) for color, name in zip(COLORS, "012", strict=False)
    ]
    aucs = {m.name: m.value for m in evidence.measures if m.name.startswith("AUC")}
    for name, (false, true) in evidence.roc.items():
        assert trapezoid(true, false) == pytest.approx(aucs[f"AUC of {name}"])
