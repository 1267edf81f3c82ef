"""Sample-size planning: how many samples, how to use them, and when no number will do."""

import lazy_loader

# The names are those of __init__.pyi; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
