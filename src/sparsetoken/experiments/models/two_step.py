"""The published protocol: two gradient steps teach the query, then the readout is trained.

Any pooling that is not given a query learns it in the same way.
"""

from typing import Any

from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.attention import PoolingModel
from sparsetoken.experiments.models.base import TWO_STEPS, Rng, count_samples, measured, two_steps
from sparsetoken.experiments.models.readout import SIMULATED, ReadoutModel
from sparsetoken.losses import get_loss
from sparsetoken.sampling import LearnedQuery, sample_query

QUERY = measured("query")


class TwoStepModel(PoolingModel):
    """Attention whose query is learned by two gradient steps on samples of its own."""

    name = "two-step"
    predicted = ReadoutModel.predicted | QUERY
    simulated = SIMULATED | (QUERY - {"misalignment"})
    query_parameters = TWO_STEPS | {"alpha0", "alpha", "split"}

    def predict_query(self, cell: Cell) -> Any:
        """Return what the two steps teach, if anything depends on it."""
        from sparsetoken.theory import alignment

        if not {"alpha", "alpha0"} & cell.values.keys():
            return None
        return alignment(cell.problem, alpha=cell.alpha0, **two_steps(cell))

    def draw_query(self, cell: Cell, rng: Rng) -> LearnedQuery:
        """Draw the query that the two steps learn."""
        dim, steps = cell.values["dim"], two_steps(cell) | {"loss": get_loss(cell.values["loss"])}
        n_samples = count_samples(cell.alpha0, dim)
        return sample_query(cell.problem, n_samples, dim, random_state=rng, **steps)

    def trial(self, cell: Cell, rng: Rng) -> dict[str, float]:
        """Draw a query, and unless it alone is asked for, train a readout."""
        if set(cell.quantities) <= QUERY:
            query = self.draw_query(cell, rng)
            return {name: getattr(query, name) for name in cell.quantities}
        return super().trial(cell, rng)
