"""Theory beside simulation of one cell of a sweep, compared in standard errors."""

import math

from sparsetoken.experiments import compute, make_cell

READOUT = ("test_error", "test_loss", "auc", "recall", "train_loss", "train_error")
QUERY = ("cosine", "sharpness", "bias")


def assert_theory_agrees(values, quantities=(*READOUT, *QUERY), slack=3.0):
    """Finite dimensions move the mean by about 1/dim of the value: ``slack`` times that is fine."""
    values = {"dim": 100, "trials": 12} | values
    theory, simulation = (
        compute(make_cell(source, quantities, values)) for source in ("theory", "simulation")
    )
    assert theory.keys() == simulation.keys()
    for quantity, value in simulation.items():
        expected = theory[quantity]
        bar = math.hypot(value.uncertainty, expected.uncertainty)
        allowed = 4.0 * bar + slack * abs(expected) / values["dim"] + 1e-6
        assert abs(value - expected) < allowed, quantity
    return simulation
