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


def _warm_up() -> None:
    controls = VIEWS["learning"].controls
    values = {name: control.default for name, control in controls.items()}
    for loss in controls["loss"].options:
        for model in models(values):
            _ = [risk.test_error for risk in risks(values | {"loss": loss}, model, [1.0])]


be_quiet()
_warm_up()
