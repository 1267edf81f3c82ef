"""Imported by processes before they work: it loads compiled code by drawing what everybody sees.

On Linux it is imported once, by the process that all others are forked from.
"""

from sparsetoken.app.views import VIEWS
from sparsetoken.app.views.learning import models, risks
from sparsetoken.app.workers import quiet

quiet()
_VALUES = {name: control.default for name, control in VIEWS["learning"].controls.items()}
for _loss in VIEWS["learning"].controls["loss"].options:
    for _model in models(_VALUES):
        risks(_VALUES | {"loss": _loss}, _model, [1.0])
