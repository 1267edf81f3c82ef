"""The numbers of a report are those of held-out scores."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.integrate import trapezoid

import sparsetoken as st
from reporting.samples import CLF, NEW, NEW_Y, X, Y, three_classes
from sparsetoken.reporting import gather


def test_new_sequences_are_scored_by_the_model_itself():
    evidence = gather(CLF, NEW, NEW_Y, plan=False)
    assert "None of these 80" in evidence.how
    assert evidence.measures[0].value == pytest.approx(CLF.score(NEW, NEW_Y))
    assert evidence.confusion.sum() == 80


def test_sequences_of_the_training_are_scored_by_refits():
    noise = np.random.default_rng(0).standard_normal((60, 3, 40))
    labels = np.arange(60) % 2
    overfitted = st.PooledClassifier(reg=1e-6).fit(noise, labels)
    assert overfitted.score(noise, labels) > 0.9
    evidence = gather(overfitted, noise, labels, plan=False)
    assert "60 of these 60" in evidence.how
    assert evidence.measures[0].value < 0.75


def test_a_training_sequence_among_new_ones_is_left_out():
    mixed, labels = np.concatenate([NEW, X[:1]]), np.append(NEW_Y, Y[0])
    evidence = gather(CLF, mixed, labels, plan=False)
    alone = gather(CLF, NEW, NEW_Y, plan=False)
    assert (
        evidence.measures == alone.measures
    )  # the model itself is judged, not refits to this file
    assert "1 of 81 sequences were used for training and are left out" in evidence.how
    assert sum(evidence.classes.values()) == 80
    turned = gather(CLF, mixed[::-1], labels[::-1], plan=False)  # names count those left out too
    assert {int(one.name) for one in turned.right} == {80 - int(one.name) for one in alone.right}
    mostly_seen = np.concatenate([NEW[:12], X])
    evidence = gather(CLF, mostly_seen, np.append(NEW_Y[:12], Y), plan=False)
    assert "120 of these 132" in evidence.how
    assert sum(evidence.classes.values()) == 132


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
    evidence = gather(clf, X, Y, groups=groups, plan=False)
    assert "3 refits" in evidence.how
    assert "groups kept together" in evidence.how
    assert Recorder.fits == [(80, 2)] * 3
    lonely = np.where(Y == 1, "ill", "well")
    with pytest.raises(ValueError, match="too few groups of a class"):
        gather(CLF, X, Y, groups=lonely, plan=False)


def test_one_auc():
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(X, Y)
    for data, labels in ((X, Y), (NEW, NEW_Y)):
        evidence = gather(clf, data, labels, plan=False)
        (auc,) = (measure.value for measure in evidence.measures if measure.name == "AUC")
        assert f"(AUC {auc:.3f}" in evidence.findings[-1]
        false, true = evidence.roc["1"]
        assert trapezoid(true, false) == pytest.approx(auc)


@pytest.mark.statistical
def test_more_samples_are_left_to_the_plan():
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(X, Y)
    assert "More samples" in gather(clf, NEW, NEW_Y, plan=False).findings[-1]
    evidence = gather(clf, NEW, NEW_Y, error=0.2)
    assert not any("More samples" in line for line in evidence.findings)
    assert evidence.plan is not None


def test_new_sequences_with_one_of_a_class():
    rows = np.append(np.flatnonzero(NEW_Y == 0), np.flatnonzero(NEW_Y == 1)[:1])
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(X, Y)
    evidence = gather(clf, NEW[rows], NEW_Y[rows], plan=False)
    assert evidence.findings == ["A diagnosis needs two sequences of each class."]


def test_contributions_speak_for_the_predicted_class():
    data, labels = three_classes(90, 0)
    clf = st.AttentionClassifier(random_state=0, cv=3, refine_steps=5).fit(data, labels)
    evidence = gather(clf, data, labels, plan=False)  # refits may say another class than the model
    shown = [*evidence.right, *evidence.wrong]
    assert shown
    for one in shown:
        (expected,) = clf.explain(
            data[[int(one.name)]], top=5, label=int(one.explanation.speaks_for)
        )
        np.testing.assert_allclose(
            one.explanation.contributions[expected.tokens], expected.contributions
        )
    said = clf.predict(data[[int(one.name) for one in shown]]).astype(str)
    assert (
        said != [str(one.explanation.speaks_for) for one in shown]
    ).any()  # otherwise this shows nothing
