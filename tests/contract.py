"""The public contract as one script: other software is written against these names and meanings.

``test_contract.py`` runs it in an empty folder. A line may be added here; one is taken out only
after a version in which the old name worked and warned.
"""

import math
from importlib.util import find_spec
from pathlib import Path

import dask.array
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import sparsetoken as st

# The problem and its samples.
problem = st.SparseTokenProblem(n_tokens=10, n_signal=1, signal=5.0, positive_rate=0.5)
X, y = problem.sample(n_samples=60, dim=8, random_state=0)
assert X.shape == (60, 10, 8)
assert set(y) == {0, 1}
X, y, truth = problem.sample(60, 8, random_state=0, return_truth=True)
assert abs(np.linalg.norm(truth.direction) - 1.0) < 1e-12
assert truth.positions.shape == (60, 10)
assert truth.positions.dtype == bool
X2, y2 = problem.sample(30, 8, random_state=1, direction=truth.direction)

# Theory: two gradient steps, trained readouts, limits.
a = st.theory.alignment(
    problem, alpha=2.0, loss="logistic", beta=1.0, lr_readout=1.0, lr_bias=1.0, lr_query=20.0
)
for value in (
    a.cosine, a.query_norm, a.query_overlap, a.readout_norm, a.readout_overlap, a.bias, a.sharpness
):  # fmt: skip
    assert isinstance(value, float)
r = st.theory.risk(
    problem, "attention", alpha=2.0, reg=1e-2, loss="logistic", cosine=0.95, sharpness=1.0
)
attended = r
for model in ("pooled", "vectorized"):
    r = st.theory.risk(problem, model, alpha=2.0, reg=1e-2)
r = st.theory.risk(problem, "pooled", alpha=math.inf, reg=1e-2)
assert all(
    isinstance(value, float)
    for value in (r.test_error, r.train_loss, r.train_error, r.test_loss, r.auc, r.uncertainty)
)
other_problem = st.SparseTokenProblem(n_tokens=20, signal=5.0)
assert attended.on(other_problem).test_error > attended.test_error
assert isinstance(st.theory.capacity(problem, "attention", cosine=0.9, sharpness=1.0), float)
for model in ("pooled", "vectorized", "attention", "hardmax", "elementwise", "bayes"):
    assert 0.0 < st.theory.oracle_error(problem, model) < 0.5
assert isinstance(st.theory.required_signal(problem, "attention", error=0.05), float)
two_step = st.theory.two_step_risk(problem, alpha0=2.0, alpha1=2.0, reg=1e-2)
assert 0.0 < two_step.test_error < 0.5
curve = st.theory.risk(problem, "pooled", alpha=[0.5, 1, 2], reg=1e-2)
assert curve[0].test_error > curve[2].test_error
assert curve[0].chi > 0.0
assert isinstance(attended.readout_along_query, float)

# Models: theory and trial have the same attributes.
assert "two-step" in st.models.names()
predicted = st.models.get("pooled").theory(problem, sizes=[2.0], settings={})
rng = np.random.default_rng(0)
trained = st.models.get("pooled").trial(problem, 2.0, 50, {}, rng=rng)
assert abs(predicted[0].test_error - trained.test_error) < 0.2

# Populations are accepted wherever a problem is.
pop = st.Population(
    [st.SparseTokenProblem(10, signal=5.0), st.SparseTokenProblem(40, signal=4.0)],
    shares=[0.7, 0.3],
    label_errors=(0.05, 0.0),
)
X_pop, y_pop = pop.sample(20, 8, random_state=0)
assert isinstance(X_pop, list)
r = st.theory.risk(pop, "attention", alpha=2.0, reg=1e-2, cosine=0.9, sharpness=1.0)

# Every number of a result is a float with an error bar.
assert r.auc.uncertainty >= 0.0
assert r.train_loss.uncertainty >= 0.0
assert 0.0 < r.recall(fpr=0.01) < 1.0
assert isinstance(r.threshold(fpr=0.01), float)
r.roc()
longer = st.SparseTokenProblem(n_tokens=100, signal=5.0)
assert 0.0 < attended.on(longer).windowed(n_windows=10).recall(fpr=0.01) < 1.0

