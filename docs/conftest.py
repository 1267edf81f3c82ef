"""Pages of guide, theory and validation run in ``make test-all``; the start pages always."""

from pathlib import Path

import pytest

_PAGES = [Path(__file__).parent / folder for folder in ("guide", "theory", "validation")]


def pytest_collection_modifyitems(items):
    """Mark the doctests of long pages."""
    for item in items:
        if item.path.parent in _PAGES:
            item.add_marker(pytest.mark.system)
