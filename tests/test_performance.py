"""Numbers of a readout under a feature law, against scores drawn from it."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import ndtr, ndtri
from sklearn.metrics import roc_auc_score

from sparsetoken import SparseTokenProblem
from sparsetoken.law import FeatureLaw, Part, Readout
from sparsetoken.losses import Hinge, Logistic, Square
from sparsetoken.performance import Performance
from sparsetoken.pooling import Softmax
from sparsetoken.theory.features import attention_law

PROBLEM = SparseTokenProblem(10, 1, 4.0, 0.3)
READOUT = Readout(0.9, 0.3, -2.0, 0.7)


def gaussians(distance=2.0, rate=0.3):
    one, zero = np.ones(1), np.zeros(1)
    parts = [
        Part(1.0, True, rate, zero, distance * one, one),
        Part(-1.0, False, 1.0 - rate, zero, zero, one),
    ]
    return FeatureLaw.mixture(parts)


def attention():
    return attention_law(PROBLEM, Softmax(), 0.9, 1.0, 2048)


def drawn(law, readout, n, seed, n_windows=1):
    """Draw labels and scores; of windows, the largest score with the signal in one of them."""
    rng = np.random.default_rng(seed)
    p = law.points
    label = np.where(rng.random(n) < p.weight[p.label > 0].sum(), 1.0, -1.0)
    scores = np.full(n, -np.inf)
    for window in range(n_windows):
        for y in (-1.0, 1.0):
            rows = np.flatnonzero(label == y)
            points = law.positive if y > 0 and window == 0 else law.negative
            i = rng.choice(points.weight.size, size=rows.size, p=points.weight)
            mean = points.along_query[i] * readout.along_query
            mean += points.along_rest[i] * readout.along_rest + readout.bias
            noise = points.scale[i] * readout.norm_rest * rng.standard_normal(rows.size)
            scores[rows] = np.maximum(scores[rows], mean + noise)
    return label, scores


@pytest.mark.parametrize("n_windows", [1, 5])
@pytest.mark.parametrize("law", [gaussians(), attention()], ids=["gaussians", "attention"])
def test_agrees_with_drawn_scores(law, n_windows):
    tested = Performance(law, READOUT, Logistic(), n_windows=n_windows)
    label, scores = drawn(law, READOUT, 200_000, 0, n_windows)
    positive = label > 0
    n = positive.sum(), (~positive).sum()

    def check(found, values, size):
        mean, error = np.mean(values), np.std(values) / np.sqrt(size)
        assert abs(found - mean) < 4 * np.hypot(error, found.uncertainty), (found, mean, error)

    check(tested.test_error, (scores > 0) != positive, label.size)
    check(tested.test_loss, Logistic().value(scores, label), label.size)
    auc = roc_auc_score(positive, scores)
    assert abs(tested.auc - auc) < 4 * 0.3 / np.sqrt(min(n))
    for fpr in (0.01, 0.3):
        threshold = tested.threshold(fpr)
        check(tested.rates(threshold).fpr, scores[~positive] > threshold, n[1])
        assert tested.rates(threshold).fpr == pytest.approx(fpr, rel=1e-8)
        check(tested.recall(fpr), scores[positive] > threshold, n[0])
    roc = tested.roc()
    place = np.searchsorted(-roc.threshold, -0.5)
    check(tested.rates(roc.threshold[place]).recall, scores[positive] > roc.threshold[place], n[0])
    assert tested.rates(roc.threshold[place]).recall == pytest.approx(roc.recall[place])
    assert tested.rates(roc.threshold[place]).fpr == pytest.approx(roc.fpr[place])
    area = trapezoid(roc.recall, roc.fpr)
    assert tested.auc == pytest.approx(area, abs=2e-3)


def test_two_gaussians_in_closed_form():
    tested = Performance(gaussians(), READOUT, Square())
    norm = np.hypot(0.3, 0.7)
    assert tested.test_error == pytest.approx(
        0.3 * ndtr((2.0 - 0.6) / norm) + 0.7 * ndtr(-2.0 / norm), rel=1e-12
    )
    assert tested.auc == pytest.approx(ndtr(0.6 / (norm * np.sqrt(2.0))), rel=1e-12)
    threshold = -2.0 - norm * ndtri(0.05)
    assert tested.threshold(0.05) == pytest.approx(threshold, rel=1e-8)
    assert tested.recall(0.05) == pytest.approx(ndtr((0.6 - 2.0 - threshold) / norm), rel=1e-8)
    assert tested.test_error.uncertainty == 1e-8
    alarm = 1 - ndtr(2.0 / norm) ** 4
    missed = ndtr(1.4 / norm) * ndtr(2.0 / norm) ** 3
    windows = Performance(gaussians(), READOUT, Square(), n_windows=4)
    assert windows.test_error == pytest.approx(0.3 * missed + 0.7 * alarm, rel=1e-12)


def test_labels_recorded_wrongly_count_as_recorded():
    one, zero = np.ones(1), np.zeros(1)
    parts = [
        Part(1.0, True, 0.4, zero, 2 * one, one),
        Part(-1.0, True, 0.1, zero, 2 * one, one),
        Part(-1.0, False, 0.5, zero, zero, one),
    ]
    tested = Performance(FeatureLaw.mixture(parts), Readout(0.0, 1.0, -1.0, 0.0), Hinge())
    assert tested.test_error == pytest.approx(0.9 * ndtr(-1.0) + 0.1 * ndtr(1.0))
    fpr = (0.1 * ndtr(1.0) + 0.5 * ndtr(-1.0)) / 0.6
    assert tested.rates(0.0).fpr == pytest.approx(fpr)
    windows = Performance(FeatureLaw.mixture(parts), tested.readout, Hinge(), n_windows=3)
    noise = 1 - ndtr(1.0) ** 3
    signal = 1 - ndtr(-1.0) * ndtr(1.0) ** 2
    assert windows.rates(0.0).recall == pytest.approx(signal)
    assert windows.rates(0.0).fpr == pytest.approx((0.1 * signal + 0.5 * noise) / 0.6)


@pytest.mark.statistical
def test_error_bars_cover_a_finer_law():
    """Of each number at several readouts: within three bars of one from 16 times the points."""
    fine = attention_law(PROBLEM, Softmax(), 0.9, 1.0, 32_768)
    far, total = [], 0
    for n_points in (512, 1024, 2048):
        law = attention_law(PROBLEM, Softmax(), 0.9, 1.0, n_points)
        for readout in (READOUT, Readout(1.5, 0.0, -3.0, 0.1), Readout(0.2, 0.5, -0.4, 0.5)):
            few, many = (Performance(which, readout, Logistic()) for which in (law, fine))
            for name, number in {
                "error": lambda p: p.test_error,
                "loss": lambda p: p.test_loss,
                "auc": lambda p: p.auc,
                "recall": lambda p: p.recall(0.05),
            }.items():
                found, truth = number(few), number(many)
                assert 0 < found.uncertainty < 0.1
                total += 1
                if abs(found - truth) > 3 * np.hypot(found.uncertainty, truth.uncertainty):
                    far.append((name, n_points, readout, found, truth))
    assert len(far) <= 0.05 * total, far


def test_bad_arguments_are_named():
    tested = Performance(gaussians(), READOUT, Logistic())
    with pytest.raises(ValueError, match=r"^fpr must be .* got 0"):
        tested.recall(0.0)
    with pytest.raises(ValueError, match=r"^threshold must be"):
        tested.rates(np.nan)
    with pytest.raises(ValueError, match="windowed needs the law of a whole sample"):
        tested.windowed(2)
    with pytest.raises(ValueError, match="samples must be of both labels"):
        _ = Performance(gaussians(rate=1.0), READOUT, Logistic()).auc


def kinds(*strengths):
    """Return the law of equally frequent positives, one Gaussian for each strength."""
    one, zero = np.ones(1), np.zeros(1)
    share = 0.5 / len(strengths)
    parts = [Part(1.0, True, share, zero, strength * one, one) for strength in strengths]
    return FeatureLaw.mixture([*parts, Part(-1.0, False, 0.5, zero, zero, one)])


@pytest.mark.parametrize("strengths", [(3.0,), (3.0, 300.0), (3.0, 1e3), (0.5, 1e6)], ids=repr)
@pytest.mark.parametrize("n_windows", [1, 5])
def test_roc_is_as_fine_as_recall(strengths, n_windows):
    tested = Performance(
        kinds(*strengths), Readout(0.0, 1.0, -1.0, 0.5), Logistic(), n_windows=n_windows
    )
    roc = tested.roc()
    assert np.all(np.diff(roc.threshold) <= 0)
    assert np.all(np.diff(roc.fpr) >= 0)
    assert np.all(np.diff(roc.recall) >= 0)
    assert (roc.fpr[0], roc.recall[0]) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert (roc.fpr[-1], roc.recall[-1]) == (1.0, 1.0)
    assert trapezoid(roc.recall, roc.fpr) == pytest.approx(tested.auc, abs=1e-3)
    for fpr in (1e-4, 0.01, 0.05, 0.3):
        read = np.interp(np.log(fpr), np.log(np.maximum(roc.fpr, 1e-300)), roc.recall)
        assert read == pytest.approx(tested.recall(fpr), abs=3e-3)


def test_roc_of_scores_without_noise():
    """Each score is one of three numbers: the curve has three steps, however many thresholds."""
    one, zero = np.ones(1), np.zeros(1)
    parts = [Part(1.0, True, 0.25, x * one, zero, one) for x in (1.0, 2.0)]
    law = FeatureLaw.mixture([*parts, Part(-1.0, False, 0.5, zero, zero, one)])
    roc = Performance(law, Readout(1.0, 0.0, 0.0, 0.0), Logistic()).roc()
    assert set(roc.recall) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert {0.0, 0.5, 1.0} <= set(roc.recall)
    assert {0.0, 1.0} <= set(roc.fpr)


def test_probabilities_are_at_most_one():
    """Weights add up to one but for rounding; so do sums of them over separable classes."""
    for size in range(100, 140):
        x = np.linspace(1.0, 2.0, size)
        parts = [Part(y, y > 0, 0.5, y * x, 0.0 * x, 0.01 * x) for y in (-1.0, 1.0)]
        tested = Performance(FeatureLaw.mixture(parts), Readout(1.0, 0.0, 0.0, 0.1), Logistic())
        assert tested.auc == pytest.approx(1.0)
        assert tested.auc <= 1.0
        assert tested.recall(0.5) <= 1.0
        assert tested.roc().recall.max() <= 1.0


def test_auc_of_scores_that_crowd():
    """Most tokens get no weight: their scores lie within a billionth, a few far away."""
    rng = np.random.default_rng(0)
    parts = []
    for label, shift in ((1.0, 1.0), (-1.0, 0.0)):
        x = rng.standard_normal(600) + shift
        size = 10.0 ** rng.uniform(-9, 0, 600)
        parts.append(Part(label, label > 0, 0.5, size * x, np.zeros(600), size))
    law = FeatureLaw.mixture(parts)
    readout = Readout(1.0, 0.0, -0.3, 0.5)
    positive, negative = law.positive, law.negative
    gap = np.subtract.outer(positive.along_query, negative.along_query)
    spread = 0.5 * np.hypot.outer(positive.scale, negative.scale)
    expected = ndtr(gap / spread).mean()
    assert Performance(law, readout, Logistic()).auc == pytest.approx(expected, abs=1e-3)
