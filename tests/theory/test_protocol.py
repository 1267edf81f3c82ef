import pytest

from sparsetoken import Population, SparseTokenProblem
from sparsetoken.theory import (
    risk,
    two_step_risk,
)


def test_two_step_risk_joins_alignment_and_risk():
    problem = SparseTokenProblem(10, 1, 5.0)
    found = two_step_risk(problem, alpha0=2.0, alpha1=3.0, reg=1e-2, loss="square", lr_query=5.0)
    assert 0.5 < found.cosine < 1.0
    same = risk(
        problem,
        "attention",
        alpha=3.0,
        reg=1e-2,
        loss="square",
        cosine=found.cosine,
        sharpness=found.sharpness,
    )
    assert found.test_error == same.test_error


@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
def test_a_curve_of_the_protocol_agrees_with_its_points(loss):
    problem = SparseTokenProblem(10, 1, 5.0, 0.4)
    ratios, settings = (
        [0.3, 1.0, 4.0],
        {"reg": 1e-2, "loss": loss, "lr_bias": 2.0, "n_points": 2048},
    )
    curve = two_step_risk(problem, alpha0=ratios, alpha1=ratios[::-1], **settings)
    for alpha0, alpha1, found in zip(ratios, ratios[::-1], curve, strict=True):
        alone = two_step_risk(problem, alpha0=alpha0, alpha1=alpha1, **settings)
        assert found.test_error == pytest.approx(alone.test_error, rel=1e-4)
        assert found.train_loss == pytest.approx(alone.train_loss, rel=1e-4, abs=1e-9)
        assert found.cosine == alone.cosine


def test_a_single_ratio_goes_with_each_of_a_sequence():
    problem = SparseTokenProblem(10, 1, 5.0)
    curve = two_step_risk(problem, alpha0=2.0, alpha1=(1.0, 3.0), reg=1e-2, n_points=256)
    assert [r.alpha for r in curve] == [1.0, 3.0]
    assert curve[0].cosine == curve[1].cosine
    with pytest.raises(ValueError, match="alpha0 and alpha1 must be equally many, got 3 and 2"):
        two_step_risk(problem, alpha0=[1.0, 2.0, 3.0], alpha1=[1.0, 2.0], reg=1e-2)


def test_two_steps_on_a_huge_signal_say_what_to_lower():
    problem = Population([SparseTokenProblem(5, 1, 3.0), SparseTokenProblem(5, 1, 1e6)])
    with pytest.raises(
        ValueError, match=r"^the learned query has sharpness .*; lower beta, lr_readout"
    ):
        two_step_risk(problem, alpha0=2.0, alpha1=2.0, reg=1e-2, loss="square")
