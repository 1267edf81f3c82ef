"""The pages of the explorer, in their order."""

from sparsetoken.app.views import alignment, capacity, learning, phase, planner

VIEWS = {
    module.VIEW.name: module.VIEW for module in (learning, phase, alignment, capacity, planner)
}
