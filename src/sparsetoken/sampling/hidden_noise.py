"""A Gaussian matrix drawn only as far as it is looked at.

Given some products of the matrix with vectors, the next one is Gaussian with a known mean. So an
iteration that uses nothing but products has its exact law without the matrix.
"""

import numpy as np

from sparsetoken._types import Floats


class HiddenNoise:
    """A matrix of independent standard normals, drawn as far as its products show it."""

    def __init__(self, n_rows: int, n_columns: int, rng: np.random.Generator) -> None:
        self._rng = rng
        # Orthonormal vectors whose products are known, with these, by side.
        self._products: tuple[list[tuple[Floats, Floats]], list[tuple[Floats, Floats]]] = ([], [])
        self._sizes = n_columns, n_rows

    def times(self, vector: Floats) -> Floats:
        """Return the product with a vector over the columns."""
        return self._product(vector, 0)

    def transposed_times(self, vector: Floats) -> Floats:
        """Return the transposed matrix's product with a vector over the rows."""
        return self._product(vector, 1)

    def _product(self, vector: Floats, side: int) -> Floats:
        products, across = self._products[side], self._products[1 - side]
        result, rest = np.zeros(self._sizes[1 - side]), vector.copy()
        for _ in range(2):  # the second pass removes what rounding left
            for unit, image in products:
                along = float(unit @ rest)
                result += along * image
                rest -= along * unit
        size = float(np.linalg.norm(rest))
        if size <= 1e-12 * float(np.linalg.norm(vector)):
            return result
        unit = rest / size
        image = self._rng.standard_normal(result.size)
        for other, other_image in across:  # along these it is known already
            image += (float(other_image @ unit) - float(other @ image)) * other
        products.append((unit, image))
        return result + size * image
