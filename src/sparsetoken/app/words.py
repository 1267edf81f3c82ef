"""Numbers in the sentences of the page."""


def per_cent(fraction: float) -> str:
    """Return a fraction in per cent, to two or three digits, that no line break divides."""
    value = 100.0 * fraction
    if 0.0 < value < 1e-3:
        return "less than 0.001\N{NO-BREAK SPACE}%"
    digits = f"{value:.3g}" if value < 10 or value > 99 else f"{value:.0f}"
    return f"{digits}\N{NO-BREAK SPACE}%"


def samples(alpha: float, dim: int | None = None) -> str:
    """Return samples per dimension, and their number where the dimension is known."""
    number = f"{alpha:.3g}" if alpha < 99.5 else f"{alpha:.0f}"
    counted = f" (n = {alpha * dim:.0f})" if dim else ""
    return f"{number} {'sample' if number == '1' else 'samples'} per dimension{counted}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
