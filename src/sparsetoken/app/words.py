"""Numbers in words."""

__all__ = ["per_cent", "plural", "samples"]

_LEAST = 0.001  # per cent; less is not worth its digits


def per_cent(share: float) -> str:
    """Return a share in per cent, to two or three digits, that no line break divides."""
    value = 100.0 * share
    if 0.0 < value < _LEAST:
        return f"less than {_LEAST:g}\N{NO-BREAK SPACE}%"
    digits = f"{value:.3g}" if value < 10 or value > 99 else f"{value:.0f}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def samples(alpha: float) -> str:
    """Return samples per dimension."""
    number = f"{alpha:.3g}" if alpha < 99.5 else f"{alpha:.0f}"
    return f"{number} {'sample' if number == '1' else 'samples'} per dimension"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
