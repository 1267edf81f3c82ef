"""Scores token by token against ``decision_function`` of every prefix."""

import pickle

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.inspection.thresholds import stream_checks, stream_scores
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences

PROBLEM = st.SparseTokenProblem(8, 1, 5.0)
X, Y = PROBLEM.sample(120, 6, random_state=0)
X = X + 3.0
CLASSES = np.where(np.arange(120) % 3 == 0, 2, Y)
LONG = np.random.default_rng(1).standard_normal((60, 6)) + 3.0
LONG[20] *= 30.0  # attention to this token leaves nothing of the others, in and after its window


def models():
    quick = {"random_state": 0, "cv": 2, "refine_steps": 5}
    few_trees = {**quick, "n_trees": 10}
    yield "pooled", st.PooledClassifier().fit(X, Y)
    yield "two-step", st.TwoStepAttentionClassifier(random_state=0).fit(X, Y)
    yield "attention", st.AttentionClassifier(**quick).fit(X, Y)
    yield "classes", st.AttentionClassifier(**quick).fit(X, CLASSES)
    yield "sparse-token", st.SparseTokenClassifier(**few_trees).fit(X, Y)
    yield "sparse-token classes", st.SparseTokenClassifier(**few_trees).fit(X, CLASSES)


MODELS = dict(models())


@pytest.mark.parametrize(
    ("window", "dtype"), [(None, np.float32), (1, np.float64), (7, np.float32), (100, np.float64)]
)
@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_that_of_the_prefix(name, window, dtype):
    clf, tokens = MODELS[name], LONG.astype(dtype)
    stream = clf.stream(window=window)
    assert stream.score is None
    ends = np.arange(1, len(tokens) + 1)
    starts = np.zeros_like(ends) if window is None else np.maximum(ends - window, 0)
    pieces = [tokens[low:high] for low, high in zip(starts, ends, strict=True)]
    wanted = clf.decision_function(pieces)
    found = np.array([stream.update(token) for token in tokens])
    assert found.shape == wanted.shape
    scale = np.abs(wanted).max()
    assert found == pytest.approx(wanted, abs=1e-6 * max(1.0, scale * (dtype == np.float32)))
    assert np.array_equal(stream.score, found[-1])
    assert stream.n_tokens == 60


@pytest.mark.parametrize("name", ["attention", "sparse-token"])
def test_memory_does_not_grow(name):
    for window in (None, 10):
        stream, sizes = MODELS[name].stream(window=window), []
        for token in np.tile(LONG, (2, 1)):
            stream.update(token)
            sizes.append(len(pickle.dumps(stream)))
        assert max(sizes[80:]) <= max(sizes[:40]) + 8  # the count takes another byte


def test_wrong_tokens_and_windows_are_refused():
    stream = MODELS["attention"].stream()
    for token in (np.ones(5), np.ones((1, 6)), ["a"] * 6):
        with pytest.raises(ValueError, match="token must be an array of 6 numbers"):
            stream.update(token)
    stream.update(np.ones(6))
    with pytest.raises(ValueError, match="token 1 is not finite"):
        stream.update([1, 2, 3, np.nan, 5, 6])
    assert stream.n_tokens == 1
    with pytest.raises(ValueError, match="window must be"):
        MODELS["attention"].stream(window=0)


@pytest.mark.parametrize("n_tokens", [1, 5, 40, 3000])
@pytest.mark.parametrize("window", [1, 2, 7, 100])
def test_no_token_passes_between_two_looks(n_tokens, window):
    checks = stream_checks(n_tokens, window, window)
    looked_at = np.zeros(n_tokens, dtype=bool)
    for check in checks:
        looked_at[max(0, check - window) : check] = True
    assert looked_at.all()
    assert checks[-1] == n_tokens
    assert len(stream_checks(n_tokens, window, None)) <= 32


@pytest.mark.parametrize("window", [None, 7])
def test_thresholds_are_of_what_a_stream_sees(window, monkeypatch):
    """Also if not all views of a sequence are scored at once."""
    monkeypatch.setattr("sparsetoken.inspection.thresholds._BATCH_NUMBERS", 1000)
    model, texts = MODELS["sparse-token"], np.stack([LONG, LONG[::-1]])
    checks = stream_checks(len(LONG), 5, window)
    data = MemoryData(as_sequences(texts))
    largest = stream_scores(model.stack_, data, window, checks)
    for row, text in zip(largest, texts, strict=True):
        stream = model.stream(window=window)
        scores = [stream.update(token) for token in text]
        assert row == pytest.approx(np.max(np.array(scores)[checks - 1]), abs=1e-5)


def test_a_stream_that_goes_on_is_still_looked_at_and_says_so():
    stream = MODELS["attention"].stream(fpr=0.05, n_tokens=20)
    harmless = np.full(6, 3.0)
    for _ in range(20):
        stream.update(harmless)
    assert not stream.alarm
    with pytest.warns(UserWarning, match=r"more than the 20 tokens .*n_tokens="):
        stream.update(harmless)
    for token in X[Y == 1].reshape(-1, 6):
        stream.update(token)  # a second warning would be an error
    assert stream.alarm
    stream.reset()
    assert not stream.alarm
