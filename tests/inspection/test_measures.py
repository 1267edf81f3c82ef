import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from sparsetoken.inspection.measures import fraction, hold_out, judge, why_no_recall

CLASSES = np.array([0, 1])


def binormal(rng, n_positive, n_negative, distance):
    labels = np.repeat([1, 0], [n_positive, n_negative])
    return labels, rng.standard_normal(labels.size) + distance * labels


def test_values_are_the_known_ones():
    labels, scores = binormal(np.random.default_rng(0), 150, 400, 1.5)
    scores = np.round(scores, 1)  # with ties
    found = {m.name: m for m in judge(labels, (scores > 0.7) * 1, scores, CLASSES)}
    assert found["accuracy"].value == np.mean((scores > 0.7) == labels)
    assert found["AUC"].value == pytest.approx(roc_auc_score(labels, scores))
    recall = found["recall at 1 % false positives"]
    threshold = np.sort(scores[labels == 0])[-5]  # four of 400 may lie above
    assert recall.value == np.mean(scores[labels == 1] > threshold)
    for measure in found.values():
        assert 0.0 <= measure.low < measure.value < measure.high <= 1.0


def test_perfect_scores_are_not_certain():
    labels = np.repeat([0, 1], 120)
    for measure in judge(labels, labels, labels - 0.5, CLASSES):
        assert measure.value == measure.high == 1.0
        assert 0.9 < measure.low < 1.0
    few = judge(np.array([0, 1]), np.array([0, 1]), np.array([-1.0, 1.0]), CLASSES)
    assert [measure.name for measure in few] == ["accuracy", "AUC"]
    assert few[1].low < 0.5
    one_class = judge(np.ones(5), np.ones(5), np.ones(5), CLASSES)
    assert [measure.name for measure in one_class] == ["accuracy"]


@pytest.mark.statistical
def test_intervals_cover():
    """Of 100 studies about 95 % hold the truth: 89 or fewer have a probability below 2 %."""
    rng = np.random.default_rng(1)
    distance = 2.0
    truth = {
        "accuracy": norm.cdf(distance / 2),
        "AUC": norm.cdf(distance / np.sqrt(2)),
        "recall at 1 % false positives": norm.sf(norm.isf(0.01) - distance),
    }
    held = dict.fromkeys(truth, 0)
    for _ in range(100):
        labels, scores = binormal(rng, 60, 200, distance)
        for measure in judge(labels, (scores > distance / 2) * 1, scores, CLASSES):
            held[measure.name] += measure.low <= truth[measure.name] <= measure.high
    for name, count in held.items():
        assert count > 0.89 * 100, name


def test_more_than_two_classes():
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c"])
    labels = rng.choice(classes, 60)
    scores = rng.standard_normal((60, 3)) + 2.0 * (labels[:, np.newaxis] == classes)
    found = judge(labels, classes[scores.argmax(axis=1)], scores, classes)
    assert [m.name for m in found] == ["accuracy", "AUC of a", "AUC of b", "AUC of c"]
    assert why_no_recall(labels, classes, 0.02) == (
        "No recall of a, b, c at 2 % false positives: that takes 50 sequences of other classes, "
        f"not {max((labels != name).sum() for name in classes)}."
    )
    assert found[2].value == pytest.approx(roc_auc_score(labels == "b", scores[:, 1]))


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.75])
def test_no_group_is_on_both_sides(fraction):
    groups = np.arange(240) // 4
    labels = (np.random.default_rng(0).random(240) < 0.4).astype(int)
    kept, tested = hold_out(labels, groups, fraction, random_state=0)
    assert sorted([*kept, *tested]) == list(range(240))
    assert not set(groups[kept]) & set(groups[tested])
    assert len(tested) == pytest.approx(fraction * 240, abs=4)
    assert labels[tested].mean() == pytest.approx(labels.mean(), abs=0.1)
    assert np.array_equal(tested, hold_out(labels, groups, fraction, random_state=0)[1])


def test_splits_that_cannot_be():
    labels = np.array([0, 0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="a class has one sequence only"):
        hold_out(labels[:5], None, 0.5, 0)
    with pytest.raises(ValueError, match=r"3 groups are too few to hold 0\.2 of them out"):
        hold_out(labels, np.arange(6) // 2, 0.2, 0)
    with pytest.raises(ValueError, match="both parts have all classes"):
        hold_out(labels, np.arange(6) // 2, 0.5, 0)


def test_the_interval_of_a_fraction_is_that_of_wilson():
    """8 of 10: the roots of (p − 0.8)² = z² p(1 − p)/10."""
    hits = np.arange(10) < 8
    measure = fraction("", hits)
    z = norm.isf(0.025)
    roots = np.roots([1 + z**2 / 10, -(1.6 + z**2 / 10), 0.64])
    assert (measure.low, measure.high) == pytest.approx(tuple(sorted(roots)))
