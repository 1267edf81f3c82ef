"""The best classifier that knows the signal: nothing is trained."""

from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.base import PROBLEM, Numbers, WayOfTraining, measured
from sparsetoken.experiments.models.readout import predict_oracle


class BayesModel(WayOfTraining):
    """The likelihood ratio with the signal known."""

    name = "bayes"
    predicted = measured("oracle")

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return the problem, or all of it but the signal that is searched."""
        names = {*PROBLEM, "contiguous", "model", "n_points"}
        return names - {"signal"} | {"error"} if quantity == "required_signal" else names

    def predict(self, cell: Cell) -> Numbers:
        """Return the least error, or the signal that it needs."""
        return {name: predict_oracle(name, cell, self.name) for name in cell.quantities}
