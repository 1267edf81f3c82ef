"""The pages of the explorer, in their order."""

from sparsetoken.app.views import (
    alignment,
    attention_map,
    capacity,
    learning,
    phase,
    planner,
)

__all__ = ["VIEWS"]

VIEWS = {
    module.VIEW.name: module.VIEW
    for module in (
        learning,
        alignment,
        phase,
        capacity,
        attention_map,
        planner,
    )
}
