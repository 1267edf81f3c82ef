"""Loads compiled code on import: every worker process is a copy of one that has imported this."""

from sparsetoken.app.content import Drawing
from sparsetoken.app.parameters import check_values
from sparsetoken.app.views import VIEWS

for _loss in ("logistic", "square"):
    _view = VIEWS["learning"]
    _view.draw(check_values({"loss": _loss}, _view.names), Drawing())