# Training dynamics: arrays over the steps 1..T.
for batches in ("fresh", "reused", "online"):
    t = st.theory.training(
        problem, steps=3, alpha=2.0, batches=batches, loss="logistic", beta=1.0,
        lr_readout=2.0, lr_bias=1.0, lr_query=8.0, reg=0.0, n_points=4096,
    )  # fmt: skip
    for values in (
        t.cosine, t.query_norm, t.readout_cosine, t.readout_norm, t.bias, t.test_error
    ):  # fmt: skip
        assert len(values) == 3
joint = st.theory.joint_risk(problem, alpha=4.0, reg_query=0.1, reg_readout=0.1, n_points=512)
assert joint.stable in (True, False)
st.pooling.Stacked(depth=2, residual=1.0, inner=0.5)

# Optimal learning, with labelled and unlabelled samples per dimension.
o = st.theory.optimal(problem, alpha=2.0, unlabelled=0.0)
assert 0.0 < o.cosine < 1.0
assert o.test_error < 0.5 < o.auc
assert 0.0 < o.recall(fpr=0.01) < 1.0
assert o.hard in (True, False)
assert o.from_nothing.cosine <= o.informed.cosine + 1e-3
st.theory.optimal(problem, alpha=[0.5, 1, 2])
thresholds = st.theory.learning_thresholds(problem)
assert thresholds.information <= thresholds.iteration
run = st.SparseTokenProblem(20, n_signal=4, signal=2.0, contiguous=True)

# Classifiers: arrays, lists of arrays, tables of single tokens; attention in the same form.
for clf in (
    st.PooledClassifier(reg=1e-2, loss="logistic").fit(X, y),
    st.VectorizedClassifier(reg=1e-2, loss="logistic").fit(X, y),
):
    assert clf.attention(X2).shape == (30, 10)
    assert len(clf.explain(X2)) == 30
clf = st.TwoStepAttentionClassifier(
    split=0.5, beta=1.0, lr_readout=1.0, lr_bias=1.0, lr_query=20.0, reg=1e-2, loss="logistic",
    random_state=None,
)  # fmt: skip
clf.fit(list(X), np.where(y == 1, "yes", "no"))
positive = clf.decision_function(X2) > 0
assert (clf.predict(X2) == np.where(positive, "yes", "no")).all()
assert ((clf.predict_proba(X2)[:, 1] > 0.5) == positive).all()
assert 0.0 <= clf.score(X2, np.where(y2 == 1, "yes", "no")) <= 1.0
assert clf.attention(X2).shape == (30, 10)
assert [len(weights) for weights in clf.attention([X2[0], X2[1, :4]])] == [10, 4]
assert clf.query_.shape == clf.coef_.shape == (clf.n_features_in_,) == (8,)
assert isinstance(clf.intercept_, float)
assert clf.classes_.tolist() == ["no", "yes"]
st.PooledClassifier().fit(X[:, 0], y)  # one token each
st.PooledClassifier().fit(dask.array.from_array(X, chunks=(20, 10, 8)), y)

clf = st.AttentionClassifier(cv=2, refine_steps=5, random_state=0).fit(X, y)
head = max(clf.heads_, key=lambda head: head.weight)
assert (head.query == clf.query_).all()
assert (head.coef == clf.coef_).all()
assert head.intercept == clf.intercept_
clf = st.SparseTokenClassifier(cv=2, refine_steps=5, n_trees=20, random_state=0)
clf.fit(X, y, sample_weight=None, groups=None)
assert set(clf.members_) >= {"attention", "pooled", "statistics"}
assert clf.n_passes_ > 0
assert isinstance(clf.threshold(fpr=0.1, n_tokens=None), float)
assert clf.decision_function(X, window=5).shape == (60,)
explanation = clf.explain(X)[0]
explanation.to_frame()
st.plotting.explanation(explanation)
clf.diagnose(X2, y2)

