from agreement import assert_theory_agrees
from sparsetoken.experiments import make_cell

VALUES = {"model": "attention", "depth": 2, "cosine": 0.8, "sharpness": 1.5, "alpha": 3.0}


def test_matrices_on_dense_tokens_agree_with_the_theory():
    values = {"n_tokens": 4, "signal": 4.0, "reg": 0.1, "dim": 80, "trials": 10}
    quantities = ["test_error", "test_loss", "train_loss", "train_error"]
    assert_theory_agrees(values | VALUES, quantities, slack=2.0)


def test_what_it_has():
    simulated = make_cell("simulation", ["test_error", "auc", "cosine"], VALUES)
    assert simulated.quantities == ("test_error",)  # errors are counted, not integrated
    assert simulated.values["depth"] == 2
    assert make_cell("theory", ["oracle_error"], VALUES) is None  # its best weights are not known
