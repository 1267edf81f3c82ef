import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import sparsetoken as st
from sparsetoken.inspection.layers import _compare

RNG = np.random.default_rng(0)
X, Y = st.SparseTokenProblem(n_tokens=6, signal=4.0).sample(80, 6, random_state=0)
LAYERS = {"3": X + 3.0 * RNG.standard_normal(X.shape), "7": X, "again": X.copy()}


@pytest.fixture(scope="module")
def choice():
    return st.choose_layer(LAYERS, Y)


def test_layers_are_judged_on_the_same_folds(choice):
    assert choice.best == "7"
    assert np.array_equal(choice.scores["7"], choice.scores["again"])
    assert choice.behind["again"][1:] == (0.0, 0.0, 0.0)
    assert choice.as_good == ["7", "again"]
    for layer, auc in choice.auc.items():
        assert auc.value == pytest.approx(roc_auc_score(Y, choice.scores[layer]))
        assert choice.behind[layer].value == choice.auc["7"].value - auc.value
    assert choice.behind["3"].low > 0.0


def test_table(choice):
    lines = str(choice).splitlines()
    assert [line.split()[0] for line in lines] == ["layer", "3", "7", "again"]
    assert lines[2].endswith("best")
    assert str(choice.auc["3"]) in lines[1]
    assert repr(choice).startswith("LayerChoice(best='7', AUC 0.")


def test_groups_are_held_out_together():
    """What tells groups apart tells held-out sequences apart, unless their group is held out."""
    groups = np.repeat(np.arange(16), 5)
    labels = groups % 2
    tokens = RNG.standard_normal((16, 1, 30))[groups] * 3.0 + RNG.standard_normal((80, 4, 30))
    mixed = st.choose_layer({0: tokens}, labels, estimator=st.PooledClassifier())
    apart = st.choose_layer({0: tokens}, labels, groups, estimator=st.PooledClassifier())
    assert mixed.auc[0].value > 0.95
    assert apart.auc[0].low < 0.5 < apart.auc[0].high
    assert st.choose_layer({0: X}, Y, np.arange(80)).best == 0  # fit is told of them


def test_several_classes():
    labels = np.array(["a", "b", "c"])[Y + Y * (np.arange(80) % 2)]
    choice = st.choose_layer({"x": X}, labels)
    aucs = [roc_auc_score(labels == c, choice.scores["x"][:, i]) for i, c in enumerate("abc")]
    assert choice.auc["x"].value == pytest.approx(np.mean(aucs))


def binormal(rng, n):
    """Scores of two layers: their true AUCs are 0.76 and 0.86, and their noise is correlated."""
    index = np.repeat([0, 1], [n, n // 2])
    noise = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], len(index))
    return index, {name: noise[:, i] + (1.0 + 0.5 * i) * index for i, name in enumerate("ab")}


def test_intervals_of_differences_cover():
    """Of 200 studies about 95 % hold the truth: 180 or fewer have a probability below 1 %."""
    rng = np.random.default_rng(2)
    truth = norm.cdf(1.5 / np.sqrt(2)) - norm.cdf(1.0 / np.sqrt(2))
    held, widths, apart = 0, [], []
    for _ in range(200):
        index, scores = binormal(rng, 100)
        choice = _compare(scores, index, None)
        value, low, high = np.array(choice.behind["a"][1:]) - choice.behind["b"].value
        held += low <= truth <= high
        widths.append(high - low)
        apart.append(sum(choice.auc[k].high - choice.auc[k].low for k in "ab"))
        assert value > -0.1
    assert held > 180
    assert np.mean(widths) < 0.5 * np.mean(apart)  # the same sequences


def test_copies_in_groups_add_nothing():
    index, scores = binormal(np.random.default_rng(3), 100)
    once = _compare(scores, index, None)
    groups = np.tile(np.arange(len(index)), 4)
    copies = _compare({k: np.tile(s, 4) for k, s in scores.items()}, np.tile(index, 4), groups)
    for before, after in ((once.auc, copies.auc), (once.behind, copies.behind)):
        for name in "ab":
            assert after[name][1:] == pytest.approx(before[name][1:], abs=1e-3)


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=r'a dict with the sequences of each layer, \{"12": X12'):
        st.choose_layer([X], Y)
    with pytest.raises(ValueError, match=r"same sequences for each layer, got {1: 80, 2: 79}"):
        st.choose_layer({1: X, 2: X[1:]}, Y)
    with pytest.raises(ValueError, match=r"y must have shape \(80,\)"):
        st.choose_layer({1: X}, Y[1:])
    with pytest.raises(ValueError, match=r"y must hold two classes, got one class: 0\.0$"):
        st.choose_layer({1: X}, np.zeros(80))
    with pytest.raises(ValueError, match="layer 2: X contains NaN in sequence 0"):
        st.choose_layer({1: X, 2: np.full_like(X, np.nan)}, Y)
    with pytest.raises(ValueError, match="estimator must be a classifier with a decision_function"):
        st.choose_layer({1: X}, Y, estimator="attention")
    with pytest.raises(ValueError, match="each class in y must have at least two groups"):
        st.choose_layer({1: X}, Y, groups=Y)
