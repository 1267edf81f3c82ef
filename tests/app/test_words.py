"""Numbers in sentences."""

import pytest

from sparsetoken.app.words import per_cent, plural, samples


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0, "0"), (1e-6, "less than 0.001"), (0.01234, "1.23"), (0.256, "26"), (0.9949, "99.5")],
)
def test_per_cent(fraction, text):
    assert per_cent(fraction) == f"{text}\N{NO-BREAK SPACE}%"


def test_counts():
    assert samples(1.0, 50).replace("\N{NO-BREAK SPACE}", " ") == "1 sample per dimension (n = 50)"
    assert samples(123.4, 10).startswith("123 samples per dimension")
    assert (plural(1, "step"), plural(2, "step")) == ("1 step", "2 steps")
