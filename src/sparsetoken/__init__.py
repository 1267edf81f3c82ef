"""Find the few tokens that matter in a sequence, and know beforehand how well that will work."""

import lazy_loader

__version__ = "0.4.0"

# The names are those of __init__.pyi; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