# The best possible learner of the model; -1 marks a sequence without a label.
bayes = st.BayesAttentionClassifier(cv=2, random_state=0).fit(
    X, np.where(np.arange(60) < 40, y, -1)
)
assert bayes.classes_.tolist() == [0, 1]
assert str(bayes.model_fit_)

# Tokens may only speak for the positive class: a further one never lowers the score.
monotone = st.SparseTokenClassifier(monotone=True, cv=2, random_state=0).fit(X, y)
scores = monotone.decision_function(X2), monotone.decision_function(X2[:, :-1])
assert (scores[0] >= scores[1] - 1e-9).all()

# Streams with an alarm.
stream = clf.stream(fpr=0.2, n_tokens=20, window=None)
for token in X2[0]:
    score = stream.update(token)
assert stream.alarm in (True, False)

# Sequences of any length.
tokens, bag = X.reshape(-1, 8), np.repeat(np.arange(60), 10)
st.Sequences.from_stacked(tokens, bag)
st.Sequences.from_padded(X, np.ones((60, 10), dtype=bool))
st.Sequences.from_offsets(tokens, np.arange(0, 601, 10)).save("folder")
assert len(st.Sequences.open("folder")) == 60

# Frames and files.
frame = pd.DataFrame(tokens, columns=list("abcdefgh")).assign(bag=bag)
sequences = st.Sequences.from_frame(frame, by="bag")
assert list(st.PooledClassifier().fit(sequences, y).feature_names_in_) == list("abcdefgh")
frame.assign(label=y[bag]).to_csv("bags.csv", index=False)
data = st.read_dataset("bags.csv", by="bag", label="label", labels=None, features=None, layer=None)
assert data.sequences.lengths.sum() == 600
assert (data.labels == y).all()
assert data.groups is None
st.save(clf, "model.npz")
assert (st.load("model.npz").predict(X2) == clf.predict(X2)).all()
st.save(clf, "without_tokens.npz", tokens=False)
st.export(bayes, "probe.safetensors")
assert Path("probe.safetensors").stat().st_size > 0
if find_spec("torch"):
    assert list(st.to_torch(bayes).state_dict())
layers = {"12": X, "20": np.roll(X, 1, axis=2)}
assert st.choose_layer(layers, y, estimator=st.PooledClassifier()).best in layers
st.report(clf, X2, y2, "report.html", plan=False)
assert Path("report.html").read_text().startswith("<!doctype html>")

# Plans: exactly one argument is None; it is solved for.
plan = st.plan(
    n_samples=None, dim=384, n_tokens=50, n_signal=1, signal=6.0, positive_rate=0.5, error=0.05,
    model="two-step",
)  # fmt: skip
assert plan.n_samples > 0
assert plan.error <= 0.051
assert "pooled" in plan.alternatives
assert plan.settings
assert plan.curve
assert isinstance(plan.classifier(), st.TwoStepAttentionClassifier)
assert "50" in plan.report()
st.estimate_problem(X, y)

# Plans from a pilot, from numbers alone, and the size of a test set.
pilot = st.plan.from_pilot(X, y, error=0.3, estimator=st.PooledClassifier())
assert pilot.n_samples is None or pilot.n_samples > 0
assert pilot.interval is None or len(pilot.interval) == 2
assert pilot.curve
assert pilot.trust
assert pilot.predict([160, 320]).shape == (2, 3)
from_table = st.plan.from_pilot(X[:, 0], y, error=0.3, estimator=LogisticRegression())
assert from_table.predict([160]).shape == (1, 3)
curve = st.plan.from_curve([50, 100, 200, 400], [0.35, 0.28, 0.22, 0.18], n_test=500, error=0.1)
assert curve.assured(0.9) is None or curve.assured(0.9) >= curve.n_samples
st.plan.test_size(metric="recall", fpr=0.01, value=0.8, width=0.1)
st.plan.test_size(metric="auc", value=0.85, null=0.75, power=0.9)
