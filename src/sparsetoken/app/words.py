"""Numbers as they stand in a sentence."""


def per_cent(fraction: float) -> str:
    """Return a fraction in per cent, to two or three digits, that no line break divides."""
    value = 100.0 * fraction
    if 0.0 < value < 1e-3:
        return "less than 0.001\N{NO-BREAK SPACE}%"
    digits = f"{value:.3g}" if value < 10 or value > 99 else f"{value:.0f}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def samples(alpha: float, dim: int) -> str:
    """Return samples per dimension, and their number."""
    number = f"{alpha:.3g}" if alpha < 99.5 else f"{alpha:.0f}"
    counted = f"n = {alpha * dim:.0f}".replace(" ", "\N{NO-BREAK SPACE}")
    return f"{plural(number, 'sample')} per dimension ({counted})"


def plural(count: int | str, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if str(count) == "1" else f"{count} {noun}s"
