"""Imported by processes before they work: it loads compiled code by drawing what everybody sees.

On Linux it is imported once, by the process that all others are forked from.
"""

import warnings

from threadpoolctl import threadpool_limits

from sparsetoken.app.views import VIEWS
from sparsetoken.app.views.learning import models, risks


def be_quiet() -> None:
    """Compute in one thread, without warnings: results say what they are."""
    warnings.simplefilter("ignore")
    threadpool_limits(1, user_api="blas")


be_quiet()
_values = VIEWS["learning"].check({})
for _loss in VIEWS["learning"].controls["loss"].options:
    for _model in models(_values):
        _ = [risk.test_error for risk in risks(_values | {"loss": _loss}, _model, [1.0])]
