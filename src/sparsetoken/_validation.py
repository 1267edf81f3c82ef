"""Checks of arguments: each error names the argument, what was given and what is allowed.

NumPy is imported only by the checks of arrays: the command line's help reads the others.
"""

import importlib
import math
import operator
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

if TYPE_CHECKING:
    import numpy as np

LARGEST_RATE = 1e12  # learning rate or inverse temperature: products of them stay finite

T = TypeVar("T")


class MissingPackageError(ImportError, ValueError):
    """A package of an extra is missing. ValueError too: a kind of file may have asked for it."""


def check_count(name: str, value: Any, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int between ``minimum`` and ``maximum``, or raise ValueError."""
    try:
        count = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = None
    if count is None or not minimum <= count <= (count if maximum is None else maximum):
        allowed = f">= {minimum}" if maximum is None else f"in [{minimum}, {maximum}]"
        raise ValueError(f"{name} must be an integer {allowed}, got {shown(value)}")
    return count


def check_real(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: bool = False,
    infinite: bool = False,
) -> float:
    """Return ``value`` as a float in [low, high], or raise ValueError.

    ``above`` excludes ``low`` itself; ``infinite`` admits an infinite value.
    """
    try:
        plain = not isinstance(value, str | bytes) and getattr(value, "ndim", 0) == 0
        number = float(value) if plain else math.nan
    except (TypeError, ValueError, OverflowError):  # a whole number may exceed every float
        number = math.nan
    inside = low <= number <= high and not (above and number == low)
    if not inside or (math.isinf(number) and not infinite):  # NaN is never inside
        left = "(" if above or math.isinf(low) else "["
        right = ")" if math.isinf(high) and not infinite else "]"
        allowed = f"a {'' if infinite else 'finite '}number in {left}{low:g}, {high:g}{right}"
        raise ValueError(f"{name} must be {allowed}, got {shown(value)}")
    return number


def check_within(name: str, value: Any, low: float, high: float, limit: float) -> float:
    """Return a number between bounds that arithmetic can do with, or the limit beyond them."""
    number = check_real(name, value, low=0.0, infinite=True)
    if number != limit and not low <= number <= high:
        raise ValueError(f"{name} must be {limit:g} or in [{low:g}, {high:g}], got {value!r}")
    return number


def is_several(value: Any) -> bool:
    """Whether a number is asked for several values at once: a list, an array, a range, ..."""
    numbers = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return numbers and getattr(value, "ndim", 1) > 0


def as_list(value: Any) -> list[Any]:
    """Return the values of a number that may be one or a sequence."""
    return list(value) if is_several(value) else [value]


def check_choice(name: str, value: Any, choices: Any) -> Any:
    """Return ``value`` if it is one of ``choices``, or raise ValueError that lists them."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {shown(value)}")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool if it is one, or 0 or 1, or raise ValueError."""
    if getattr(value, "ndim", 0) == 0 and value in (0, 1):
        return bool(value)
    raise ValueError(f"{name} must be True or False, got {shown(value)}")


def check_float_type(name: str, value: Any) -> Any:
    """Return the NumPy type float64 or float32, or raise ValueError."""
    import numpy as np

    try:
        kind = np.dtype(value)
    except TypeError:
        kind = None
    if kind not in (np.float64, np.float32):
        raise ValueError(f"{name} must be float64 or float32, got {shown(value)}")
    return kind


def check_random_state(value: Any) -> "np.random.Generator":
    """Return a generator for an int, a Generator or None, or raise ValueError."""
    import numpy as np

    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a whole number >= 0, a Generator or None, got {shown(value)}"
        ) from None


def check_instance(name: str, value: Any) -> None:
    """Raise ValueError if ``value`` is a class, where an object of it is asked for."""
    if isinstance(value, type):
        made = f"{value.__name__}()"
        raise ValueError(f"{name} must be an object, got the class {value.__name__}: pass {made}")


def import_object(name: str, path: str) -> Any:
    """Return what an import path "module:object" names; a class is called without arguments."""
    module, _, attribute = path.partition(":")
    try:
        imported = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{name} must be importable, got {path!r}: {error}") from None
    return imported() if isinstance(imported, type) else imported


class Named:
    """Base of losses, poolings and models: a subclass with a ``name`` is known by it."""

    name: ClassVar[str]
    known: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls) and "known" not in vars(cls):
            cls.known[cls.name] = cls

    @classmethod
    def find(cls, what: str, value: Any) -> Self:
        """Return the object for a name or an import path, or the object itself."""
        check_instance(what, value)
        found = value
        if isinstance(value, str) and (value in cls.known or ":" in value):
            found = cls.known[value]() if value in cls.known else import_object(what, value)
        if not isinstance(found, cls):
            raise ValueError(
                f"{what} must be one of {', '.join(map(repr, cls.known))}, an import path "
                f"'module:name' or an object of a subclass of {cls.__module__}.{cls.__name__}, "
                f"got {shown(value)}"
            )
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))


def import_extra(module: str, what: str, extra: str | None = "data") -> Any:
    """Return a module that an extra brings, or say what needs it and how to install it.

    A package that no extra brings is installed by its own name.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        wanted = package if extra is None else f"'sparsetoken[{extra}]'"
        raise MissingPackageError(f"{what} needs {package}: pip install {wanted}") from None


def read_toml(path: Any, build: Callable[[dict[str, Any]], T]) -> T:
    """Return what ``build`` makes of a TOML file; a ValueError names the file."""
    try:
        return build(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def shown(value: Any) -> str:
    """Return ``value`` as an error shows it: in full, unless that would fill the screen."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
