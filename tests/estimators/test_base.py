"""What all the classifiers promise, as scikit-learn users know it."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import sparsetoken as st
from estimators.classifiers import (
    ATTENTION,
    BAYES,
    POOLED,
    SPARSE_TOKEN,
    TWO_STEP,
    VECTORIZED,
    X,
    Y,
    each_classifier,
    each_ragged,
)
from estimators.ragged import ragged
from sparsetoken.estimators import PerToken

OLD = parse_version(sklearn.__version__) < parse_version("1.7")


def expected_failures(estimator):
    failures = _sample_weights(estimator)
    if OLD and isinstance(estimator, st.PooledClassifier | st.VectorizedClassifier):
        name = "check_sample_weight_equivalence_on_dense_data"
        failures[name] = "the old check gives repeated samples of two classes other labels"
    if OLD and isinstance(estimator, st.TwoStepAttentionClassifier):
        name = "check_n_features_in_after_fitting"
        failures[name] = "half of the old check's ten samples are of one class"
    return failures


def _sample_weights(estimator):
    if isinstance(estimator, st.TwoStepAttentionClassifier):
        reason = "a random split of repeated samples is not the split of weighted ones"
    elif hasattr(estimator, "cv"):
        reason = "only ratios of weights matter, and the calibration's prior counts samples"
    else:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


casts = pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")


@casts  # of scikit-learn
@parametrize_with_checks([POOLED, TWO_STEP, SPARSE_TOKEN], expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@casts
@pytest.mark.system
@parametrize_with_checks([VECTORIZED, ATTENTION, BAYES], expected_failed_checks=expected_failures)
def test_scikit_learn_contract_of_the_others(estimator, check):
    check(estimator)


@each_ragged
def test_every_form_gives_the_same(classifier):
    parts, y = ragged()
    objects = np.empty(len(parts), dtype=object)
    objects[:] = parts
    forms = [parts, tuple(parts), objects, st.Sequences.from_list(parts)]
    fitted = [clone(classifier).fit(form, y) for form in forms]
    scores = [model.decision_function(form) for model, form in zip(fitted, forms, strict=True)]
    for score in scores[1:]:
        assert np.array_equal(score, scores[0])
    assert fitted[0].score(parts, y) > 0.6


@each_classifier
def test_lists_of_equal_length_are_arrays(classifier):
    as_array = clone(classifier).fit(X, Y).decision_function(X)
    as_list = clone(classifier).fit(list(X), Y).decision_function(list(X))
    assert np.array_equal(as_array, as_list)


@each_ragged
def test_order_of_tokens_does_not_matter(classifier):
    order = np.random.default_rng(0).permutation(6)
    first, second = clone(classifier).fit(X, Y), clone(classifier).fit(X[:, order], Y)
    single = isinstance(classifier, st.AttentionClassifier | st.SparseTokenClassifier)
    tolerance = 1e-3 if single else 1e-6  # of refinement in single precision, step by step
    assert second.coef_ == pytest.approx(first.coef_, rel=max(tolerance, 1e-4), abs=tolerance)


@each_classifier
def test_float32_is_close_and_layout_is_irrelevant(classifier):
    reference = clone(classifier).fit(X, Y).decision_function(X)
    single = clone(classifier).fit(X.astype(np.float32), Y)
    assert np.corrcoef(single.decision_function(X.astype(np.float32)), reference)[0, 1] > 0.999
    strange = np.asfortranarray(np.repeat(X, 2, axis=0))[::2]
    strange.flags.writeable = False
    before = strange.copy()
    result = clone(classifier).fit(strange, Y).decision_function(strange)
    assert result == pytest.approx(reference, abs=1e-8)
    assert np.array_equal(strange, before)


@each_classifier
def test_labels_of_any_kind(classifier):
    plain = clone(classifier).fit(X, Y)
    for labels in (np.where(Y == 1, "yes", "no"), Y == 1, 2.0 * Y - 1.0, (3 * Y).tolist()):
        other = clone(classifier).fit(X, labels)
        assert other.decision_function(X) == pytest.approx(plain.decision_function(X))
        assert other.predict(X).tolist() == [other.classes_[i] for i in plain.predict(X)]


@each_ragged
def test_searches_and_pipelines(classifier):
    parts, y = ragged()
    least = 0.72 if classifier is POOLED else 0.93  # three standard errors below what they reach
    for data, labels in ((parts, y), (st.Sequences.from_list(parts), y), (X, Y)):
        scores = cross_val_score(clone(classifier), data, labels, cv=2, error_score="raise")
        assert scores.mean() > least
    pipeline = make_pipeline(PerToken(), PerToken(PCA(5)), clone(classifier))
    grid = {"pertoken-2__transformer__n_components": [3, 5]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise")
    search.fit(st.Sequences.from_list(parts), y)
    assert search.predict(parts).shape == (120,)
    plain = classifier in (BAYES, SPARSE_TOKEN)
    name, values = ("cv", [2, 3]) if plain else ("reg", [0.01, 0.1])
    grid = GridSearchCV(clone(classifier), {name: values}, cv=2, error_score="raise")
    chosen = grid.fit(X, Y).best_index_
    assert grid.cv_results_["mean_test_score"][chosen] > least
    assert grid.best_estimator_.get_params()[name] == values[chosen]


@each_classifier
def test_fit_leaves_parameters_and_data_alone(classifier):
    model = clone(classifier)
    parameters, data, y = model.get_params(), X.copy(), Y.copy()
    assert model.fit(data, y) is model
    assert model.get_params() == parameters
    assert np.array_equal(data, X)
    assert np.array_equal(y, Y)


@each_classifier
def test_same_seed_same_result(classifier):
    first, second = clone(classifier).fit(X, Y), clone(classifier).fit(X, Y)
    assert np.array_equal(first.coef_, second.coef_)
    assert first.intercept_ == second.intercept_


def test_groups_are_routed_to_the_inner_folds(monkeypatch):
    """With metadata routing, groups of a cross-validation reach ``fit`` as well as the splitter."""
    received = []

    def fit(self, X, y, sample_weight=None, groups=None):
        received.append(groups)
        return original(self, X, y, sample_weight, groups)

    original = st.AttentionClassifier.fit
    monkeypatch.setattr(st.AttentionClassifier, "fit", fit)
    groups = np.arange(120) // 4
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(ATTENTION).set_fit_request(groups=True)
        params = {"groups": groups}
        folds = GroupKFold(2)
        scores = cross_val_score(model, X, Y, cv=folds, params=params, error_score="raise")
    assert scores.mean() > 0.8
    assert len(received) == 2
    assert sorted(np.concatenate(received)) == sorted(groups)


@pytest.mark.parametrize("classifier", [POOLED, VECTORIZED, TWO_STEP], ids=str)
def test_more_classes_than_two_are_refused(classifier):
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*3 classes"):
        clone(classifier).fit(X, np.arange(120) % 3)
