"""What people pass to a classifier: taken in any form, or refused by name."""

import numpy as np
import pytest
from sklearn.base import clone

import sparsetoken as st
from estimators.classifiers import ATTENTION, BAYES, POOLED, X, Y, each_classifier


@each_classifier
@pytest.mark.parametrize(
    ("data", "y", "message"),
    [
        (X, Y[:-1], "X and y must have the same length, got 120 sequences and 119 labels"),
        (X, np.zeros(120), "y must hold two classes, got one class"),
        (X, None, "requires y to be passed"),
        ([], [], "X must hold at least one sequence"),
        ([np.ones((2, 3)), np.ones((2, 4))], [0, 1], "sequence 1 of X has tokens of dimension 4"),
        ([np.ones((2, 3)), np.ones((0, 3))], [0, 1], "sequence 1 of X has no tokens"),
        (np.full((4, 2, 2), np.nan), [0, 1, 0, 1], "X contains NaN in sequence 0, token 0"),
        (["some", "text"], [0, 1], "X must"),
        ("text", [0, 1], "got str"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_data_is_named(classifier, data, y, message):
    with pytest.raises(ValueError, match=message):
        clone(classifier).fit(data, y)


@pytest.mark.parametrize("classifier", [POOLED, BAYES], ids=["pooled", "bayes"])
def test_labels_that_are_objects(classifier):
    plain = clone(classifier).fit(X, Y)
    objects = clone(classifier).fit(X, Y.astype(object))
    assert objects.classes_.dtype.kind == "i"
    assert np.array_equal(objects.decision_function(X), plain.decision_function(X))
    mixed = np.where(Y == 1, "ill", None)
    for labels, kinds in ((mixed, "NoneType and str"), ([{}] * 120, "dict")):
        with pytest.raises(ValueError, match=f"y must hold labels of one kind.* got .*{kinds}"):
            clone(classifier).fit(X, np.array(labels, dtype=object))


@each_classifier
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), "sample_weight must have shape"),
        (-np.ones(120), "finite and non-negative"),
        (np.full(120, np.nan), "finite and non-negative"),
        (np.full(120, 1e308), "and so must its sum"),
        (np.where(Y == 1, 1.0, 0.0), "must not be zero on all samples of a class"),
    ],
)
def test_bad_weights_are_named(classifier, weight, message):
    with pytest.raises(ValueError, match=message):
        clone(classifier).fit(X, Y, sample_weight=weight)


@each_classifier
def test_another_dimension_in_prediction(classifier):
    model = clone(classifier).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 7 features per token.*expecting 8"):
        model.predict(X[:, :, :7])


@pytest.mark.parametrize("classifier", [POOLED, ATTENTION], ids=["pooled", "attention"])
def test_a_series_is_aligned_by_the_names_of_sequences(classifier):
    pandas = pytest.importorskip("pandas", reason="a Series comes from pandas")
    names = np.array([f"bag {i}" for i in range(120)], dtype=object)
    sequences = st.Sequences(X.reshape(-1, X.shape[2]), np.arange(121) * X.shape[1], ids=names)
    order = np.random.default_rng(0).permutation(120)
    labels = pandas.Series(Y[order], index=names[order])
    weights = pandas.Series(1.0 + np.arange(120)[order], index=names[order])
    model = clone(classifier).fit(sequences, labels, weights)
    expected = clone(classifier).fit(X, Y, 1.0 + np.arange(120))
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))
    assert model.score(sequences, labels) == expected.score(X, Y)


def test_names_of_features_decide(tmp_path):
    pandas = pytest.importorskip("pandas", reason="column names come from pandas")
    names = [f"px{i}" for i in range(8)]
    frames = [pandas.DataFrame(tokens, columns=names) for tokens in X[:80]]
    model = st.AttentionClassifier(random_state=0, cv=2, refine_steps=5).fit(frames, Y[:80])
    assert model.feature_names_in_.tolist() == names
    expected = model.decision_function(frames)
    turned = [frame[names[::-1]] for frame in frames]
    assert model.decision_function(turned) == pytest.approx(expected)
    st.save(model, tmp_path / "model.npz")
    assert st.load(tmp_path / "model.npz").decision_function(turned) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"lacks \['px0'\]"):
        model.predict([frame[names[1:]] for frame in frames])
    other = [frame.rename(columns={"px3": "other"}) for frame in frames]
    with pytest.raises(ValueError, match=r"has \['other'\] that fit had not, and lacks \['px3'\]"):
        model.predict(other)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X[:2])
