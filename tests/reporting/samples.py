"""Sequences to judge, and a check of pages."""

import re
from html.parser import HTMLParser

import numpy as np

import sparsetoken as st

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


def three_classes(n, seed):
    """Return sequences in which one token tells the class."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    data = rng.standard_normal((n, 5, 6))
    data[np.arange(n), rng.integers(5, size=n), labels] += 2.5
    return data, labels
