"""Random generators from whatever users of NumPy and of scikit-learn pass as a seed."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["generator"]


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for an int, a Generator, a RandomState or None.

    None draws from NumPy's global state, as in scikit-learn.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31))
