"""Whatever a classifier learns becomes JSON and arrays, and nothing else does."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import sparsetoken as st
from sparsetoken.estimators.attention_heads import HeadSpec
from sparsetoken.losses import Loss

X, Y = st.SparseTokenProblem(5, 1, 4.0).sample(60, 6, random_state=0)
LABELS = np.where(Y == 1, "yes", "no")


class Own(Loss):
    value = derivative = second_derivative = staticmethod(lambda z, y: z)


def fitted(**kwargs):
    return st.PooledClassifier(**kwargs).fit(X, LABELS)


def test_whatever_is_learned_is_stored(tmp_path):
    """A new class needs no code here: arrays, records and estimators in any nesting."""
    classifier = fitted()
    classifier.heads_ = [{"weight": 0.5, "query": np.arange(3.0)}, {"query": np.ones(2)}]
    classifier.reading_ = {"by": "bag", "features": ["a", "b"], "ignore": (), "group": None}
    classifier.parts_ = {"pooled": (0.25, fitted(reg=2.0)), 3: None}
    classifier.found_ = HeadSpec(1.0, None, 0.1)
    classifier.empty_ = np.empty((0, 4), dtype=np.float32)
    classifier.ordered_ = np.asfortranarray(np.arange(6).reshape(2, 3))
    path = tmp_path / "model.npz"
    st.save(classifier, path)
    again = st.load(path)
    assert again.heads_[0]["query"].tolist() == [0.0, 1.0, 2.0]
    assert again.heads_[1]["query"].tolist() == [1.0, 1.0]
    assert again.reading_ == classifier.reading_
    weight, member = again.parts_["pooled"]
    assert (weight, again.parts_[3]) == (0.25, None)
    assert np.array_equal(member.decision_function(X), fitted(reg=2.0).decision_function(X))
    assert again.found_ == classifier.found_
    assert isinstance(again.found_, HeadSpec)
    assert (again.empty_.shape, again.empty_.dtype) == ((0, 4), np.float32)
    assert np.array_equal(again.ordered_, classifier.ordered_)
    classifier.own_ = open
    with pytest.raises(ValueError, match=r"PooledClassifier.own_ cannot be saved without pickle"):
        st.save(classifier, path)
    assert st.load(path).reading_ == classifier.reading_


def test_what_cannot_be_stored_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"classifier must be one of .*, got StandardScaler"):
        st.save(StandardScaler(), tmp_path / "model.npz")
    classifier = fitted()
    classifier.loss = Own()
    with pytest.raises(ValueError, match=r"PooledClassifier.loss cannot be saved: .*built-in loss"):
        st.save(classifier, tmp_path / "model.npz")
