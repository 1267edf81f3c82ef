"""The pages of the explorer, in their order."""

from sparsetoken.app.views import (
    alignment,
    attention_map,
    capacity,
    learning,
    phase,
    planner,
    recall,
    training,
)

_ORDER = (learning, recall, alignment, training, phase, capacity, attention_map, planner)
VIEWS = {module.VIEW.name: module.VIEW for module in _ORDER}
