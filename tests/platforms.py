"""What not every system can do: a test that needs it is skipped elsewhere, with the reason."""

import os
import sys

import pytest

unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals or modes")


def forbid_writing(folder):
    """Make a folder read-only, or skip the test where this user may write to it all the same."""
    folder.chmod(0o500)
    if sys.platform == "win32" or os.geteuid() == 0:
        pytest.skip("this user may write to a read-only folder")
